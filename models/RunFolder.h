// The output folder of a run: where its metrics and checkpoints go, and what is
// done with an earlier run that lies there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Checkpoint.h"
#include "models/Config.h"
#include "models/Metrics.h"
#include "models/Train.h"

#include <optional>
#include <string>

namespace recurra {

/// The folder that the options name, or runs/NAME.
std::string outputFolder(const TrainConfig &config,
                         const TrainOptions &options);

/// Makes the folder ready for a new run: an earlier one in it is removed if
/// `overwrite`, else renamed. Returns the folder's new name, if it got one.
std::optional<std::string> prepareFolder(const std::string &output,
                                         bool overwrite);

/// The newest checkpoint's folder. Throws UserError if there is none.
std::string checkpointToResume(const std::string &output);

std::string metricsPath(const std::string &output);

/// Writes config.toml.
void writeConfig(const std::string &output, const TrainConfig &config);

} // namespace recurra
