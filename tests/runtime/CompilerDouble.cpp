// CompilerDouble: the functions of compiler/Compiler.h over a prebuilt object.
// SPDX-License-Identifier: Apache-2.0
#include "CompilerDouble.h"

#include "compiler/Compiler.h"
#include "dsl/Builder.h"

#include <fstream>
#include <iterator>
#include <thread>

namespace recurra {

CompilerDouble &compilerDouble() {
  static CompilerDouble instance;
  return instance;
}

Recurrence runningSum(const std::string &name) {
  return dsl::define(name, [](dsl::Builder &r) {
    Axis K = r.axis("K");
    dsl::Expr x = r.token("x", {K});
    dsl::State S = r.state("S", {K});
    S = S + x;
    r.output("y", S);
  });
}

bool plan(const Recurrence &, const Spec &spec, Artifact &artifact,
          Diagnostics &diagnostics) {
  if (spec.extents != std::map<std::string, std::int64_t>{{"K", 4}}) {
    diagnostics.error = "the double compiles K = 4 only";
    return false;
  }
  artifact.target = spec.target;
  artifact.arch = "avx2";
  artifact.arguments = {
      {Argument::Input, "x", DType::F32, {"B", "T", "H", "4"}},
      {Argument::InitialState, "S", DType::F32, {"N", "H", "4"}},
      {Argument::Output, "y", DType::F32, {"B", "T", "H", "4"}},
      {Argument::FinalState, "S", DType::F32, {"N", "H", "4"}}};
  if (spec.saveCheckpoints) { // at the end of each sequence
    artifact.arguments.back().kind = Argument::Checkpoint;
  }
  artifact.workspaces = {{DType::F32, {"N", "H"}}};
  artifact.nests = {{"countTokens", {"N", "H"}, 0},
                    {"runningSum", {"N", "H"}, 16}};
  artifact.checkpointInterval = 64;
  artifact.plan = "walk \"form\"\n";
  return true;
}

bool compile(const Recurrence &recurrence, const Spec &spec, Artifact &artifact,
             Diagnostics &diagnostics) {
  CompilerDouble &orders = compilerDouble();
  ++orders.calls;
  std::this_thread::sleep_for(std::chrono::milliseconds(orders.milliseconds));
  diagnostics.error = orders.error;
  diagnostics.remarks = orders.remarks;
  if (!orders.error.empty() || !plan(recurrence, spec, artifact, diagnostics)) {
    return false;
  }
  std::ifstream object(RUNNING_SUM_OBJECT, std::ios::binary);
  artifact.code.assign(std::istreambuf_iterator<char>(object), {});
  if (!orders.entry.empty()) {
    artifact.nests[0].entry = orders.entry;
  }
  return true;
}

bool inspect(const Recurrence &recurrence, const Spec &,
             const std::string &stage, std::string &text,
             Diagnostics &diagnostics) {
  if (stage != "rec") {
    diagnostics.error = "there is no stage '" + stage + "'";
    return false;
  }
  text = recurrence.name;
  return true;
}

std::string compilerVersion() { return compilerDouble().version; }

} // namespace recurra
