// Describe: the JSON of recurra_describe, recurra_counters and recurra_about.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Describe.h"

#include "compiler/Compiler.h"
#include "dsl/Text.h"
#include "runtime/BuildId.h"
#include "runtime/Counters.h"
#include "runtime/CpuModule.h"
#include "runtime/DiskCache.h"
#include "runtime/Json.h"
#include "runtime/Options.h"

#include <mutex>
#include <unordered_map>

namespace recurra {
namespace {

std::string kindName(Argument::Kind kind) {
  static constexpr const char *names[] = {"input",
                                          "initial_state",
                                          "checkpoint",
                                          "output_cotangent",
                                          "final_state_cotangent",
                                          "output",
                                          "final_state",
                                          "input_gradient",
                                          "initial_state_gradient"};
  return names[kind];
}

std::string shapeJson(const std::vector<std::string> &shape) {
  std::vector<std::string> symbols;
  for (const std::string &symbol : shape) {
    symbols.push_back(json::text(symbol));
  }
  return json::array(symbols);
}

std::string argumentJson(const Argument &argument) {
  return json::object({{"kind", json::text(kindName(argument.kind))},
                       {"name", json::text(argument.name)},
                       {"dtype", json::text(std::string(name(argument.dtype)))},
                       {"shape", shapeJson(argument.shape)}});
}

std::string workspaceJson(const Workspace &workspace) {
  return json::object(
      {{"dtype", json::text(std::string(name(workspace.dtype)))},
       {"shape", shapeJson(workspace.shape)}});
}

/// Descriptions by the texts as given: callers ask at every call.
struct Remembered {
  std::mutex mutex;
  std::unordered_map<std::string, std::string> byTexts;
};

Remembered &remembered() {
  static Remembered *const instance = new Remembered;
  return *instance;
}

bool recall(const std::string &texts, std::string &description) {
  std::lock_guard lock(remembered().mutex);
  auto found = remembered().byTexts.find(texts);
  if (found == remembered().byTexts.end()) {
    return false;
  }
  description = found->second;
  return true;
}

} // namespace

std::string describeArtifact(const Artifact &artifact) {
  std::vector<std::string> arguments, workspaces;
  for (const Argument &argument : artifact.arguments) {
    arguments.push_back(argumentJson(argument));
  }
  for (const Workspace &workspace : artifact.workspaces) {
    workspaces.push_back(workspaceJson(workspace));
  }
  return json::object(
      {{"arguments", json::array(arguments)},
       {"workspaces", json::array(workspaces)},
       {"checkpoint_interval", json::number(artifact.checkpointInterval)},
       {"plan", json::text(artifact.plan)}});
}

Status describeTexts(const std::string &text, const std::string &specText) {
  std::string texts = specText + '\0' + text;
  Status result;
  if (recall(texts, result.message)) {
    return result;
  }
  Spec spec;
  if (!parseSpec(specText, spec, result.message)) {
    return {RECURRA_INVALID_DEFINITION, result.message};
  }
  Artifact artifact;
  Diagnostics diagnostics;
  if (!plan(parse(text), spec, artifact, diagnostics)) {
    return {RECURRA_INVALID_DEFINITION, diagnostics.error};
  }
  result.message = describeArtifact(artifact);
  std::lock_guard lock(remembered().mutex);
  remembered().byTexts[texts] = result.message;
  return result;
}

std::string describeCounters() {
  const Counters &now = counters();
  return json::object({{"compilations", json::number(now.compilations)},
                       {"memory_hits", json::number(now.memoryHits)},
                       {"disk_hits", json::number(now.diskHits)},
                       {"disk_rejects", json::number(now.diskRejects)}});
}

std::string describeProcess() {
  Options current = options();
  DiskCache disk(current.cacheDirectory, current.cacheLimit);
  return json::object({{"version", json::text(RECURRA_VERSION)},
                       {"compiler", json::text(compilerVersion())},
                       {"build", json::text(buildId())},
                       {"llvm", json::text(llvmVersion())},
                       {"cpu", json::text(hostProcessor().substr(
                                   0, hostProcessor().find(' ')))},
                       {"isa", json::text(hostIsa())},
                       {"cache_dir", json::text(current.cacheDirectory)},
                       {"cache_limit_bytes", json::number(current.cacheLimit)},
                       {"cache_bytes", json::number(disk.size())}});
}

} // namespace recurra
