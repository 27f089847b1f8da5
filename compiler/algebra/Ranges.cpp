// The interval rules, one per op of `rec`.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/algebra/Ranges.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <array>
#include <cmath>

using namespace mlir;
using namespace recurra::rec;

namespace recurra {

static constexpr double infinity = std::numeric_limits<double>::infinity();

namespace {
/// One end of a range.
struct Bound {
  double value;
  bool open;
};
} // namespace

static Bound lowOf(const Range &x) { return {x.low, x.lowOpen}; }
static Bound highOf(const Range &x) { return {x.high, x.highOpen}; }

static Bound lower(Bound x, Bound y) {
  if (x.value != y.value) {
    return x.value < y.value ? x : y;
  }
  return {x.value, x.open && y.open};
}

static Bound higher(Bound x, Bound y) {
  if (x.value != y.value) {
    return x.value > y.value ? x : y;
  }
  return {x.value, x.open && y.open};
}

static Range between(Bound low, Bound high) {
  return {low.value, high.value, low.open, high.open};
}

static Range hull(const Range &x, const Range &y) {
  return between(lower(lowOf(x), lowOf(y)), higher(highOf(x), highOf(y)));
}

static Range intersect(const Range &x, const Range &y) {
  Bound low = lowOf(x).value > lowOf(y).value ? lowOf(x) : lowOf(y);
  Bound high = highOf(x).value < highOf(y).value ? highOf(x) : highOf(y);
  if (x.low == y.low) {
    low.open = x.lowOpen || y.lowOpen;
  }
  if (x.high == y.high) {
    high.open = x.highOpen || y.highOpen;
  }
  return between(low, high);
}

static Bound plus(Bound x, Bound y, double undefined) {
  double sum = x.value + y.value;
  return {std::isnan(sum) ? undefined : sum, x.open || y.open};
}

static Range add(const Range &x, const Range &y) {
  return between(plus(lowOf(x), lowOf(y), -infinity),
                 plus(highOf(x), highOf(y), infinity));
}

static Range negate(const Range &x) {
  return {-x.high, -x.low, x.highOpen, x.lowOpen};
}

/// A product of bounds; 0 * inf is 0, and 0 that is reached stays reached.
static Bound times(Bound x, Bound y) {
  if (x.value == 0 || y.value == 0) {
    bool reached = (x.value == 0 && !x.open) || (y.value == 0 && !y.open);
    return {0, !reached};
  }
  return {x.value * y.value, x.open || y.open};
}

static Range multiply(const Range &x, const Range &y) {
  std::array<Bound, 4> corners = {
      times(lowOf(x), lowOf(y)), times(lowOf(x), highOf(y)),
      times(highOf(x), lowOf(y)), times(highOf(x), highOf(y))};
  Bound low = corners[0], high = corners[0];
  for (Bound corner : corners) {
    low = lower(low, corner);
    high = higher(high, corner);
  }
  return between(low, high);
}

/// 1 / x; everything unless x keeps away from zero.
static Range invert(const Range &x) {
  if (x.isPositive()) {
    return {x.high == infinity ? 0 : 1 / x.high,
            x.low == 0 ? infinity : 1 / x.low, x.high == infinity || x.highOpen,
            x.lowOpen};
  }
  if (negate(x).isPositive()) {
    return negate(invert(negate(x)));
  }
  return {};
}

static Range square(const Range &x) {
  if (x.low >= 0) {
    return multiply(x, x);
  }
  if (x.high <= 0) {
    return square(negate(x));
  }
  double most = std::max(x.low * x.low, x.high * x.high);
  return {.low = 0, .high = most};
}

/// A monotone function at both ends; an infinite end becomes an open limit.
static Range monotone(const Range &x, double (*function)(double)) {
  Range result = {function(x.low), function(x.high), x.lowOpen, x.highOpen};
  result.lowOpen |= std::isinf(x.low) && !std::isinf(result.low);
  result.highOpen |= std::isinf(x.high) && !std::isinf(result.high);
  return result;
}

static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
static double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

static Range absolute(const Range &x) {
  if (x.low >= 0) {
    return x;
  }
  if (x.high <= 0) {
    return negate(x);
  }
  return {.low = 0, .high = std::max(-x.low, x.high)};
}

/// exp and its kin may round to their limits: a bound at a limit is reached
/// unless the reals rule it out, which is what open ends record. A factor
/// exp(g), g <= 0, counts as [0, 1]: it may underflow to 0.
static Range exponential(const Range &x) {
  Range result = monotone(x, std::exp);
  if (result.low == 0) {
    result.lowOpen = x.high > 0;
  }
  return result;
}

/// The value behind detach.
static Value attached(Value value) {
  while (auto detach = value.getDefiningOp<DetachOp>()) {
    value = detach.getOperand();
  }
  return value;
}

/// x - max(.., x, ..) is never positive.
static bool subtractsOwnMaximum(SubOp op) {
  auto largest = attached(op.getRhs()).getDefiningOp<MaxOp>();
  return largest && (attached(largest.getLhs()) == attached(op.getLhs()) ||
                     attached(largest.getRhs()) == attached(op.getLhs()));
}

Range Ranges::of(Value value) {
  if (auto found = known.find(value); found != known.end()) {
    return found->second;
  }
  Range result = compute(value);
  known[value] = result;
  return result;
}

/// What a sum over an axis keeps of its terms' range: the sign.
static Range summed(const Range &x) {
  if (x.low >= 0) {
    return {.low = 0, .lowOpen = x.isPositive()};
  }
  return x.high <= 0 ? Range::nonPositive() : Range();
}

/// `function` where it is defined: on x >= least.
static Range definedFrom(double least, const Range &x,
                         double (*function)(double)) {
  return x.low >= least ? monotone(x, function) : Range();
}

static Range ofUnary(Operation *op, const Range &x) {
  return llvm::TypeSwitch<Operation *, Range>(op)
      .Case([&](NegOp) { return negate(x); })
      .Case([&](AbsOp) { return absolute(x); })
      .Case([&](ExpOp) { return exponential(x); })
      .Case([&](Expm1Op) { return monotone(x, std::expm1); })
      .Case([&](TanhOp) { return monotone(x, std::tanh); })
      .Case([&](SigmoidOp) { return monotone(x, sigmoid); })
      .Case([&](SoftplusOp) { return monotone(x, softplus); })
      .Case([&](Log1pOp) { return definedFrom(-1, x, std::log1p); })
      .Case([&](LogOp) { return definedFrom(0, x, std::log); })
      .Case([&](SqrtOp) { return definedFrom(0, x, std::sqrt); })
      .Case([&](RsqrtOp) { return Range::positive(); })
      .Case([&](SumOp) { return summed(x); })
      .Case([&](PlaceOp) { return hull(x, Range::exactly(0)); })
      .Case<DetachOp, AmaxOp, BroadcastOp, RenameOp, IndexOp>(
          [&](auto) { return x; })
      .Default([](Operation *) { return Range(); });
}

static std::optional<Range> factRange(Attribute fact) {
  auto text = dyn_cast<StringAttr>(fact);
  if (!text) {
    return std::nullopt;
  }
  StringRef spelling = text.getValue();
  if (spelling == "positive") {
    return Range::positive();
  }
  if (spelling == "nonNegative") {
    return Range::nonNegative();
  }
  if (spelling == "nonPositive") {
    return Range::nonPositive();
  }
  if (spelling.starts_with("unit(")) {
    return Range{-1, 1};
  }
  Range result;
  if (spelling.consume_front("range(") && spelling.consume_back(")")) {
    auto [low, high] = spelling.split(',');
    if (!low.trim().getAsDouble(result.low) &&
        !high.trim().getAsDouble(result.high)) {
      return result;
    }
  }
  return std::nullopt;
}

Range Ranges::ofArgument(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto scan = dyn_cast<ScanOp>(parent)) {
    unsigned index = argument.getArgNumber();
    return index < scan.getSequences().size() ? of(scan.getSequences()[index])
                                              : Range();
  }
  auto function = dyn_cast<FunctionOpInterface>(parent);
  Attribute facts = function
                        ? function.getArgAttr(argument.getArgNumber(), factAttr)
                        : Attribute();
  Range result;
  if (auto several = dyn_cast_if_present<ArrayAttr>(facts)) {
    for (Attribute fact : several) {
      result = intersect(result, factRange(fact).value_or(Range()));
    }
  } else if (facts) {
    result = factRange(facts).value_or(Range());
  }
  return result;
}

Range Ranges::compute(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    return ofArgument(argument);
  }
  Operation *op = value.getDefiningOp();
  if (op->getNumOperands() == 1) {
    return ofUnary(op, of(op->getOperand(0)));
  }
  return llvm::TypeSwitch<Operation *, Range>(op)
      .Case([](ConstOp op) {
        return Range::exactly(op.getValue().convertToDouble());
      })
      .Case([](ExtentOp) { return Range{.low = 1}; })
      .Case([&](AddOp op) { return add(of(op.getLhs()), of(op.getRhs())); })
      .Case([&](SubOp op) {
        Range all = add(of(op.getLhs()), negate(of(op.getRhs())));
        return subtractsOwnMaximum(op) ? intersect(all, Range::nonPositive())
                                       : all;
      })
      .Case([&](MulOp op) {
        return op.getLhs() == op.getRhs()
                   ? square(of(op.getLhs()))
                   : multiply(of(op.getLhs()), of(op.getRhs()));
      })
      .Case([&](DivOp op) {
        return multiply(of(op.getLhs()), invert(of(op.getRhs())));
      })
      .Case([&](MaxOp op) {
        Range x = of(op.getLhs()), y = of(op.getRhs());
        return between(higher(lowOf(x), lowOf(y)),
                       higher(highOf(x), highOf(y)));
      })
      .Case([&](SelectOp op) { return hull(of(op.getLhs()), of(op.getRhs())); })
      .Default([](Operation *) { return Range(); });
}

namespace {
/// The argument of a gate, and where the gate is 1/2.
struct Gate {
  Value argument;
  double middle;
};
} // namespace

/// The gates in the definition of `value`: exp or sigmoid within [0, 1].
static void collectGates(Value value, Ranges &ranges,
                         SmallVectorImpl<Gate> &gates) {
  Operation *op = value.getDefiningOp();
  if (!op || gates.size() >= 4) {
    return;
  }
  if (isa<ExpOp, Expm1Op, SigmoidOp>(op)) {
    Value argument = op->getOperand(0);
    bool listed = llvm::any_of(
        gates, [&](const Gate &gate) { return gate.argument == argument; });
    bool isGate = isa<SigmoidOp>(op) || ranges.of(argument).isNonPositive();
    if (isGate && !listed) {
      gates.push_back({argument, isa<SigmoidOp>(op) ? 0 : -std::log(2.0)});
    }
    return;
  }
  for (Value operand : op->getOperands()) {
    collectGates(operand, ranges, gates);
  }
}

static bool holds(Value value, const Ranges &assumptions,
                  bool (Range::*property)() const) {
  Ranges whole = assumptions;
  if ((whole.of(value).*property)()) {
    return true;
  }
  SmallVector<Gate> gates;
  collectGates(value, whole, gates);
  for (unsigned halves = 0; halves < 1u << gates.size(); ++halves) {
    Ranges part = assumptions;
    for (auto [i, gate] : llvm::enumerate(gates)) {
      Range half = (halves >> i) & 1 ? Range{.low = gate.middle}
                                     : Range{.high = gate.middle};
      part.assume(gate.argument, intersect(whole.of(gate.argument), half));
    }
    if (!(part.of(value).*property)()) {
      return false;
    }
  }
  return !gates.empty();
}

bool isProvablyPositive(Value value, const Ranges &assumptions) {
  return holds(value, assumptions, &Range::isPositive);
}

bool isProvablyNonNegative(Value value, const Ranges &assumptions) {
  return holds(value, assumptions, &Range::isNonNegative);
}

} // namespace recurra
