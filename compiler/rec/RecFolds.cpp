// Folds and canonical forms of `rec`: constants, neutral elements, signs moved
// outwards, and broadcasts and sums that meet. Over the reals: x * 0 is 0.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/rec/Rec.h"
#include "mlir/IR/PatternMatch.h"

#include <cmath>
#include <functional>

using namespace mlir;
using namespace recurra::rec;

Operation *RecDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                           Type type, Location loc) {
  auto number = dyn_cast<FloatAttr>(value);
  return number && isa<ValType>(type)
             ? ConstOp::create(builder, loc, type, number)
             : nullptr;
}

// Folds
// -------------------------------------------------------------------------

static std::optional<double> number(Attribute attribute) {
  auto value = dyn_cast_if_present<FloatAttr>(attribute);
  return value ? std::optional(value.getValueAsDouble()) : std::nullopt;
}

static Attribute attr(MLIRContext *context, double value) {
  return FloatAttr::get(Float64Type::get(context), value);
}

/// `candidate` if it has the type of the result.
static OpFoldResult same(Value candidate, Value result) {
  return candidate.getType() == result.getType() ? OpFoldResult(candidate)
                                                 : OpFoldResult();
}

OpFoldResult ConstOp::fold(FoldAdaptor) { return getValueAttr(); }

#define FOLD(OpName) OpFoldResult OpName::fold(FoldAdaptor adaptor)

/// The result of a formula on two numbers; null if one operand is no number.
template <typename Formula>
static OpFoldResult foldNumbers(Operation *op, Attribute lhs, Attribute rhs,
                                Formula formula) {
  auto x = number(lhs), y = number(rhs);
  return x && y ? OpFoldResult(attr(op->getContext(), formula(*x, *y)))
                : OpFoldResult();
}

FOLD(AddOp) {
  if (auto sum = foldNumbers(*this, adaptor.getLhs(), adaptor.getRhs(),
                             std::plus<double>())) {
    return sum;
  }
  if (number(adaptor.getRhs()) == 0.0) {
    return same(getLhs(), getResult());
  }
  return number(adaptor.getLhs()) == 0.0 ? same(getRhs(), getResult())
                                         : OpFoldResult();
}

FOLD(SubOp) {
  if (auto difference = foldNumbers(*this, adaptor.getLhs(), adaptor.getRhs(),
                                    std::minus<double>())) {
    return difference;
  }
  return number(adaptor.getRhs()) == 0.0 ? same(getLhs(), getResult())
                                         : OpFoldResult();
}

FOLD(MulOp) {
  if (auto product = foldNumbers(*this, adaptor.getLhs(), adaptor.getRhs(),
                                 std::multiplies<double>())) {
    return product;
  }
  auto x = number(adaptor.getLhs()), y = number(adaptor.getRhs());
  if (x == 0.0 || y == 0.0) {
    return attr(getContext(), 0.0);
  }
  if (y == 1.0) {
    return same(getLhs(), getResult());
  }
  return x == 1.0 ? same(getRhs(), getResult()) : OpFoldResult();
}

FOLD(DivOp) {
  if (auto quotient = foldNumbers(*this, adaptor.getLhs(), adaptor.getRhs(),
                                  std::divides<double>())) {
    return quotient;
  }
  if (number(adaptor.getLhs()) == 0.0) {
    return attr(getContext(), 0.0);
  }
  return number(adaptor.getRhs()) == 1.0 ? same(getLhs(), getResult())
                                         : OpFoldResult();
}

FOLD(MaxOp) {
  return foldNumbers(*this, adaptor.getLhs(), adaptor.getRhs(),
                     [](double x, double y) { return std::max(x, y); });
}

#define FOLD_UNARY(OpName, formula)                                            \
  FOLD(OpName) {                                                               \
    auto x = number(adaptor.getOperand());                                     \
    return x ? OpFoldResult(attr(getContext(), formula)) : OpFoldResult();     \
  }
FOLD_UNARY(AbsOp, std::abs(*x))
FOLD_UNARY(ExpOp, std::exp(*x))
FOLD_UNARY(LogOp, std::log(*x))
FOLD_UNARY(Expm1Op, std::expm1(*x))
FOLD_UNARY(Log1pOp, std::log1p(*x))
FOLD_UNARY(SqrtOp, std::sqrt(*x))
FOLD_UNARY(RsqrtOp, 1 / std::sqrt(*x))
FOLD_UNARY(TanhOp, std::tanh(*x))
FOLD_UNARY(SigmoidOp, 1 / (1 + std::exp(-*x)))
FOLD_UNARY(SoftplusOp, std::max(*x, 0.0) + std::log1p(std::exp(-std::abs(*x))))
FOLD_UNARY(DetachOp, *x)
FOLD_UNARY(RenameOp, *x)
FOLD_UNARY(AmaxOp, *x)
#undef FOLD_UNARY

FOLD(NegOp) {
  if (auto x = number(adaptor.getOperand())) {
    return attr(getContext(), -*x);
  }
  auto inner = getOperand().getDefiningOp<NegOp>();
  return inner ? OpFoldResult(inner.getOperand()) : OpFoldResult();
}

FOLD(SelectOp) {
  return getLhs() == getRhs() ? same(getLhs(), getResult()) : OpFoldResult();
}

FOLD(SumOp) {
  if (getAxes().empty()) {
    return getOperand();
  }
  return number(adaptor.getOperand()) == 0.0
             ? OpFoldResult(attr(getContext(), 0.0))
             : OpFoldResult();
}

FOLD(BroadcastOp) {
  if (getAxes().empty()) {
    return getOperand();
  }
  auto x = number(adaptor.getOperand());
  return x ? OpFoldResult(attr(getContext(), *x)) : OpFoldResult();
}

FOLD(IndexOp) {
  if (auto x = number(adaptor.getOperand())) {
    return attr(getContext(), *x);
  }
  auto place = getOperand().getDefiningOp<PlaceOp>();
  if (place && place.getAxis() == getAxis()) {
    return place.getPosition() == getPosition()
               ? OpFoldResult(place.getOperand())
               : OpFoldResult(attr(getContext(), 0.0));
  }
  return {};
}
#undef FOLD

// Canonical forms
// ---------------------------------------------------------------

static Value scalar(OpBuilder &builder, Location loc, double value) {
  return ConstOp::create(builder, loc, ValType::get(builder.getContext(), {}),
                         builder.getF64FloatAttr(value));
}

static bool isElementwise(Operation *op) {
  return isa<AddOp, SubOp, MulOp, DivOp, MaxOp, SelectOp, CmpOp>(op);
}

namespace {

/// mul(broadcast(a) : K V, b : K V) = mul(a, b): an operand need not bring
/// axes that another operand has.
struct NarrowOperand : RewritePattern {
  explicit NarrowOperand(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isElementwise(op)) {
      return failure();
    }
    for (OpOperand &operand : op->getOpOperands()) {
      Value narrow = narrowed(operand.get(), rewriter);
      if (!narrow) {
        continue;
      }
      SmallVector<Value> operands(op->getOperands());
      operands[operand.getOperandNumber()] = narrow;
      if (axesOfAll(operands).size() == axesOf(op->getResult(0)).size()) {
        rewriter.modifyOpInPlace(op, [&] { operand.set(narrow); });
        return success();
      }
    }
    return failure();
  }

  static Value narrowed(Value value, PatternRewriter &rewriter) {
    if (auto broadcast = value.getDefiningOp<BroadcastOp>()) {
      return broadcast.getOperand();
    }
    auto constant = constantOf(value);
    return constant && !axesOf(value).empty()
               ? scalar(rewriter, value.getLoc(), *constant)
               : nullptr;
  }
};

/// x + 0, x * 1 and the like where the neutral element brings axes.
template <typename OpTy>
struct WidenByNeutral : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    double neutral = std::is_same_v<OpTy, AddOp> ? 0 : 1;
    for (auto [value, other] : {std::pair(op.getLhs(), op.getRhs()),
                                std::pair(op.getRhs(), op.getLhs())}) {
      if (constantOf(other) == neutral && !constantOf(value)) {
        rewriter.replaceOp(
            op, fitAxes(rewriter, op.getLoc(), value, axesOf(op.getResult())));
        return success();
      }
    }
    return failure();
  }
};

/// sum(broadcast(x)): the axes that meet become a factor, their extent.
struct SumOfBroadcast : OpRewritePattern<SumOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SumOp sum,
                                PatternRewriter &rewriter) const override {
    Value x = sum.getOperand();
    if (auto broadcast = x.getDefiningOp<BroadcastOp>()) {
      x = broadcast.getOperand();
    } else if (auto constant = constantOf(x)) {
      x = scalar(rewriter, sum.getLoc(), *constant);
    } else {
      return failure();
    }
    Axes summed = axesIn(sum.getAxes()), inner;
    for (StringAttr axis : summed) {
      if (llvm::is_contained(axesOf(x), axis)) {
        inner.push_back(axis);
      } else {
        Value size = ExtentOp::create(rewriter, sum.getLoc(), axis);
        x = MulOp::create(rewriter, sum.getLoc(), x, size);
      }
    }
    x = SumOp::create(rewriter, sum.getLoc(), x,
                      axesAttr(sum.getContext(), inner));
    rewriter.replaceOp(sum, fitAxes(rewriter, sum.getLoc(), x, axesOf(sum)));
    return success();
  }
};

/// sum(sum(x)) and broadcast(broadcast(x)) in one.
template <typename OpTy>
struct Nested : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getOperand().template getDefiningOp<OpTy>();
    if (!inner) {
      return failure();
    }
    Axes axes = unite(axesIn(op.getAxes()), axesIn(inner.getAxes()));
    rewriter.replaceOpWithNewOp<OpTy>(op, inner.getOperand(),
                                      axesAttr(op.getContext(), axes));
    return success();
  }
};

/// x + (-y), x - (-y), 0 - y, -(x - y).
struct SignedSum : RewritePattern {
  explicit SignedSum(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (auto add = dyn_cast<AddOp>(op)) {
      if (Value y = negated(add.getRhs())) {
        rewriter.replaceOpWithNewOp<SubOp>(op, add.getLhs(), y);
        return success();
      }
      if (Value x = negated(add.getLhs())) {
        rewriter.replaceOpWithNewOp<SubOp>(op, add.getRhs(), x);
        return success();
      }
    } else if (auto sub = dyn_cast<SubOp>(op)) {
      if (Value y = negated(sub.getRhs())) {
        rewriter.replaceOpWithNewOp<AddOp>(op, sub.getLhs(), y);
        return success();
      }
      if (constantOf(sub.getLhs()) == 0.0) {
        Value y = fitAxes(rewriter, op->getLoc(), sub.getRhs(),
                          axesOf(sub.getResult()));
        rewriter.replaceOpWithNewOp<NegOp>(op, y);
        return success();
      }
    } else if (auto neg = dyn_cast<NegOp>(op)) {
      auto inner = neg.getOperand().getDefiningOp<SubOp>();
      if (inner && inner->hasOneUse()) {
        rewriter.replaceOpWithNewOp<SubOp>(op, inner.getRhs(), inner.getLhs());
        return success();
      }
    }
    return failure();
  }

  static Value negated(Value value) {
    auto neg = value.getDefiningOp<NegOp>();
    return neg ? neg.getOperand() : nullptr;
  }
};

/// A sign moves out of products, quotients, sums and broadcasts, towards a sum
/// that absorbs it.
struct SignOutwards : RewritePattern {
  explicit SignOutwards(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isa<MulOp, DivOp, SumOp, BroadcastOp>(op)) {
      return failure();
    }
    for (OpOperand &operand : op->getOpOperands()) {
      auto neg = operand.get().getDefiningOp<NegOp>();
      if (!neg || !neg->hasOneUse()) {
        continue;
      }
      Operation *bare = rewriter.clone(*op);
      bare->setOperand(operand.getOperandNumber(), neg.getOperand());
      rewriter.replaceOpWithNewOp<NegOp>(op, bare->getResult(0));
      return success();
    }
    return failure();
  }
};

} // namespace

void RecDialect::getCanonicalizationPatterns(
    RewritePatternSet &patterns) const {
  patterns.add<NarrowOperand, WidenByNeutral<AddOp>, WidenByNeutral<MulOp>,
               SumOfBroadcast, Nested<SumOp>, Nested<BroadcastOp>, SignedSum,
               SignOutwards>(getContext());
}
