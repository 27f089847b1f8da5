// The metrics file of a run: one JSON object a line, in the order of steps.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <fstream>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace recurra {

class MetricsLog {
public:
  /// Starts a new file, or continues one after dropping what lies beyond
  /// `keepSteps`: later lines, "end" lines and a line torn by a crash.
  explicit MetricsLog(const std::string &path);
  MetricsLog(const std::string &path, int64_t keepSteps);

  /// Appends a line and hands it to the system at once.
  void write(const nlohmann::json &line);

private:
  std::string path;
  std::ofstream out;
};

} // namespace recurra
