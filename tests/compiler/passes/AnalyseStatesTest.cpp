// analyse-states over the whole catalogue: the verdicts, as a golden text that
// a reviewer reads.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import.h"
#include "compiler/Pipeline.h"
#include "compiler/passes/StateAnalysis.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "ops/catalogue/Catalogue.h"

#include <fstream>
#include <gtest/gtest.h>

using namespace recurra;

namespace {

std::string verdictOf(const Recurrence &entry) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  mlir::ScopedDiagnosticHandler quiet(
      &context, [](mlir::Diagnostic &) { return mlir::success(); });
  Spec spec;
  for (const Output &output : entry.outputs) {
    spec.outputs.push_back(output.name);
  }
  std::string error, text;
  auto module = importRecurrence(context, entry, spec, error);
  EXPECT_TRUE(module) << error;
  mlir::PassManager passes(&context);
  addLinearPhase(passes);
  EXPECT_TRUE(mlir::succeeded(passes.run(*module)));
  module->walk([&](rec::ScanOp scan) {
    ScanVerdict verdict = analyseStates(scan);
    text += entry.name + ": class " + classOf(verdict.form) + ", " +
            verdict.form + " form" +
            (verdict.why.empty() ? "" : " (" + verdict.why + ")") + "\n";
    for (const StateVerdict &state : verdict.states) {
      text += "  " + state.name + ": solved " + std::to_string(state.solved) +
              "; " + state.chain + "; read " + state.read + "\n";
    }
  });
  return text;
}

TEST(AnalyseStates, CatalogueVerdicts) {
  std::string actual;
  for (const Recurrence &entry : catalogue()) {
    actual += verdictOf(entry);
  }
  const std::string path = RECURRA_GOLDEN_DIR "/analyse-states.txt";
  if (std::getenv("RECURRA_UPDATE_GOLDEN")) {
    std::ofstream(path) << actual;
  }
  std::ifstream file(path);
  std::string expected((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(actual, expected) << "read the difference; if it is right, run "
                                 "with RECURRA_UPDATE_GOLDEN=1";
}

} // namespace
