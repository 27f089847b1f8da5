// analyse-states: prints the verdict of StateAnalysis as attributes of each
// forward scan.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/Passes.h"
#include "compiler/passes/StateAnalysis.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace recurra {
#define GEN_PASS_DEF_ANALYSESTATES
#include "compiler/passes/Passes.h.inc"

static Attribute describe(Builder &builder, const StateVerdict &state) {
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("name", builder.getStringAttr(state.name)),
       builder.getNamedAttr("solved", builder.getI64IntegerAttr(state.solved)),
       builder.getNamedAttr("chain", builder.getStringAttr(state.chain)),
       builder.getNamedAttr("read", builder.getStringAttr(state.read))});
}

namespace {
struct AnalyseStates : impl::AnalyseStatesBase<AnalyseStates> {
  void runOnOperation() override {
    getOperation()->walk([](rec::ScanOp scan) {
      ScanVerdict verdict = analyseStates(scan);
      Builder builder(scan.getContext());
      SmallVector<Attribute> states;
      for (const StateVerdict &state : verdict.states) {
        states.push_back(describe(builder, state));
      }
      scan->setAttr("rec.states", builder.getArrayAttr(states));
      scan->setAttr("rec.form", builder.getStringAttr(verdict.form));
      scan->setAttr("rec.class", builder.getStringAttr(classOf(verdict.form)));
      if (!verdict.why.empty()) {
        scan->setAttr("rec.why", builder.getStringAttr(verdict.why));
      }
    });
    markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace recurra
