// Random inputs that keep the promises of a recurrence's facts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/Evaluate.h"

namespace recurra {

/// Fills the inputs of `call`, whose sizes are set, and the initial states of
/// all states if `withStates`: within the facts, around the default, else
/// standard normal; but of norm 1 over an axis that some statement sums over,
/// as keys and recurrent weights are, so that states stay bounded. The same
/// seed gives the same values on every machine.
void drawInputs(const Recurrence &recurrence, Call &call, unsigned seed,
                bool withStates = true);

/// Standard normal cotangents of all outputs and final states.
Values drawCotangents(const Recurrence &recurrence, const Call &call,
                      unsigned seed);

} // namespace recurra
