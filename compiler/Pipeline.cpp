// The table of contents of the compiler: which pass stands where, and why.
// rec-to-chunk needs the Spec and the Plan, so Compiler.cpp calls it between
// the phases here and the target's own passes (target/Target.h).
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Pipeline.h"

#include "compiler/chunk/Chunk.h"
#include "compiler/passes/Passes.h"
#include "compiler/rec/Rec.h"
#include "compiler/target/Target.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void recurra::registerDialects(DialectRegistry &registry,
                               ArrayRef<std::string> hidden) {
  registry.insert<func::FuncDialect, arith::ArithDialect, math::MathDialect,
                  scf::SCFDialect, vector::VectorDialect, LLVM::LLVMDialect>();
  if (!llvm::is_contained(hidden, "rec")) {
    registry.insert<rec::RecDialect>();
  }
  if (!llvm::is_contained(hidden, "chunk")) {
    registry.insert<chunk::ChunkDialect>();
  }
}

/// Dead states and broadcasts go, equal values become one.
static void addCleanUp(OpPassManager &passes) {
  passes.addNestedPass<func::FuncOp>(createCanonicalizerPass());
  passes.addNestedPass<func::FuncOp>(createCSEPass());
}

void recurra::addLinearise(OpPassManager &passes) {
  // linearise compares values by identity, so equal ones must be one.
  addCleanUp(passes);
  passes.addNestedPass<func::FuncOp>(createLinearise());
}

void recurra::addTidy(OpPassManager &passes) {
  // CSE first: several users of a reciprocal must be users of one value.
  addCleanUp(passes);
  passes.addNestedPass<func::FuncOp>(createFactorProducts());
  addCleanUp(passes);
}

void recurra::addLinearPhase(OpPassManager &passes) {
  addLinearise(passes);
  // Before derive-backward: a product of two small factors has small adjoints.
  addTidy(passes);
}

void recurra::addBackwardPhase(OpPassManager &passes) {
  passes.addNestedPass<func::FuncOp>(createDeriveBackward());
  addTidy(passes);
}

void recurra::registerPasses() {
  registerRecurraPasses();
  registerTargetPasses();
  registerTransformsPasses();
  PassPipelineRegistration<>("phase-linear", "From imported rec to linear form",
                             addLinearPhase);
  PassPipelineRegistration<>("phase-backward", "From forward to backward",
                             addBackwardPhase);
}
