// Forward: which values matter. Backward: sums of cotangents.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/DeriveBackwardScan.h"

using namespace mlir;
using namespace recurra;
using namespace recurra::rec;

Activity::Activity(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments()) {
    if (function.getArgAttr(argument.getArgNumber(), gradientAttr)) {
      active.insert(argument);
    }
  }
  for (Operation &op : function.front()) {
    visit(&op);
  }
}

void Activity::visit(Operation *op) {
  auto isActive = [&](Value value) { return contains(value); };
  if (auto scan = dyn_cast<ScanOp>(op)) {
    visitScan(scan);
  } else if (isa<AdjointOpInterface>(op) &&
             llvm::any_of(op->getOperands(), isActive)) {
    active.insert(op->getResult(0));
  }
}

/// A state is active if its start or, in some later step, its update is.
void Activity::visitScan(ScanOp scan) {
  propagate(scan.getSequences(), ValueRange(scan.getTokens()));
  propagate(scan.getInits(), ValueRange(scan.getStates()));
  do {
    for (Operation &op : scan.getStep()->without_terminator()) {
      visit(&op);
    }
  } while (
      propagate(scan.getYield().getCarried(), ValueRange(scan.getStates())));
  propagate(ValueRange(scan.getStates()), scan.getLast());
  propagate(scan.getYield().getEmitted(), scan.getEmitted());
}

bool Activity::propagate(ValueRange from, ValueRange to) {
  bool changed = false;
  for (auto [source, target] : llvm::zip(from, to)) {
    if (contains(source)) {
      changed |= active.insert(target).second;
    }
  }
  return changed;
}

void Cotangents::add(Value value, Value term) {
  if (isa<ValType>(term.getType())) {
    term = fitAxes(builder, term.getLoc(), term, axesOf(value));
  }
  Value &sum = sums[value];
  sum = sum ? Value(AddOp::create(builder, term.getLoc(), sum, term)) : term;
}

Value Cotangents::findOrZero(Value value) {
  Value sum = find(value);
  return sum ? sum : zero(value);
}

Value Cotangents::zero(Value like) {
  return ConstOp::create(builder, like.getLoc(),
                         ValType::get(like.getContext(), axesOf(like)),
                         builder.getF64FloatAttr(0));
}

void Cotangents::sweep(Operation *op, llvm::function_ref<bool(Value)> active) {
  auto rule = dyn_cast<AdjointOpInterface>(op);
  Value cotangent = rule ? find(op->getResult(0)) : nullptr;
  if (!cotangent) {
    return;
  }
  rule.adjoint(builder, cotangent, [&](OpOperand &operand, Value term) {
    if (active(operand.get())) {
      add(operand.get(), term);
    }
  });
}
