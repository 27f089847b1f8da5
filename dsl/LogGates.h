// Which inputs are logarithms of gates, and where these are clamped.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/Recurrence.h"

#include <set>

namespace recurra {

/// A log gate below it counts as it, with gradient 0, so that -inf forgets all
/// and poisons nothing: exp of it is 0 in every dtype.
inline constexpr double lowestLogGate = -1e4;

/// The log gates: token inputs that are nonPositive and reach an exp or expm1
/// in the step. Other inputs mean what they say, however negative.
std::set<std::string> logGates(const Recurrence &recurrence);

} // namespace recurra
