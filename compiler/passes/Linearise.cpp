// linearise: changes of variables that make states linear. A state x whose
// decay depends on other states becomes X = P x; a state that relaxes towards a
// time-constant phi becomes X = x - phi. Initial and final states are converted
// by ordinary ops outside the scan, so gradients follow by themselves.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/algebra/ChangeOfVariables.h"
#include "compiler/algebra/Rebuild.h"
#include "compiler/passes/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace recurra::rec;

namespace recurra {
#define GEN_PASS_DEF_LINEARISE
#include "compiler/passes/Passes.h.inc"

namespace {

/// A scan that replaces another, state `index` being a new variable X.
struct NewScan {
  NewScan(OpBuilder &builder, ScanOp old, unsigned index, Value initial,
          const std::string &name);

  /// X at the start of the token.
  BlockArgument variable() { return scan.getStates()[index]; }
  /// Yields copies of what the old scan yielded, but `next` for X.
  void finish(Rebuild &copies, Value next);
  /// Puts the new scan in the old one's place; the state ends as `last`.
  ScanOp replaceOld(Value last);

  ScanOp old, scan;
  unsigned index;
  OpBuilder body;
};

} // namespace

NewScan::NewScan(OpBuilder &builder, ScanOp old, unsigned index, Value initial,
                 const std::string &name)
    : old(old), index(index), body(builder.getContext()) {
  SmallVector<Value> inits(old.getInits());
  inits[index] = initial;
  SmallVector<Type> emitted(old.getEmitted().getTypes());
  scan = ScanOp::create(builder, old.getLoc(), old.getReverse(),
                        old.getSequences(), inits, emitted);
  SmallVector<Attribute> names;
  for (unsigned i = 0; i < inits.size(); ++i) {
    names.push_back(
        builder.getStringAttr(i == index ? name : old.getStateName(i)));
  }
  scan->setDiscardableAttrs(old->getDiscardableAttrDictionary());
  scan->setAttr(carriesAttr, builder.getArrayAttr(names));
  for (auto [argument, copy] : llvm::zip(old.getStep()->getArguments(),
                                         scan.getStep()->getArguments())) {
    copy.setLoc(argument.getLoc());
  }
  variable().setLoc(NameLoc::get(builder.getStringAttr(name),
                                 old.getStates()[index].getLoc()));
  body.setInsertionPointToEnd(scan.getStep());
}

/// Maps tokens and the other states to their copies.
static void mapArguments(Rebuild &copies, NewScan &scan) {
  for (auto [argument, copy] : llvm::zip(scan.old.getStep()->getArguments(),
                                         scan.scan.getStep()->getArguments())) {
    if (copy != scan.variable()) {
      copies.map(argument, copy);
    }
  }
}

void NewScan::finish(Rebuild &copies, Value next) {
  YieldOp yield = old.getYield();
  SmallVector<Value> carried, emitted;
  for (auto [i, value] : llvm::enumerate(yield.getCarried())) {
    carried.push_back(i == index ? next : copies.get(value));
  }
  for (Value value : yield.getEmitted()) {
    emitted.push_back(copies.get(value));
  }
  YieldOp::create(body, yield.getLoc(), carried, emitted);
}

ScanOp NewScan::replaceOld(Value last) {
  SmallVector<Value> results(scan.getResults());
  results[old.getEmitted().size() + index] = last;
  old.replaceAllUsesWith(results);
  old.erase();
  return scan;
}

/// `value`, broadcast to the axes of a state where it lacks some.
static Value widened(OpBuilder &builder, Value value, Value state) {
  return fitAxes(builder, value.getLoc(), value, axesOf(state));
}

/// P where the states at its end of the token are `states`.
static Product factorAt(const Multiplier &multiplier, ScanOp scan,
                        Rebuild &copies, ValueRange states) {
  if (multiplier.atEnd) {
    copies.map(scan.getYield().getCarried(), states);
  } else {
    copies.map(ValueRange(scan.getStates()), states);
  }
  Product result = factorsOf(copies.get(multiplier.expression));
  return multiplier.inverted ? result.inverse() : result;
}

static Value times(Rebuild &copies, Value value, Product factor) {
  return copies.emit(factorsOf(value) *= factor);
}

/// Rewrites state `index` to X = P x.
static ScanOp multiply(ScanOp old, unsigned index,
                       const MultiplierChange &change) {
  OpBuilder builder(old);
  const Multiplier &multiplier = change.multiplier;
  Rebuild outside(builder, old);
  Product first = factorAt(multiplier, old, outside, old.getInits());
  Value state = old.getStates()[index];
  Value initial =
      widened(builder, times(outside, old.getInits()[index], first), state);
  NewScan scan(builder, old, index, initial,
               old.getStateName(index) + "_scaled");

  Rebuild copies(scan.body, old), start(scan.body, old), end(scan.body, old);
  mapArguments(copies, scan);
  Product before =
      factorAt(multiplier, old, start, ValueRange(scan.scan.getStates()));
  copies.map(state, times(copies, scan.variable(), before.inverse()));
  SmallVector<Value> ends;
  for (auto [i, value] : llvm::enumerate(old.getYield().getCarried())) {
    // P does not read X: its own place is filled to keep the lists parallel.
    ends.push_back(i == index ? scan.variable() : copies.get(value));
  }
  Product after = factorAt(multiplier, old, end, ends);

  SmallVector<Product> terms;
  Product gain;
  if (change.gain) {
    gain = factorsOf(copies.get(change.gain));
  } else if (change.gainIsSlope) {
    gain = copies.get(change.update.slope.front());
    gain *= after;
    gain *= before.inverse();
  }
  terms.push_back(gain *= factorsOf(scan.variable()));
  for (const Product &offset : change.update.offset) {
    terms.push_back(copies.get(offset) *= after);
  }
  Value next = widened(scan.body, copies.emit(terms), state);
  copies.map(old.getYield().getCarried()[index],
             times(copies, next, after.inverse()));
  scan.finish(copies, next);

  builder.setInsertionPointAfter(scan.scan);
  Rebuild behind(builder, old);
  Product last = factorAt(multiplier, old, behind, scan.scan.getLast());
  return scan.replaceOld(widened(
      builder, times(behind, scan.scan.getLast()[index], last.inverse()),
      state));
}

/// value - phi; zero where the value is phi, broadcast.
static Value less(OpBuilder &builder, Value value, Value phi) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (value == phi || (broadcast && broadcast.getOperand() == phi)) {
    return ConstOp::create(builder, value.getLoc(), value.getType(),
                           builder.getF64FloatAttr(0));
  }
  return SubOp::create(builder, value.getLoc(), value, phi);
}

/// Rewrites state `index` to X = x - phi. The new update is free of phi, so it
/// is the old one with 0 for phi.
static ScanOp shift(ScanOp old, unsigned index, Value phi) {
  OpBuilder builder(old);
  Location loc = old.getLoc();
  Value initial = less(builder, old.getInits()[index], phi);
  NewScan scan(builder, old, index, initial,
               old.getStateName(index) + "_shifted");
  Value state = old.getStates()[index];

  Rebuild updates(scan.body, old);
  mapArguments(updates, scan);
  updates.map(state, scan.variable());
  Value zero = ConstOp::create(scan.body, loc, phi.getType(),
                               builder.getF64FloatAttr(0));
  updates.map(phi, zero);
  Value updated = old.getYield().getCarried()[index];
  Value next = updates.get(updated);

  Rebuild copies(scan.body, old);
  mapArguments(copies, scan);
  copies.map(state, AddOp::create(scan.body, loc, scan.variable(), phi));
  copies.map(updated, AddOp::create(scan.body, loc, next, phi));
  scan.finish(copies, next);

  builder.setInsertionPointAfter(scan.scan);
  return scan.replaceOld(
      AddOp::create(builder, loc, scan.scan.getLast()[index], phi));
}

namespace {

struct Linearise : impl::LineariseBase<Linearise> {
  void runOnOperation() override {
    SmallVector<ScanOp> scans;
    getOperation()->walk([&](ScanOp scan) { scans.push_back(scan); });
    for (ScanOp scan : scans) {
      rewrite(scan);
    }
  }

  /// Changes one state after another; each change replaces the scan.
  static void rewrite(ScanOp scan) {
    for (unsigned index = 0; index < scan.getInits().size(); ++index) {
      Refusal refusal;
      auto change = findMultiplier(scan, index, refusal);
      if (change) {
        emitRemark(scan.getYield().getCarried()[index].getLoc())
            << "state '" << scan.getStateName(index)
            << "' is made linear by a factor that its decay contains";
        scan = multiply(scan, index, *change);
      } else if (!refusal.remark.empty()) {
        emitRemark(scan.getYield().getCarried()[index].getLoc())
            << refusal.remark;
      }
    }
    for (unsigned index = 0; index < scan.getInits().size(); ++index) {
      if (Value phi = findShift(scan, index)) {
        emitRemark(scan.getYield().getCarried()[index].getLoc())
            << "state '" << scan.getStateName(index) << "' is kept less '"
            << nameOf(phi) << "', towards which it relaxes";
        scan = shift(scan, index, phi);
      }
    }
  }
};

} // namespace
} // namespace recurra
