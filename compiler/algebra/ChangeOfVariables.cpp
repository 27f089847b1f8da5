// Candidates from the syntax of the step; identities proved over a prime field,
// signs by interval arithmetic with induction over tokens.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/algebra/ChangeOfVariables.h"

#include "compiler/algebra/Ranges.h"
#include "compiler/algebra/Rebuild.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace recurra::rec;

namespace recurra {

static constexpr std::uint64_t seeds[] = {11, 23, 47};

std::string nameOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument) {
    return "a value";
  }
  Operation *parent = argument.getOwner()->getParentOp();
  unsigned number = argument.getArgNumber();
  if (auto scan = dyn_cast<ScanOp>(parent)) {
    unsigned tokens = scan.getSequences().size();
    return number < tokens ? nameOf(scan.getSequences()[number])
                           : scan.getStateName(number - tokens);
  }
  if (auto function = dyn_cast<FunctionOpInterface>(parent)) {
    if (auto name = function.getArgAttrOfType<StringAttr>(number, nameAttr)) {
      return name.str();
    }
  }
  return "a value";
}

namespace {

/// One state of one scan, and the values at both ends of a token.
struct Step {
  ScanOp scan;
  unsigned index;

  MutableArrayRef<BlockArgument> before() { return scan.getStates(); }
  ValueRange after() { return scan.getYield().getCarried(); }
  Value x() { return before()[index]; }
  Value next() { return after()[index]; }

  /// The number of the state whose value at that end this is.
  std::optional<unsigned> stateAt(bool end, Value value) {
    for (unsigned i = 0; i < before().size(); ++i) {
      if (value == (end ? Value(after()[i]) : Value(before()[i]))) {
        return i;
      }
    }
    return std::nullopt;
  }
};

} // namespace

/// The states that `value` reads at one end of the token; nothing if it also
/// reads a token's value, or the state that is to be multiplied.
static bool collectStates(Step step, bool end, Value value,
                          SetVector<unsigned> &states) {
  if (isTimeConstant(value, step.scan)) {
    return true;
  }
  if (auto state = step.stateAt(end, value)) {
    states.insert(*state);
    return *state != step.index;
  }
  Operation *op = value.getDefiningOp();
  return op && llvm::all_of(op->getOperands(), [&](Value operand) {
           return collectStates(step, end, operand, states);
         });
}

/// P at the start (`end` false) or at the end of the token, at a field point
/// that already knows the step's values.
static FieldElement valueOf(Step step, const Multiplier &multiplier, bool end,
                            FieldEvaluation &point, std::uint64_t seed) {
  FieldElement result = point.of(multiplier.expression);
  if (end != multiplier.atEnd) {
    FieldEvaluation moved(seed);
    for (auto [before, after] : llvm::zip(step.before(), step.after())) {
      moved.bind(multiplier.atEnd ? Value(after) : Value(before),
                 point.of(multiplier.atEnd ? Value(before) : Value(after)));
    }
    result = moved.of(multiplier.expression);
  }
  return multiplier.inverted ? FieldElement{1} / result : result;
}

static FieldElement valueOf(ArrayRef<Product> terms, FieldEvaluation &point) {
  FieldElement sum;
  for (const Product &term : terms) {
    FieldElement product{1};
    for (Value factor : term.top) {
      product = product * point.of(factor);
    }
    for (Value factor : term.bottom) {
      product = product / point.of(factor);
    }
    sum = term.negative ? sum - product : sum + product;
  }
  return sum;
}

/// slope * P(end) / P(start) at a point whose states depend on `world`, while
/// tokens and time-constants depend on the seed alone.
static FieldElement gainAt(Step step, const AffineForm &update,
                           const Multiplier &multiplier, std::uint64_t seed,
                           std::uint64_t world) {
  FieldEvaluation point(seed);
  for (auto [i, state] : llvm::enumerate(step.before())) {
    point.bind(state, point.random(1000 * world + i));
  }
  return valueOf(update.slope, point) *
         valueOf(step, multiplier, true, point, seed) /
         valueOf(step, multiplier, false, point, seed);
}

static bool gainIsFreeOfStates(Step step, const AffineForm &update,
                               const Multiplier &multiplier) {
  return llvm::all_of(seeds, [&](std::uint64_t seed) {
    return gainAt(step, update, multiplier, seed, 1) ==
           gainAt(step, update, multiplier, seed, 2);
  });
}

static bool readsStates(Step step, Value value) {
  return llvm::any_of(step.before(),
                      [&](Value state) { return dependsOn(value, state); });
}

static bool readsStates(Step step, const Product &product) {
  auto reads = [&](Value value) { return readsStates(step, value); };
  return llvm::any_of(product.top, reads) ||
         llvm::any_of(product.bottom, reads);
}

// Candidates
// --------------------------------------------------------------------

static SmallVector<Multiplier> candidates(Step step, const AffineForm &update) {
  SmallVector<Multiplier> result;
  auto consider = [&](Value value) {
    for (bool atEnd : {true, false}) {
      SetVector<unsigned> states;
      if (collectStates(step, atEnd, value, states) && !states.empty() &&
          without(axesOf(value), axesOf(step.x())).empty()) {
        result.push_back({value, atEnd, false});
        result.push_back({value, atEnd, true});
      }
    }
  };
  for (const Product &term : update.slope) {
    llvm::for_each(term.bottom, consider);
    llvm::for_each(term.top, consider);
  }
  for (Value state : step.before()) {
    consider(state);
  }
  return result;
}

/// The axes along which the slope varies because of states.
static Axes axesOfSlope(Step step, const AffineForm &update) {
  Axes result;
  for (const Product &term : update.slope) {
    if (readsStates(step, term)) {
      result =
          unite(result, unite(axesOfAll(term.top), axesOfAll(term.bottom)));
    }
  }
  return result;
}

/// Names the gain: the slope itself with P cancelled, or 1, or a factor.
static bool nameGain(Step step, MultiplierChange &change) {
  auto equals = [&](Value gain) {
    return llvm::all_of(seeds, [&](std::uint64_t seed) {
      FieldEvaluation point(seed);
      FieldElement claimed = gain ? point.of(gain) : FieldElement{1};
      return claimed == gainAt(step, change.update, change.multiplier, seed, 1);
    });
  };
  if (equals(nullptr)) {
    return true;
  }
  for (const Product &term : change.update.slope) {
    for (Value factor : term.top) {
      if (!readsStates(step, factor) && equals(factor)) {
        change.gain = factor;
        return true;
      }
    }
  }
  change.gainIsSlope = change.update.slope.size() == 1;
  return change.gainIsSlope;
}

// Positivity
// --------------------------------------------------------------------

/// Proves a range of each state that `multiplier` reads, by induction over the
/// tokens, under the facts in `facts`; adds the ranges to it.
static bool boundStates(Step step, const Multiplier &multiplier,
                        Ranges &facts) {
  SetVector<unsigned> states;
  collectStates(step, multiplier.atEnd, multiplier.expression, states);
  for (unsigned state : states) {
    bool bounded = false;
    for (Range range : {Range::positive(), Range::nonNegative()}) {
      Ranges base = facts, induction = facts;
      induction.assume(step.before()[state], range);
      Value initial = step.scan.getInits()[state], next = step.after()[state];
      bounded = range.isPositive() ? isProvablyPositive(initial, base) &&
                                         isProvablyPositive(next, induction)
                                   : isProvablyNonNegative(initial, base) &&
                                         isProvablyNonNegative(next, induction);
      if (bounded) {
        facts.assume(multiplier.atEnd ? Value(next) : step.before()[state],
                     range);
        break;
      }
    }
    if (!bounded) {
      return false;
    }
  }
  return true;
}

static bool staysPositive(Step step, const Multiplier &multiplier,
                          Ranges facts) {
  return boundStates(step, multiplier, facts) &&
         isProvablyPositive(multiplier.expression, facts);
}

/// What the states' updates and initial values are made of.
static void collectLeaves(Value value, ScanOp scan, SetVector<Value> &leaves) {
  Operation *op = value.getDefiningOp();
  if (!op) {
    auto argument = cast<BlockArgument>(value);
    unsigned tokens = scan.getSequences().size();
    if (argument.getOwner() != scan.getStep()) {
      leaves.insert(value);
    } else if (argument.getArgNumber() < tokens) {
      leaves.insert(scan.getSequences()[argument.getArgNumber()]);
    } else {
      collectLeaves(scan.getInits()[argument.getArgNumber() - tokens], scan,
                    leaves);
    }
    return;
  }
  for (Value operand : op->getOperands()) {
    collectLeaves(operand, scan, leaves);
  }
}

/// The one fact that would complete the proof, or a general remark.
static std::string missingFact(Step step, const Multiplier &multiplier) {
  SetVector<unsigned> states;
  collectStates(step, multiplier.atEnd, multiplier.expression, states);
  SetVector<Value> leaves;
  collectLeaves(multiplier.expression, step.scan, leaves);
  for (unsigned state : states) {
    collectLeaves(step.after()[state], step.scan, leaves);
  }
  const std::string x = step.scan.getStateName(step.index);
  const std::pair<const char *, Range> facts[] = {
      {"nonNegative", Range::nonNegative()},
      {"positive", Range::positive()},
      {"nonPositive", Range::nonPositive()}};
  for (auto [word, range] : facts) {
    for (Value leaf : leaves) {
      Ranges assumed;
      assumed.assume(leaf, range);
      if (staysPositive(step, multiplier, assumed)) {
        return "declare " + nameOf(leaf) + " " + word + " to make " + x +
               " linear";
      }
    }
  }
  return "cannot prove that the factor which makes " + x +
         " linear stays positive; declare the signs of the inputs of its "
         "states";
}

// Searches
// ----------------------------------------------------------------------

std::optional<MultiplierChange> findMultiplier(ScanOp scan, unsigned index,
                                               Refusal &refusal) {
  Step step{scan, index};
  auto update = affineIn(step.x(), step.next());
  if (!update || update->slope.empty()) {
    return std::nullopt;
  }
  Axes slopeAxes = axesOfSlope(step, *update);
  if (slopeAxes.empty()) {
    return std::nullopt;
  }
  for (const Multiplier &multiplier : candidates(step, *update)) {
    MultiplierChange change{multiplier, *update, nullptr, false};
    if (!gainIsFreeOfStates(step, *update, multiplier) ||
        !nameGain(step, change)) {
      continue;
    }
    if (staysPositive(step, multiplier, Ranges())) {
      return change;
    }
    if (refusal.remark.empty()) {
      refusal.remark = missingFact(step, multiplier);
    }
  }
  if (refusal.remark.empty()) {
    refusal.remark = "state " + scan.getStateName(index) +
                     " decays by a factor that depends on other states, and no "
                     "change of variables removes it";
  }
  return std::nullopt;
}

/// x' - phi at x = X + phi, for one value of phi.
static FieldElement shifted(Step step, Value phi, std::uint64_t seed,
                            std::uint64_t world) {
  FieldEvaluation point(seed);
  FieldElement value = point.random(world);
  point.bind(phi, value);
  point.bind(step.x(), point.random(0) + value);
  return point.of(step.next()) - value;
}

/// `seen`: all values met, as there may be many paths to each.
static void collectConstants(Value value, ScanOp scan,
                             llvm::DenseSet<Value> &seen,
                             SetVector<Value> &constants) {
  if (!seen.insert(value).second) {
    return;
  }
  if (isTimeConstant(value, scan)) {
    constants.insert(value);
  } else if (Operation *op = value.getDefiningOp()) {
    for (Value operand : op->getOperands()) {
      collectConstants(operand, scan, seen, constants);
    }
  }
}

Value findShift(ScanOp scan, unsigned index) {
  Step step{scan, index};
  if (!dependsOn(step.next(), step.x()) || step.next() == step.x()) {
    return nullptr;
  }
  SetVector<Value> constants;
  llvm::DenseSet<Value> seen;
  collectConstants(step.next(), scan, seen, constants);
  for (Value phi : constants) {
    if (!constantOf(phi) && without(axesOf(phi), axesOf(step.x())).empty() &&
        llvm::all_of(seeds, [&](std::uint64_t seed) {
          return shifted(step, phi, seed, 1) == shifted(step, phi, seed, 2);
        })) {
      return phi;
    }
  }
  return nullptr;
}

} // namespace recurra
