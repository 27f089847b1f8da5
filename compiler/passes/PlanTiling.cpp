// The parts of values under tiling: a forward propagation over the function,
// to a fixed point in scans.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/PlanTiling.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace recurra;
using namespace recurra::rec;

PlanTiling::PlanTiling(func::FuncOp function, StringRef axis)
    : axis(axis.str()) {
  for (Value argument : function.getArguments()) {
    set(argument, Part::Same);
  }
  visitBlock(function.front());
  function.walk([&](SumOp op) {
    sums += llvm::any_of(op.getAxes().getAsRange<StringAttr>(),
                         [&](StringAttr name) { return name == axis; });
  });
}

bool PlanTiling::hasAxis(Value value) const {
  return llvm::any_of(axesOf(value),
                      [&](StringAttr name) { return name.getValue() == axis; });
}

/// `part` is what a value without the axis is.
void PlanTiling::set(Value value, Part part) {
  bool cut = hasAxis(value);
  legal &= !cut || part != Part::Sum;
  parts[value] = cut ? Part::Tile : part;
}

void PlanTiling::visitBlock(Block &block) {
  for (Operation &op : block) {
    visitOp(&op);
  }
}

/// A carry is a Sum if the body makes it one; then its first value counts in
/// one task only. States walked forward are saved and must not be.
void PlanTiling::visitScan(ScanOp scan) {
  for (auto [token, sequence] :
       llvm::zip(scan.getTokens(), scan.getSequences())) {
    set(token, of(sequence));
  }
  for (auto [state, init] : llvm::zip(scan.getStates(), scan.getInits())) {
    set(state, of(init));
  }
  for (bool changed = true; changed && legal;) {
    changed = false;
    visitBlock(*scan.getStep());
    for (auto [state, next] :
         llvm::zip(scan.getStates(), scan.getYield().getCarried())) {
      if (of(next) == Part::Sum && of(state) != Part::Sum) {
        legal &= scan.getReverse();
        set(state, Part::Sum);
        changed = true;
      }
    }
  }
  for (auto [result, emitted] :
       llvm::zip(scan.getEmitted(), scan.getYield().getEmitted())) {
    set(result, of(emitted));
  }
  for (auto [result, state] : llvm::zip(scan.getLast(), scan.getStates())) {
    set(result, of(state));
  }
}

/// What an elementwise op makes of its operands when the axis is not in them.
Part PlanTiling::combine(Operation *op) {
  unsigned count = llvm::count_if(op->getOperands(), [&](Value operand) {
    return of(operand) == Part::Sum;
  });
  if (count == 0) {
    return Part::Same;
  }
  bool isLinear = isa<AddOp, SubOp, NegOp, DetachOp, SumOp, RenameOp, IndexOp,
                      PlaceOp, BroadcastOp>(op) ||
                  (isa<MulOp>(op) && count == 1) ||
                  (isa<DivOp>(op) && of(op->getOperand(1)) != Part::Sum) ||
                  (isa<SelectOp>(op) && of(op->getOperand(0)) != Part::Sum);
  legal &= isLinear;
  // A part of a sum cannot meet a tile: it would need the whole sum.
  legal &= llvm::none_of(op->getOperands(), [&](Value operand) {
    return of(operand) == Part::Tile;
  });
  return Part::Sum;
}

void PlanTiling::visitOp(Operation *op) {
  if (auto scan = dyn_cast<ScanOp>(op)) {
    return visitScan(scan);
  }
  if (op->getNumResults() != 1) {
    return;
  }
  Value result = op->getResult(0);
  if (auto rename = dyn_cast<RenameOp>(op)) {
    legal &= rename.getFrom() != axis && rename.getTo() != axis;
  }
  if (isa<IndexOp, PlaceOp>(op)) {
    legal &= op->getAttrOfType<StringAttr>("axis").getValue() != axis;
  }
  bool isReduced = op->getNumOperands() == 1 && hasAxis(op->getOperand(0)) &&
                   !hasAxis(result);
  legal &= !isReduced || isa<SumOp>(op);
  set(result, isReduced ? Part::Sum : combine(op));
}
