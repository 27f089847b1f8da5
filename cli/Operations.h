// How much arithmetic one token's step asks for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/Recurrence.h"

#include <cstdint>
#include <map>

namespace recurra::cli {

/// Operations of one token and head as the definition is written: every
/// operator counts one for each element of its result, a sum or another
/// operator over an axis one for each element that it reads; a shared value
/// counts once. Optional outputs are left out.
double operationsPerToken(const Recurrence &recurrence,
                          const std::map<std::string, std::int64_t> &extents);

} // namespace recurra::cli
