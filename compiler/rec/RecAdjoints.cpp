// One adjoint rule per op, in the order of Rec.td. `add` fits axes, so a rule
// reads like the calculus; kinks take the branch that the forward took.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/rec/Rec.h"

using namespace mlir;
using namespace recurra::rec;

namespace {

using Add = llvm::function_ref<void(OpOperand &, Value)>;

/// Ops written as expressions, at one location.
struct Algebra {
  OpBuilder &builder;
  Location loc;

  Value mul(Value x, Value y) { return MulOp::create(builder, loc, x, y); }
  Value sub(Value x, Value y) { return SubOp::create(builder, loc, x, y); }
  Value div(Value x, Value y) { return DivOp::create(builder, loc, x, y); }
  Value neg(Value x) { return NegOp::create(builder, loc, x); }
  Value number(double value) {
    return ConstOp::create(builder, loc, ValType::get(builder.getContext(), {}),
                           builder.getF64FloatAttr(value));
  }
  Value cmp(Predicate predicate, Value x, Value y) {
    return CmpOp::create(builder, loc, predicate, x, y);
  }
  Value select(Value condition, Value x, Value y) {
    return SelectOp::create(builder, loc, condition, x, y);
  }
};

} // namespace

#define ADJOINT(OpName)                                                        \
  void OpName::adjoint(OpBuilder &builder, Value cotangent, Add add)
#define ALGEBRA                                                                \
  Algebra a { builder, getLoc() }

// Elementwise
// -------------------------------------------------------------------

ADJOINT(AddOp) {
  add(getLhsMutable(), cotangent);
  add(getRhsMutable(), cotangent);
}
ADJOINT(SubOp) {
  ALGEBRA;
  add(getLhsMutable(), cotangent);
  add(getRhsMutable(), a.neg(cotangent));
}
ADJOINT(MulOp) {
  ALGEBRA;
  add(getLhsMutable(), a.mul(cotangent, getRhs()));
  add(getRhsMutable(), a.mul(cotangent, getLhs()));
}
ADJOINT(DivOp) {
  ALGEBRA;
  Value share = a.div(cotangent, getRhs());
  add(getLhsMutable(), share);
  add(getRhsMutable(), a.neg(a.mul(share, getResult())));
}
ADJOINT(MaxOp) {
  ALGEBRA;
  Value left = a.cmp(Predicate::GreaterEqual, getLhs(), getRhs());
  add(getLhsMutable(), a.select(left, cotangent, a.number(0)));
  add(getRhsMutable(), a.select(left, a.number(0), cotangent));
}
ADJOINT(SelectOp) {
  ALGEBRA;
  add(getLhsMutable(), a.select(getCondition(), cotangent, a.number(0)));
  add(getRhsMutable(), a.select(getCondition(), a.number(0), cotangent));
}
ADJOINT(NegOp) {
  ALGEBRA;
  add(getOperandMutable(), a.neg(cotangent));
}
ADJOINT(AbsOp) {
  ALGEBRA;
  Value rising = a.cmp(Predicate::GreaterEqual, getOperand(), a.number(0));
  add(getOperandMutable(), a.select(rising, cotangent, a.neg(cotangent)));
}
ADJOINT(ExpOp) {
  ALGEBRA;
  add(getOperandMutable(), a.mul(cotangent, getResult()));
}
ADJOINT(LogOp) {
  ALGEBRA;
  add(getOperandMutable(), a.div(cotangent, getOperand()));
}
ADJOINT(Expm1Op) {
  ALGEBRA;
  Value slope = ExpOp::create(builder, getLoc(), getOperand());
  add(getOperandMutable(), a.mul(cotangent, slope));
}
ADJOINT(Log1pOp) {
  ALGEBRA;
  Value shifted = AddOp::create(builder, getLoc(), getOperand(), a.number(1));
  add(getOperandMutable(), a.div(cotangent, shifted));
}
ADJOINT(SqrtOp) {
  ALGEBRA;
  Value half = a.mul(cotangent, a.number(0.5));
  add(getOperandMutable(), a.div(half, getResult()));
}
ADJOINT(RsqrtOp) {
  // y = x^(-1/2), dy/dx = -y / (2 x): no cube, which would overflow first.
  ALGEBRA;
  Value scaled = a.mul(a.mul(cotangent, a.number(-0.5)), getResult());
  add(getOperandMutable(), a.div(scaled, getOperand()));
}
ADJOINT(TanhOp) {
  ALGEBRA;
  Value y = getResult();
  add(getOperandMutable(), a.mul(cotangent, a.sub(a.number(1), a.mul(y, y))));
}
ADJOINT(SigmoidOp) {
  ALGEBRA;
  Value y = getResult();
  add(getOperandMutable(), a.mul(cotangent, a.mul(y, a.sub(a.number(1), y))));
}
ADJOINT(SoftplusOp) {
  ALGEBRA;
  Value slope = SigmoidOp::create(builder, getLoc(), getOperand());
  add(getOperandMutable(), a.mul(cotangent, slope));
}

// On axes
// -----------------------------------------------------------------------

ADJOINT(SumOp) { add(getOperandMutable(), cotangent); }
ADJOINT(AmaxOp) {
  // Equal largest entries share the cotangent.
  ALGEBRA;
  Value largest = a.cmp(Predicate::Equal, getOperand(), getResult());
  Value ones = a.select(largest, a.number(1), a.number(0));
  Value count = SumOp::create(builder, getLoc(), ones, getAxes());
  add(getOperandMutable(),
      a.select(largest, a.div(cotangent, count), a.number(0)));
}
ADJOINT(BroadcastOp) { add(getOperandMutable(), cotangent); }
ADJOINT(RenameOp) {
  add(getOperandMutable(), RenameOp::create(builder, getLoc(), cotangent,
                                            getToAttr(), getFromAttr()));
}
ADJOINT(IndexOp) {
  add(getOperandMutable(), PlaceOp::create(builder, getLoc(), cotangent,
                                           getAxisAttr(), getPositionAttr()));
}
ADJOINT(PlaceOp) {
  add(getOperandMutable(), IndexOp::create(builder, getLoc(), cotangent,
                                           getAxisAttr(), getPositionAttr()));
}
