// The calls that `recurra check` tries.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Trial.h"

namespace recurra::cli {

struct CheckCase {
  std::string label; ///< "f32 B=2 T=37 K=16"
  Trial trial;       ///< but for `recurrence` and `arch`
};

/// Sizes that divide nothing, one token, several checkpoints, packed sequences
/// with empty ones, groups of value heads where an input has them; with initial
/// states and without; each dtype. `sizes` fixes axes, as in "K=64".
std::vector<CheckCase> checkCases(const Recurrence &recurrence,
                                  const std::vector<std::string> &sizes);

} // namespace recurra::cli
