// Transcendental functions as polynomials on f32, f64 and vectors of them. All
// follow one plan: reduce the argument exactly, evaluate a series on a short
// interval, undo the reduction by exact scaling. Special values come out by
// arithmetic wherever possible: compares are written so that NaN passes
// through. SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/CpuPasses.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

#include <cmath>

using namespace mlir;

namespace {

/// Arithmetic on one type, f32 or f64 or vectors of it, and on the integers of
/// the same width.
class Numbers {
public:
  Numbers(OpBuilder &builder, Location loc, Type type)
      : builder(builder), loc(loc), type(type) {
    Type element = getElementTypeOrSelf(type);
    isDouble = element.isF64();
    Type integer = builder.getIntegerType(isDouble ? 64 : 32);
    auto vector = dyn_cast<VectorType>(type);
    integerType = vector ? Type(vector.clone(integer)) : integer;
  }

  bool isDouble;

  Value real(double value) {
    Attribute scalar = builder.getFloatAttr(getElementTypeOrSelf(type), value);
    return constant(type, scalar);
  }
  Value whole(int64_t value) {
    Attribute scalar =
        builder.getIntegerAttr(getElementTypeOrSelf(integerType), value);
    return constant(integerType, scalar);
  }
  Value add(Value a, Value b) {
    return arith::AddFOp::create(builder, loc, a, b);
  }
  Value sub(Value a, Value b) {
    return arith::SubFOp::create(builder, loc, a, b);
  }
  Value mul(Value a, Value b) {
    return arith::MulFOp::create(builder, loc, a, b);
  }
  Value div(Value a, Value b) {
    return arith::DivFOp::create(builder, loc, a, b);
  }
  Value fma(Value a, Value b, Value c) {
    return math::FmaOp::create(builder, loc, a, b, c);
  }
  Value addBits(Value a, Value b) {
    return arith::AddIOp::create(builder, loc, a, b);
  }
  Value subBits(Value a, Value b) {
    return arith::SubIOp::create(builder, loc, a, b);
  }
  Value shiftLeft(Value a, int64_t by) {
    return arith::ShLIOp::create(builder, loc, a, whole(by));
  }
  Value shiftRight(Value a, int64_t by) {
    return arith::ShRSIOp::create(builder, loc, a, whole(by));
  }
  Value bits(Value a) {
    return arith::BitcastOp::create(builder, loc, integerType, a);
  }
  Value fromBits(Value a) {
    return arith::BitcastOp::create(builder, loc, type, a);
  }
  Value fromInteger(Value a) {
    return arith::SIToFPOp::create(builder, loc, type, a);
  }
  Value less(Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, a, b);
  }
  Value equal(Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  /// Between two constants; NaN stays NaN (one min and one max instruction).
  Value clamp(Value x, double low, double high) {
    Value bottom = real(low), top = real(high);
    Value raised = select(less(x, bottom), bottom, x);
    return select(less(top, raised), top, raised);
  }
  /// coefficients[0] + x coefficients[1] + ..
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value sum = real(coefficients.back());
    for (double next : llvm::reverse(coefficients.drop_back())) {
      sum = fma(sum, x, real(next));
    }
    return sum;
  }

  int64_t mantissa() const { return isDouble ? 52 : 23; }
  int64_t bias() const { return isDouble ? 1023 : 127; }
  /// 2^n for an integer n of a normal result.
  Value powerOfTwo(Value n) {
    return fromBits(shiftLeft(addBits(n, whole(bias())), mantissa()));
  }

private:
  Value constant(Type of, Attribute scalar) {
    TypedAttr attr = cast<TypedAttr>(scalar);
    if (auto vector = dyn_cast<VectorType>(of)) {
      attr = DenseElementsAttr::get(vector, scalar);
    }
    return arith::ConstantOp::create(builder, loc, of, attr);
  }

  OpBuilder &builder;
  Location loc;
  Type type, integerType;
};

// ln 2 in two parts; the first has few bits, so that n * high is exact.
struct LogTwo {
  double high, low;
};

LogTwo logTwo(bool isDouble) {
  return isDouble ? LogTwo{0x1.62e42feep-1, 0x1.a39ef35793c76p-33}
                  : LogTwo{0x1.62ep-1, 0x1.0bfbe8p-15};
}

/// x = n ln 2 + r with |r| <= ln 2 / 2; `n` as an integer.
struct Reduced {
  Value n, r;
};

Reduced reduceByLogTwo(Numbers &f, Value x) {
  // Adding 1.5 * 2^mantissa leaves the rounded integer in the low bits.
  double magic = std::ldexp(1.5, f.mantissa());
  Value shifted = f.fma(x, f.real(1.4426950408889634), f.real(magic));
  Value n = f.sub(shifted, f.real(magic));
  Value r = f.fma(n, f.real(-logTwo(f.isDouble).high), x);
  r = f.fma(n, f.real(-logTwo(f.isDouble).low), r);
  return {f.subBits(f.bits(shifted), f.bits(f.real(magic))), r};
}

/// (e^r - 1 - r) / r^2 on |r| <= ln 2 / 2: the Taylor series, whose rest is
/// below a hundredth of an ulp at these lengths.
Value expTail(Numbers &f, Value r) {
  SmallVector<double> coefficients;
  double factorial = 1;
  for (int k = 2; k <= (f.isDouble ? 14 : 8); ++k) {
    factorial *= k;
    coefficients.push_back(1 / factorial);
  }
  return f.polynomial(r, coefficients);
}

Value expandExp(Numbers &f, Value x) {
  // Below the lower bound the result rounds to 0, above the upper to inf. 2^n
  // is applied in two halves, so that both are normal and subnormal results
  // are rounded once.
  Value bounded = f.isDouble ? f.clamp(x, -746, 710) : f.clamp(x, -104, 89);
  Reduced reduced = reduceByLogTwo(f, bounded);
  Value square = f.mul(reduced.r, reduced.r);
  Value rest = f.fma(square, expTail(f, reduced.r), reduced.r);
  Value value = f.add(rest, f.real(1));
  Value half = f.shiftRight(reduced.n, 1);
  value = f.mul(value, f.powerOfTwo(half));
  return f.mul(value, f.powerOfTwo(f.subBits(reduced.n, half)));
}

Value expandExpm1(Numbers &f, Value x) {
  // With q = e^r - 1: 2^n q + (2^n - 1), halved so that n = 128 is no overflow.
  Value bounded = f.isDouble ? f.clamp(x, -50, 710) : f.clamp(x, -30, 89);
  Reduced reduced = reduceByLogTwo(f, bounded);
  Value square = f.mul(reduced.r, reduced.r);
  Value q = f.fma(square, expTail(f, reduced.r), reduced.r);
  Value scale = f.powerOfTwo(f.subBits(reduced.n, f.whole(1)));
  Value sum = f.fma(q, scale, f.sub(scale, f.real(0.5)));
  return f.add(sum, sum);
}

/// log(1 + y) for 1 + y = 2^e (1 + rest), `correction` a small term added last.
/// Domain ends are the caller's.
Value logarithm(Numbers &f, Value x, Value correction) {
  // m in [sqrt(1/2), sqrt(2)): subtract the bits of sqrt(1/2), keep exponent.
  Value bits = f.bits(x);
  Value offset = f.bits(f.real(0.70710678118654752));
  Value e = f.shiftRight(f.subBits(bits, offset), f.mantissa());
  Value m = f.fromBits(f.subBits(bits, f.shiftLeft(e, f.mantissa())));
  Value y = f.sub(m, f.real(1));
  // log(1 + y) = y - (h - s (h + R)), s = y / (2 + y), h = y^2 / 2,
  // R = 2 (z/3 + z^2/5 + ..), z = s^2: y is exact, the bracket is small.
  Value s = f.div(y, f.add(y, f.real(2)));
  Value z = f.mul(s, s);
  SmallVector<double> coefficients;
  for (int k = 1; k <= (f.isDouble ? 11 : 5); ++k) {
    coefficients.push_back(2.0 / (2 * k + 1));
  }
  Value tail = f.mul(z, f.polynomial(z, coefficients));
  Value half = f.mul(f.mul(y, y), f.real(0.5));
  Value count = f.fromInteger(e);
  Value low = f.mul(count, f.real(logTwo(f.isDouble).low));
  if (correction) {
    low = f.add(low, correction);
  }
  Value inner = f.fma(s, f.add(half, tail), low);
  Value sum = f.sub(y, f.sub(half, inner));
  return f.fma(count, f.real(logTwo(f.isDouble).high), sum);
}

/// The values of log outside the positive finite numbers.
Value logEnds(Numbers &f, Value x, Value finite) {
  double inf = std::numeric_limits<double>::infinity();
  Value result = f.select(f.equal(x, f.real(inf)), x, finite);
  result = f.select(f.equal(x, f.real(0)), f.real(-inf), result);
  // x < 0, or NaN: x - x would miss -inf, so NaN is a constant for x < 0.
  Value nan = f.real(std::numeric_limits<double>::quiet_NaN());
  result = f.select(f.less(x, f.real(0)), nan, result);
  return f.select(f.equal(x, x), result, x);
}

Value expandLog(Numbers &f, Value x) {
  // Subnormal arguments are scaled into the normal range first.
  int shift = f.isDouble ? 54 : 25;
  double least = f.isDouble ? 0x1p-1022 : 0x1p-126;
  Value small = f.less(x, f.real(least));
  Value scaled = f.select(small, f.mul(x, f.real(std::ldexp(1.0, shift))), x);
  Value value = logarithm(f, scaled, nullptr);
  Value lowered = f.sub(value, f.real(shift * 0.69314718055994531));
  return logEnds(f, x, f.select(small, lowered, value));
}

Value expandLog1p(Numbers &f, Value x) {
  // What 1 + x lost, c = x - ((1 + x) - 1), comes back as c / (1 + x).
  Value sum = f.add(x, f.real(1));
  Value lost = f.sub(x, f.sub(sum, f.real(1)));
  Value value = logarithm(f, sum, f.div(lost, sum));
  return logEnds(f, sum, value);
}

Value expandTanh(Numbers &f, Value x) {
  Value e = expandExpm1(
      f, f.clamp(f.add(x, x), f.isDouble ? -40 : -20, f.isDouble ? 40 : 20));
  return f.div(e, f.add(e, f.real(2)));
}

Value expandRsqrt(Numbers &f, Value root) { return f.div(f.real(1), root); }

/// Replaces a unary op on f32 or f64 by what `Expand` builds.
template <typename OpT, Value (*Expand)(Numbers &, Value)>
struct ExpandUnary : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpT op,
                                PatternRewriter &rewriter) const override {
    Type element = getElementTypeOrSelf(op.getType());
    if (!element.isF32() && !element.isF64()) {
      return rewriter.notifyMatchFailure(op, "not f32 or f64");
    }
    Numbers numbers(rewriter, op.getLoc(), op.getType());
    rewriter.replaceOp(op, Expand(numbers, op.getOperand()));
    return success();
  }
};

/// 1 / sqrt(x): both are exact to half an ulp.
struct ExpandRsqrt : OpRewritePattern<math::RsqrtOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::RsqrtOp op,
                                PatternRewriter &rewriter) const override {
    Numbers numbers(rewriter, op.getLoc(), op.getType());
    Value root = math::SqrtOp::create(rewriter, op.getLoc(), op.getOperand());
    rewriter.replaceOp(op, expandRsqrt(numbers, root));
    return success();
  }
};

struct ExpandMathPass : PassWrapper<ExpandMathPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandMathPass)
  StringRef getArgument() const override { return "expand-math"; }
  StringRef getDescription() const override {
    return "Transcendental functions as polynomials, without libm";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect>();
  }
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandUnary<math::ExpOp, expandExp>,
                 ExpandUnary<math::ExpM1Op, expandExpm1>,
                 ExpandUnary<math::LogOp, expandLog>,
                 ExpandUnary<math::Log1pOp, expandLog1p>,
                 ExpandUnary<math::TanhOp, expandTanh>, ExpandRsqrt>(
        &getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace

std::unique_ptr<Pass> recurra::createExpandMathPass() {
  return std::make_unique<ExpandMathPass>();
}
