// Elementwise rec ops as arith and math ops.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/RecToChunkScalar.h"

#include "compiler/rec/Rec.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/ErrorHandling.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace recurra;

Value recurra::emitNumber(OpBuilder &builder, Location loc, double value,
                          Type element) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getFloatAttr(element, value));
}

/// 1 / (1 + e^-x): 0 and 1 at the ends, never inf / inf.
static Value emitSigmoid(OpBuilder &builder, Location loc, Value x) {
  Value one = emitNumber(builder, loc, 1, x.getType());
  Value minus = arith::NegFOp::create(builder, loc, x);
  Value power = math::ExpOp::create(builder, loc, minus);
  Value sum = arith::AddFOp::create(builder, loc, one, power);
  return arith::DivFOp::create(builder, loc, one, sum);
}

/// max(x, 0) + log(1 + e^-|x|): exact at both ends.
static Value emitSoftplus(OpBuilder &builder, Location loc, Value x) {
  Value zero = emitNumber(builder, loc, 0, x.getType());
  Value above = arith::MaximumFOp::create(builder, loc, x, zero);
  Value size = math::AbsFOp::create(builder, loc, x);
  Value minus = arith::NegFOp::create(builder, loc, size);
  Value power = math::ExpOp::create(builder, loc, minus);
  Value rest = math::Log1pOp::create(builder, loc, power);
  return arith::AddFOp::create(builder, loc, above, rest);
}

static arith::CmpFPredicate predicateOf(rec::Predicate predicate) {
  switch (predicate) {
  case rec::Predicate::Less:
    return arith::CmpFPredicate::OLT;
  case rec::Predicate::LessEqual:
    return arith::CmpFPredicate::OLE;
  case rec::Predicate::Greater:
    return arith::CmpFPredicate::OGT;
  case rec::Predicate::GreaterEqual:
    return arith::CmpFPredicate::OGE;
  case rec::Predicate::Equal:
    return arith::CmpFPredicate::OEQ;
  case rec::Predicate::NotEqual:
    return arith::CmpFPredicate::UNE;
  }
  llvm_unreachable("not a predicate");
}

Value recurra::emitScalar(OpBuilder &builder, Operation *op,
                          ValueRange operands, Type element) {
  Location loc = op->getLoc();
#define RECURRA_SCALAR(Rec, Upstream)                                          \
  .Case([&](rec::Rec) -> Value {                                               \
    return Upstream::create(builder, loc, operands);                           \
  })
  return llvm::TypeSwitch<Operation *, Value>(op) RECURRA_SCALAR(
             AddOp, arith::AddFOp) RECURRA_SCALAR(SubOp, arith::SubFOp)
      RECURRA_SCALAR(MulOp, arith::MulFOp) RECURRA_SCALAR(DivOp, arith::DivFOp)
          RECURRA_SCALAR(MaxOp, arith::MaximumFOp) RECURRA_SCALAR(
              NegOp, arith::NegFOp) RECURRA_SCALAR(AbsOp, math::AbsFOp)
              RECURRA_SCALAR(ExpOp, math::ExpOp) RECURRA_SCALAR(
                  LogOp, math::LogOp) RECURRA_SCALAR(Expm1Op, math::ExpM1Op)
                  RECURRA_SCALAR(Log1pOp, math::Log1pOp) RECURRA_SCALAR(
                      SqrtOp, math::SqrtOp)
                      RECURRA_SCALAR(RsqrtOp, math::RsqrtOp) RECURRA_SCALAR(
                          TanhOp, math::TanhOp) RECURRA_SCALAR(SelectOp,
                                                               arith::SelectOp)
                          .Case([&](rec::SigmoidOp) {
                            return emitSigmoid(builder, loc, operands[0]);
                          })
                          .Case([&](rec::SoftplusOp) {
                            return emitSoftplus(builder, loc, operands[0]);
                          })
                          .Case([&](rec::ConstOp op) {
                            return emitNumber(builder, loc,
                                              op.getValue().convertToDouble(),
                                              element);
                          })
                          .Case([&](rec::CmpOp op) -> Value {
                            return arith::CmpFOp::create(
                                builder, loc, predicateOf(op.getPredicate()),
                                operands[0], operands[1]);
                          })
                          .Default([](Operation *) -> Value {
                            llvm_unreachable("not an elementwise op");
                          });
#undef RECURRA_SCALAR
}
