// Cloning on demand, with one copy per distinct expression.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/algebra/Rebuild.h"

#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace recurra::rec;

namespace recurra {

bool isTimeConstant(Value value, ScanOp scan) {
  return !scan.getBody().isAncestor(value.getParentRegion());
}

static bool isSame(Operation *left, Operation *right) {
  auto flags = OperationEquivalence::IgnoreLocations;
  if (OperationEquivalence::isEquivalentTo(left, right, flags)) {
    return true;
  }
  return left->getName() == right->getName() &&
         left->hasTrait<OpTrait::IsCommutative>() &&
         left->getNumOperands() == 2 &&
         left->getOperand(0) == right->getOperand(1) &&
         left->getOperand(1) == right->getOperand(0);
}

/// An equal op that stands before `op` in its block, or `op` itself.
Value Rebuild::reuseOr(Operation *op) {
  for (Operation &earlier : *op->getBlock()) {
    if (&earlier == op) {
      break;
    }
    if (isSame(&earlier, op)) {
      op->erase();
      return earlier.getResult(0);
    }
  }
  return op->getResult(0);
}

Value Rebuild::get(Value value) {
  if (Value found = mapping.lookupOrNull(value)) {
    return found;
  }
  if (isTimeConstant(value, scope)) {
    return value;
  }
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands()) {
    mapping.map(operand, get(operand));
  }
  Value copy = reuseOr(builder.clone(*op, mapping));
  mapping.map(value, copy);
  return copy;
}

Product Rebuild::get(const Product &product) {
  Product result;
  result.negative = product.negative;
  for (Value factor : product.top) {
    result *= factorsOf(get(factor));
  }
  for (Value factor : product.bottom) {
    result *= factorsOf(get(factor)).inverse();
  }
  return result;
}

/// Multiplies up, values with few axes first; 1 if there are none.
static Value multiplied(OpBuilder &builder, Location loc,
                        ArrayRef<Value> factors) {
  SmallVector<Value> sorted;
  for (Value factor : factors) {
    auto *wider = llvm::find_if(sorted, [&](Value other) {
      return axesOf(other).size() > axesOf(factor).size();
    });
    sorted.insert(wider, factor);
  }
  Value result;
  for (Value factor : sorted) {
    result =
        result ? Value(MulOp::create(builder, loc, result, factor)) : factor;
  }
  return result ? result
                : Value(ConstOp::create(builder, loc,
                                        ValType::get(builder.getContext(), {}),
                                        builder.getF64FloatAttr(1)));
}

Value Rebuild::magnitude(const Product &product) {
  Location loc = scope.getLoc();
  Value top = multiplied(builder, loc, product.top);
  if (product.bottom.empty()) {
    return top;
  }
  return DivOp::create(builder, loc, top,
                       multiplied(builder, loc, product.bottom));
}

Value Rebuild::emit(const Product &product) {
  Value result = magnitude(product);
  return product.negative
             ? Value(NegOp::create(builder, scope.getLoc(), result))
             : result;
}

Value Rebuild::emit(ArrayRef<Product> terms) {
  Location loc = scope.getLoc();
  Value result;
  for (const Product &term : terms) {
    if (!result) {
      result = emit(term);
    } else if (term.negative) {
      result = SubOp::create(builder, loc, result, magnitude(term));
    } else {
      result = AddOp::create(builder, loc, result, magnitude(term));
    }
  }
  return result ? result
                : Value(ConstOp::create(builder, loc,
                                        ValType::get(builder.getContext(), {}),
                                        builder.getF64FloatAttr(0)));
}

} // namespace recurra
