// factor-products: the same products and sums with less work on the values that
// have all the state's axes. A rewrite happens only if a count of entries says
// that it is cheaper.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/FactorProductsForms.h"
#include "compiler/passes/Passes.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace recurra {
#define GEN_PASS_DEF_FACTORPRODUCTS
#include "compiler/passes/Passes.h.inc"
} // namespace recurra

using namespace mlir;
using namespace recurra;
using namespace recurra::rec;

namespace {

/// Whether `value` is an inner node of a larger product, which is rewritten as
/// a whole instead.
bool isInner(Value value) {
  if (!value.hasOneUse()) {
    return false;
  }
  OpOperand &use = *value.getUses().begin();
  return isa<MulOp, NegOp, SumOp>(use.getOwner()) ||
         (isa<DivOp>(use.getOwner()) && use.getOperandNumber() == 0);
}

/// A product in the cheapest order of its factors.
template <typename OpTy>
struct OrderFactors : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (isInner(op.getResult())) {
      return rewriter.notifyMatchFailure(op, "part of a larger product");
    }
    ProductForms forms;
    Term term = forms.flatten(op.getResult(), Opening::SingleUser);
    const Form *form = forms.product(term);
    if (form->cost >= forms.oldCost()) {
      return rewriter.notifyMatchFailure(op, "no cheaper order");
    }
    rewriter.replaceOp(op, emitForm(rewriter, op.getLoc(), form));
    return success();
  }
};

/// sum(c x) = c sum(x) where c lacks the axes, and sum((x + y) c) = sum(x c) +
/// sum(y c) where the parts are cheaper.
struct FactorSum : OpRewritePattern<SumOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SumOp sum,
                                PatternRewriter &rewriter) const override {
    for (Opening opening : {Opening::AnyUser, Opening::SingleUser}) {
      ProductForms forms;
      const Form *form = forms.contraction(sum, opening);
      if (form && worthwhile(sum, *form, forms, opening)) {
        rewriter.replaceOp(sum, emitForm(rewriter, sum.getLoc(), form));
        return success();
      }
    }
    return rewriter.notifyMatchFailure(sum, "no cheaper form");
  }

  /// Opening a product with other users may cost a little on smaller values:
  /// it leaves one user less of the larger one. (Not a distributed sum, which
  /// MergeSums would put together again.)
  static bool worthwhile(SumOp sum, const Form &form, const ProductForms &forms,
                         Opening opening) {
    bool opened = opening == Opening::AnyUser && forms.openedShared() &&
                  !forms.isDistributed();
    double slack = opened ? costOf(axesOf(sum.getOperand()).size()) / 2 : 0;
    return form.cost < forms.oldCost() + slack;
  }
};

/// Two sums over the same axes are one: one accumulator, one reduction.
template <typename OpTy>
struct MergeSums : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    auto left = op.getLhs().template getDefiningOp<SumOp>();
    auto right = op.getRhs().template getDefiningOp<SumOp>();
    if (!left || !right || left == right || !left->hasOneUse() ||
        !right->hasOneUse() || left->getBlock() != right->getBlock() ||
        left.getOperand().getType() != right.getOperand().getType() ||
        axesIn(left.getAxes()) != axesIn(right.getAxes())) {
      return failure();
    }
    Value both = OpTy::create(rewriter, op.getLoc(), left.getOperand(),
                              right.getOperand());
    rewriter.replaceOpWithNewOp<SumOp>(op, both, left.getAxes());
    return success();
  }
};

/// Several quotients by one value, or one by a value with fewer axes, become
/// products with its reciprocal.
struct ShareReciprocal : OpRewritePattern<DivOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(DivOp op,
                                PatternRewriter &rewriter) const override {
    Value divisor = op.getRhs();
    if (isReciprocal(op) || constantOf(divisor)) {
      return failure();
    }
    SmallVector<DivOp> quotients;
    for (OpOperand &use : divisor.getUses()) {
      auto div = dyn_cast<DivOp>(use.getOwner());
      if (div && use.getOperandNumber() == 1 && !isReciprocal(div)) {
        quotients.push_back(div);
      }
    }
    bool smaller = axesOf(divisor).size() < axesOf(op.getResult()).size();
    if (quotients.size() < 2 && !smaller) {
      return failure();
    }
    Value reciprocal = createReciprocal(divisor, rewriter);
    for (DivOp div : quotients) {
      rewriter.setInsertionPoint(div);
      rewriter.replaceOpWithNewOp<MulOp>(div, div.getLhs(), reciprocal);
    }
    return success();
  }

  static bool isReciprocal(DivOp op) {
    return constantOf(op.getLhs()) == 1.0 &&
           op.getType() == op.getRhs().getType();
  }

  static Value createReciprocal(Value divisor, PatternRewriter &rewriter) {
    rewriter.setInsertionPointAfterValue(divisor);
    Value one = ConstOp::create(rewriter, divisor.getLoc(),
                                ValType::get(divisor.getContext(), {}),
                                rewriter.getF64FloatAttr(1));
    return DivOp::create(rewriter, divisor.getLoc(), one, divisor);
  }
};

struct FactorProducts : recurra::impl::FactorProductsBase<FactorProducts> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    context->getLoadedDialect<RecDialect>()->getCanonicalizationPatterns(
        patterns);
    ScanOp::getCanonicalizationPatterns(patterns, context);
    patterns.add<OrderFactors<MulOp>, OrderFactors<DivOp>, FactorSum,
                 MergeSums<AddOp>, MergeSums<SubOp>, ShareReciprocal>(context);
    GreedyRewriteConfig config;
    config.setMaxNumRewrites(5000);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns),
                                     config))) {
      // What was done so far is right; only the search stops.
      getOperation().emitRemark("factor-products stopped before its end");
    }
  }
};

} // namespace
