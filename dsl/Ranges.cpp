// Which values a division may meet: ranges propagated from the facts, with
// induction over tokens for the states.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/Rules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>

namespace recurra {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

/// Values from `low` to `high`; an end that is open is not reached.
struct Range {
  double low = -inf, high = inf;
  bool lowOpen = false, highOpen = false;

  bool excludesZero() const {
    return low > 0 || high < 0 || (low == 0 && lowOpen) ||
           (high == 0 && highOpen);
  }
  bool isPositive() const { return low > 0 || (low == 0 && lowOpen); }
  bool contains(const Range &other) const {
    bool lowFits =
        other.low > low || (other.low == low && (!lowOpen || other.lowOpen));
    bool highFits = other.high < high ||
                    (other.high == high && (!highOpen || other.highOpen));
    return lowFits && highFits;
  }
};

const Range anything{};
const Range positives{0, inf, true, false};
const Range nonNegatives{0, inf, false, false};

Range negate(const Range &x) {
  return {-x.high, -x.low, x.highOpen, x.lowOpen};
}

Range add(const Range &a, const Range &b) {
  return {a.low + b.low, a.high + b.high, a.lowOpen || b.lowOpen,
          a.highOpen || b.highOpen};
}

/// An end of a product: 0 times infinity is 0, and 0 is reached if either
/// factor reaches it.
struct End {
  double value;
  bool open;
};

End multiplyEnds(End a, End b) {
  if (a.value == 0 || b.value == 0) {
    bool reached = (a.value == 0 && !a.open) || (b.value == 0 && !b.open);
    return {0, !reached};
  }
  return {a.value * b.value, a.open || b.open};
}

Range multiply(const Range &a, const Range &b) {
  End lowA{a.low, a.lowOpen}, highA{a.high, a.highOpen};
  End lowB{b.low, b.lowOpen}, highB{b.high, b.highOpen};
  std::vector<End> ends = {multiplyEnds(lowA, lowB), multiplyEnds(lowA, highB),
                           multiplyEnds(highA, lowB),
                           multiplyEnds(highA, highB)};
  Range result{inf, -inf, true, true};
  for (const End &end : ends) {
    if (end.value < result.low) {
      result.low = end.value;
      result.lowOpen = end.open;
    } else if (end.value == result.low) {
      result.lowOpen = result.lowOpen && end.open;
    }
    if (end.value > result.high) {
      result.high = end.value;
      result.highOpen = end.open;
    } else if (end.value == result.high) {
      result.highOpen = result.highOpen && end.open;
    }
  }
  return result;
}

Range invert(const Range &x) {
  if (!x.excludesZero()) {
    return anything;
  }
  bool positive = x.isPositive();
  double low = x.high == 0 ? -inf : 1 / x.high;
  double high = x.low == 0 ? inf : 1 / x.low;
  return {low, high, x.highOpen || (positive && std::isinf(x.high)),
          x.lowOpen || (!positive && std::isinf(x.low))};
}

Range squared(const Range &x) {
  double low = std::abs(x.low), high = std::abs(x.high);
  Range result{0, std::max(low, high) * std::max(low, high), false, false};
  if (x.excludesZero()) {
    double nearest = std::min(low, high);
    result.low = nearest * nearest;
    result.lowOpen = nearest == 0;
  }
  return result;
}

Range minimum(const Range &a, const Range &b) {
  bool lowA = a.low < b.low || (a.low == b.low && !a.lowOpen);
  bool highA = a.high < b.high || (a.high == b.high && a.highOpen);
  return {lowA ? a.low : b.low, highA ? a.high : b.high,
          lowA ? a.lowOpen : b.lowOpen, highA ? a.highOpen : b.highOpen};
}

Range maximum(const Range &a, const Range &b) {
  return negate(minimum(negate(a), negate(b)));
}

Range hull(const Range &a, const Range &b) {
  Range low = minimum(a, b), high = maximum(a, b);
  return {low.low, high.high, low.lowOpen, high.highOpen};
}

/// Through an increasing function.
template <typename Function>
Range increasing(const Range &x, Function function) {
  return {function(x.low), function(x.high), x.lowOpen || std::isinf(x.low),
          x.highOpen || std::isinf(x.high)};
}

Range absolute(const Range &x) { return maximum(x, negate(x)); }

/// Of a sum of any number (at least one) of such values.
Range summed(const Range &x) {
  Range result;
  if (x.low >= 0) {
    result.low = x.low;
    result.lowOpen = x.lowOpen;
  }
  if (x.high <= 0) {
    result.high = x.high;
    result.highOpen = x.highOpen;
  }
  return result;
}

double positivePart(double x) { return std::max(x, 0.0); }

Range unary(Op op, const Range &x) {
  switch (op) {
  case Op::Neg:
    return negate(x);
  case Op::Abs: {
    Range result = absolute(x);
    return x.excludesZero() ? result : maximum(result, {0, 0, false, false});
  }
  case Op::Exp:
    return increasing(x, [](double v) { return std::exp(v); });
  case Op::Log:
    return increasing(x, [](double v) { return std::log(positivePart(v)); });
  case Op::Expm1:
    return increasing(x, [](double v) { return std::expm1(v); });
  case Op::Log1p:
    return increasing(x,
                      [](double v) { return std::log1p(std::max(v, -1.0)); });
  case Op::Sqrt:
    return increasing(x, [](double v) { return std::sqrt(positivePart(v)); });
  case Op::Rsqrt:
    return positives;
  case Op::Tanh:
    return increasing(x, [](double v) { return std::tanh(v); });
  case Op::Sigmoid:
    return increasing(x, [](double v) { return 1 / (1 + std::exp(-v)); });
  case Op::Softplus:
    return increasing(x, [](double v) {
      return std::isinf(v) ? positivePart(v) : std::log1p(std::exp(v));
    });
  case Op::LogSigmoid:
    return negate(unary(Op::Softplus, negate(x)));
  case Op::Silu:
    return x.low >= 0 ? Range{0, x.high, x.lowOpen, x.highOpen}
                      : Range{-0.2785, inf, false, false};
  case Op::Square:
    return squared(x);
  default: // Detach
    return x;
  }
}

Range binary(const Node &node, const Range &a, const Range &b) {
  switch (node.op) {
  case Op::Add:
    return add(a, b);
  case Op::Sub:
    return add(a, negate(b));
  case Op::Mul:
    return node.operands[0] == node.operands[1] ? squared(a) : multiply(a, b);
  case Op::Div:
    return multiply(a, invert(b));
  case Op::Min:
    return minimum(a, b);
  case Op::Max:
    return maximum(a, b);
  default: // comparisons
    return {0, 1, false, false};
  }
}

Range ofFact(const Fact &fact) {
  switch (fact.kind) {
  case Fact::Positive:
    return positives;
  case Fact::NonNegative:
    return nonNegatives;
  case Fact::NonPositive:
    return negate(nonNegatives);
  case Fact::Range:
    return {fact.low, fact.high, false, false};
  case Fact::Unit:
    return {-1, 1, false, false};
  }
  return anything;
}

/// All facts hold together.
Range ofFacts(const std::vector<Fact> &facts) {
  Range result;
  for (const Fact &fact : facts) {
    Range one = ofFact(fact);
    Range low = maximum(result, one), high = minimum(result, one);
    result = {low.low, high.high, low.lowOpen, high.highOpen};
  }
  return result;
}

/// Ranges of all values of the step, given ranges of the states.
class Propagation {
public:
  Propagation(const Recurrence &recurrence,
              const std::map<std::string, Range> &states)
      : recurrence(recurrence), states(states) {}

  Range of(const NodeRef &root) {
    for (const NodeRef &node : operandsFirst({root})) {
      if (known.count(node.get()) == 0) {
        known[node.get()] = compute(*node);
      }
    }
    return known.at(root.get());
  }

private:
  Range compute(const Node &node) {
    auto operand = [&](int i) { return known.at(node.operands[i].get()); };
    switch (node.op) {
    case Op::Constant:
      return {node.value, node.value, false, false};
    case Op::Input:
      return ofFacts(recurrence.findInput(node.name)->facts);
    case Op::State:
      return states.at(node.name);
    case Op::Extent:
      return {1, inf, false, true};
    case Op::Select:
      return hull(operand(1), operand(2));
    case Op::Sum:
      return summed(operand(0));
    case Op::Softmax:
      return {0, 1, true, false};
    case Op::L2Norm:
      return {-1, 1, true, true};
    case Op::Rename:
    case Op::At:
    case Op::Mean:
    case Op::MaxOver:
      return operand(0);
    default:
      return node.operands.size() == 2 ? binary(node, operand(0), operand(1))
                                       : unary(node.op, operand(0));
    }
  }

  const Recurrence &recurrence;
  const std::map<std::string, Range> &states;
  std::unordered_map<const Node *, Range> known;
};

/// Before the first token: the declared facts, else the initial value.
Range atStart(const Recurrence &recurrence, const State &state) {
  if (!state.facts.empty()) {
    return ofFacts(state.facts);
  }
  std::map<std::string, Range> none;
  return Propagation(recurrence, none).of(state.initial);
}

Range weaken(const Range &range) {
  return range.isPositive() ? nonNegatives : anything;
}

/// Assumes the strongest sign that each state starts with, and weakens what a
/// step does not keep until all of it is kept together.
std::map<std::string, Range> stateRanges(const Recurrence &recurrence) {
  std::map<std::string, Range> ranges;
  for (const State &state : recurrence.states) {
    Range start = atStart(recurrence, state);
    ranges[state.name] = positives.contains(start)      ? positives
                         : nonNegatives.contains(start) ? nonNegatives
                                                        : anything;
  }
  bool changed = true;
  while (changed) {
    changed = false;
    std::map<std::string, Range> assumed = ranges;
    Propagation step(recurrence, assumed);
    for (const State &state : recurrence.states) {
      Range &range = ranges[state.name];
      if (!range.contains(step.of(state.next))) {
        range = weaken(range);
        changed = true;
      }
    }
  }
  return ranges;
}

} // namespace

std::vector<std::string> unprotectedDivisions(const Recurrence &recurrence) {
  std::map<std::string, Range> states = stateRanges(recurrence);
  Propagation step(recurrence, states);
  std::vector<NodeRef> roots;
  for (const State &state : recurrence.states) {
    roots.push_back(state.initial);
    roots.push_back(state.next);
  }
  for (const Output &output : recurrence.outputs) {
    roots.push_back(output.value);
  }
  std::vector<std::string> warnings;
  for (const NodeRef &node : operandsFirst(roots)) {
    bool divides = node->op == Op::Div || node->op == Op::Rsqrt;
    if (!divides || step.of(node->operands.back()).excludesZero()) {
      continue;
    }
    std::string message =
        "the divisor of '" + std::string(spelling(node->op)) +
        "' may be zero; no fact keeps it away; declare facts such as positive "
        "or nonNegative on what it is made of, or add a positive number";
    warnings.push_back(UserError(node->location, message).what());
  }
  return warnings;
}

} // namespace recurra
