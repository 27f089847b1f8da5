// Writes the metrics file, and cuts it back when a run resumes.
// SPDX-License-Identifier: Apache-2.0
#include "models/Metrics.h"

#include "dsl/Error.h"
#include "models/Folder.h"

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

namespace recurra {
namespace {

using Json = nlohmann::json;

void cutBack(const std::string &path, int64_t keepSteps) {
  std::ifstream in(path);
  std::string kept;
  for (std::string text; std::getline(in, text);) {
    const Json line = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    const bool whole = line.is_object() && !in.eof();
    if (whole && line.value("step", int64_t(0)) <= keepSteps &&
        line.value("kind", "") != "end") {
      kept += text + "\n";
    }
  }
  const std::string temporary = path + ".tmp";
  std::ofstream(temporary, std::ios::trunc) << kept;
  renamePath(temporary, path);
}

} // namespace

MetricsLog::MetricsLog(const std::string &path)
    : path(path), out(path, std::ios::trunc) {}

MetricsLog::MetricsLog(const std::string &path, int64_t keepSteps)
    : path(path) {
  cutBack(path, keepSteps);
  out.open(path, std::ios::app);
}

void MetricsLog::write(const Json &line) {
  if (!(out << line.dump() << std::endl)) {
    throw UserError("cannot write " + path + ": " + std::strerror(errno));
  }
}

} // namespace recurra
