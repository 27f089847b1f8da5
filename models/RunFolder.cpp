// Prepares output folders.
// SPDX-License-Identifier: Apache-2.0
#include "models/RunFolder.h"

#include "dsl/Error.h"
#include "models/Folder.h"

#include <fstream>

namespace recurra {
namespace {

/// Renames a folder to the first free one of folder.1, folder.2, ..
std::string moveAside(const std::string &folder) {
  int number = 1;
  while (pathExists(folder + "." + std::to_string(number))) {
    ++number;
  }
  const std::string aside = folder + "." + std::to_string(number);
  renamePath(folder, aside);
  return aside;
}

} // namespace

std::string outputFolder(const TrainConfig &config,
                         const TrainOptions &options) {
  return options.output.empty() ? "runs/" + config.run.name : options.output;
}

std::string metricsPath(const std::string &output) {
  return inFolder(output, "metrics.jsonl");
}

std::optional<std::string> prepareFolder(const std::string &output,
                                         bool overwrite) {
  std::optional<std::string> aside;
  const bool used =
      pathExists(metricsPath(output)) || newestCheckpoint(output).has_value();
  if (used && !overwrite) {
    aside = moveAside(output);
  }
  makeFolders(output);
  while (const auto old = newestCheckpoint(output)) {
    removeFolder(*old);
  }
  return aside;
}

std::string checkpointToResume(const std::string &output) {
  const std::optional<std::string> folder = newestCheckpoint(output);
  if (!folder) {
    throw UserError("no checkpoint to resume in " + output +
                    "; leave out --resume to start, or name the folder of the "
                    "run with --output");
  }
  return *folder;
}

void writeConfig(const std::string &output, const TrainConfig &config) {
  std::ofstream(inFolder(output, "config.toml")) << toToml(config);
}

} // namespace recurra
