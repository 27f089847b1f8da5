// Reads TOML into a configuration.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Config.h"

#include <string>

namespace recurra {

/// Fills `config` from a file. Throws UserError with the file and the line.
void readConfigFile(TrainConfig &config, const std::string &path);

/// Fills one key from "table.key=value"; a bare word is a string.
void applyOverride(TrainConfig &config, const std::string &text);

} // namespace recurra
