// The pass rec-to-chunk: lowering with a spec given as text, for recurra-opt.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/chunk/Chunk.h"
#include "compiler/passes/Passes.h"
#include "compiler/passes/RecToChunk.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace recurra {
#define GEN_PASS_DEF_RECTOCHUNK
#include "compiler/passes/Passes.h.inc"
} // namespace recurra

using namespace recurra;

namespace {

struct RecToChunk : recurra::impl::RecToChunkBase<RecToChunk> {
  using RecToChunkBase::RecToChunkBase;

  void runOnOperation() override {
    Spec parsed;
    std::string message, lines = spec;
    std::replace(lines.begin(), lines.end(), ';', '\n');
    if (!parseSpec(lines, parsed, message)) {
      getOperation().emitError() << message;
      return signalPassFailure();
    }
    SmallVector<func::FuncOp> functions(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp function : functions) {
      if (failed(lower(function, parsed))) {
        return signalPassFailure();
      }
    }
  }

  LogicalResult lower(func::FuncOp function, const Spec &parsed) {
    auto plan =
        makePlan(function, parsed, TargetDescription(), statesOf(function));
    if (failed(plan)) {
      return failure();
    }
    plan->tile = tile < 0 ? plan->tile : tile;
    if (interval > 0) {
      plan->interval = interval;
    }
    return lowerToChunk(function, parsed, *plan);
  }
};

} // namespace
