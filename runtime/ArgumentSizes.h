// The sizes of a kernel's arguments in one call, from their description.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/Evaluate.h"

#include <nlohmann/json_fwd.hpp>

namespace recurra {

/// The rows of states: documents if the call is packed, else its batch.
std::int64_t sequencesIn(const Call &call);

/// `shape` as recurra_describe spells it: "B", "T", "H", "Hg", "N", "S" (saved
/// states: one every `interval` tokens and one for each sequence), or a number.
std::vector<std::int64_t> sizesOf(const nlohmann::json &shape, const Call &call,
                                  std::int64_t interval);

} // namespace recurra
