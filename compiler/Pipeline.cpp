// The table of contents of the compiler: which pass stands where, and why.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Pipeline.h"

#include "compiler/chunk/Chunk.h"
#include "compiler/passes/Passes.h"
#include "compiler/rec/Rec.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void recurra::registerDialects(DialectRegistry &registry,
                               ArrayRef<std::string> hidden) {
  registry.insert<func::FuncDialect, arith::ArithDialect, math::MathDialect>();
  if (!llvm::is_contained(hidden, "rec")) {
    registry.insert<rec::RecDialect>();
  }
  if (!llvm::is_contained(hidden, "chunk")) {
    registry.insert<chunk::ChunkDialect>();
  }
}

void recurra::registerPasses() {
  registerRecurraPasses();
  registerTransformsPasses();
}
