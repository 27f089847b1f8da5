// The trainer in a library of its own, opened when it is needed: torch takes a
// second to load, which no other command should wait for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Train.h"

namespace recurra::cli {

inline constexpr const char *trainLibrary = "librecurraTrain.so";
inline constexpr const char *trainSymbol = "recurra_cli_train";

/// train(), or describeModel() if `describe`.
using TrainEntry = int (*)(const TrainOptions &options, bool describe,
                           std::ostream &out);

} // namespace recurra::cli
