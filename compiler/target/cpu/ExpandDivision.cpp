// vdivps on a zmm register blocks the divider for 16 cycles; an estimate of 14
// bits, one Newton step and a product take about 3 and err by at most 2 ulp.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/CpuPasses.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;

namespace {

Value callIntrinsic(OpBuilder &builder, Location loc, Type type, StringRef name,
                    ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(builder, loc, type,
                                       builder.getStringAttr(name), operands)
      .getResult(0);
}

Value integer(OpBuilder &builder, Location loc, unsigned bits, int64_t value) {
  return LLVM::ConstantOp::create(builder, loc, builder.getIntegerType(bits),
                                  value);
}

Value splat(OpBuilder &builder, Location loc, VectorType type, float value) {
  return arith::ConstantOp::create(
      builder, loc, type,
      DenseElementsAttr::get(type, builder.getF32FloatAttr(value)));
}

/// 1 / x: r + r e with e = 1 - x r. Where the estimate is already exact (x is
/// 0, inf or subnormal) e is NaN or inf; `vrange` (the smaller magnitude, the
/// other operand for NaN) then puts a harmless number in its place.
Value reciprocal(OpBuilder &builder, Location loc, Value x) {
  auto type = cast<VectorType>(x.getType());
  Value all = integer(builder, loc, 16, -1);
  Value zero = splat(builder, loc, type, 0);
  Value r = callIntrinsic(builder, loc, type, "llvm.x86.avx512.rcp14.ps.512",
                          {x, zero, all});
  Value minus = arith::NegFOp::create(builder, loc, x);
  Value e =
      math::FmaOp::create(builder, loc, minus, r, splat(builder, loc, type, 1));
  // Immediate: smaller absolute value (2), sign of the chosen operand (4).
  e = callIntrinsic(builder, loc, type, "llvm.x86.avx512.mask.range.ps.512",
                    {e, splat(builder, loc, type, 0x1p-13f),
                     integer(builder, loc, 32, 6), zero, all,
                     integer(builder, loc, 32, 4)});
  return math::FmaOp::create(builder, loc, r, e, r);
}

struct ExpandDivision : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::DivFOp op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<VectorType>(op.getType());
    if (!type || !type.getElementType().isF32() ||
        type.getNumElements() != 16) {
      return rewriter.notifyMatchFailure(op, "not a full vector of f32");
    }
    Value inverse = reciprocal(rewriter, op.getLoc(), op.getRhs());
    if (matchPattern(op.getLhs(), m_OneFloat())) {
      rewriter.replaceOp(op, inverse);
    } else {
      rewriter.replaceOpWithNewOp<arith::MulFOp>(op, op.getLhs(), inverse);
    }
    return success();
  }
};

struct ExpandDivisionPass : PassWrapper<ExpandDivisionPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandDivisionPass)
  StringRef getArgument() const override { return "expand-division"; }
  StringRef getDescription() const override {
    return "f32 division of AVX-512 vectors by an estimate and a Newton step";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry
        .insert<arith::ArithDialect, math::MathDialect, LLVM::LLVMDialect>();
  }
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandDivision>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace

std::unique_ptr<Pass> recurra::createExpandDivisionPass() {
  return std::make_unique<ExpandDivisionPass>();
}
