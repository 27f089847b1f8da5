// Reverse mode through a scan: the states of the forward scan become a trace,
// the step runs backwards in a reverse scan.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/DeriveBackwardScan.h"

#include "llvm/ADT/BitVector.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace recurra;
using namespace recurra::rec;

namespace {

using Values = llvm::DenseSet<Value>;

/// The adjoint of one scan, in three steps: emit the states of the forward scan
/// (the trace), run its step backwards in a reverse scan, hand on the results.
class ScanAdjoint {
public:
  ScanAdjoint(ScanOp scan, const Activity &activity, Cotangents &outer,
              OpBuilder &builder)
      : scan(scan), activity(activity), outer(outer), builder(builder) {}

  void run() {
    findUseful();
    emitTrace();
    createReverse();
    fillReverse();
    chooseTraces();
    handOn();
  }

private:
  bool isActive(Value value) const { return activity.contains(value); }

  void findUseful();
  bool markUseful(Value value);
  void emitTrace();
  void createReverse();
  void fillReverse();
  void dropNames(ArrayRef<Operation *> clones);
  void seed(Cotangents &inner, const IRMapping &mapping);
  void yieldReverse(Cotangents &inner, const IRMapping &mapping);
  void chooseTraces();
  Values reachedFromYield(const llvm::BitVector &cut);
  void handOn();

  /// Whether state i gets a cotangent that is carried backwards.
  bool carriesCotangent(unsigned i) {
    Value state = scan.getStates()[i];
    return useful.contains(state) && isActive(state);
  }

  ScanOp scan;
  const Activity &activity;
  Cotangents &outer;
  OpBuilder &builder;

  Values useful; ///< inside the step: a cotangent may reach them
  SmallVector<Value> oldTraces, newTraces; ///< sequences
  SmallVector<unsigned> carried;           ///< states with a cotangent
  SmallVector<unsigned> tokens;            ///< sequences with a gradient
  SmallVector<Value> emittedCotangents;    ///< one per emitted; may be null
  SmallVector<Value> parameters;           ///< active values from outside
  ScanOp reverse;
  SmallVector<Value> oldArguments, newArguments; ///< of the traces, in reverse
  SmallVector<Value> recomputed; ///< the clones of the new states
};

bool ScanAdjoint::markUseful(Value value) {
  if (!useful.insert(value).second) {
    return false;
  }
  Operation *op = value.getDefiningOp();
  if (op && op->getBlock() == scan.getStep() && isa<AdjointOpInterface>(op)) {
    for (Value operand : op->getOperands()) {
      markUseful(operand);
    }
  }
  return true;
}

void ScanAdjoint::findUseful() {
  YieldOp yield = scan.getYield();
  for (auto [value, result] :
       llvm::zip(yield.getEmitted(), scan.getEmitted())) {
    emittedCotangents.push_back(outer.find(result));
    if (emittedCotangents.back()) {
      markUseful(value);
    }
  }
  for (auto [value, last] : llvm::zip(yield.getCarried(), scan.getLast())) {
    if (outer.find(last)) {
      markUseful(value);
    }
  }
  bool changed = true;
  while (changed) {
    changed = false;
    for (auto [value, state, last] :
         llvm::zip(yield.getCarried(), scan.getStates(), scan.getLast())) {
      if (outer.find(last)) {
        useful.insert(state);
      }
      if (useful.contains(state)) {
        changed |= markUseful(value);
      }
    }
  }
}

/// Every state as it was before and behind each token; what is not used in the
/// end, canonicalization drops.
void ScanAdjoint::emitTrace() {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(scan);
  YieldOp yield = scan.getYield();
  SmallVector<Value> emitted(yield.getEmitted());
  llvm::append_range(emitted, scan.getStates());
  llvm::append_range(emitted, yield.getCarried());
  auto traced = ScanOp::create(builder, scan.getLoc(), scan.getReverse(),
                               scan.getSequences(), scan.getInits(),
                               ValueRange(emitted).getTypes());
  traced->setDiscardableAttrs(scan->getDiscardableAttrDictionary());
  IRMapping mapping;
  for (auto [from, to] : llvm::zip(scan.getStep()->getArguments(),
                                   traced.getStep()->getArguments())) {
    mapping.map(from, to);
    to.setLoc(from.getLoc());
  }
  builder.setInsertionPointToStart(traced.getStep());
  for (Operation &op : scan.getStep()->without_terminator()) {
    builder.clone(op, mapping);
  }
  auto mapped = [&](ValueRange values) {
    return llvm::map_to_vector(
        values, [&](Value v) { return mapping.lookupOrDefault(v); });
  };
  YieldOp::create(builder, yield.getLoc(), mapped(yield.getCarried()),
                  mapped(emitted));
  for (auto [from, to] : llvm::zip(scan.getLast(), traced.getLast())) {
    from.replaceAllUsesWith(to);
  }
  size_t outputs = scan.getEmitted().size(), states = scan.getInits().size();
  for (size_t i = 0; i < outputs; ++i) {
    scan.getEmitted()[i].replaceAllUsesWith(traced.getEmitted()[i]);
  }
  llvm::append_range(oldTraces, traced.getEmitted().slice(outputs, states));
  llvm::append_range(newTraces, traced.getEmitted().take_back(states));
}

void ScanAdjoint::createReverse() {
  SmallVector<Value> sequences(scan.getSequences()), inits;
  llvm::append_range(sequences, oldTraces);
  llvm::append_range(sequences, newTraces);
  for (Value cotangent : emittedCotangents) {
    if (cotangent) {
      sequences.push_back(cotangent);
    }
  }
  for (unsigned i = 0; i < scan.getInits().size(); ++i) {
    if (carriesCotangent(i)) {
      carried.push_back(i);
      inits.push_back(outer.findOrZero(scan.getLast()[i]));
    }
  }
  Values seen;
  for (Operation &op : *scan.getStep()) {
    for (Value operand : op.getOperands()) {
      if (operand.getParentBlock() != scan.getStep() && isActive(operand) &&
          useful.contains(operand) && seen.insert(operand).second) {
        parameters.push_back(operand);
        inits.push_back(outer.zero(operand));
      }
    }
  }
  SmallVector<Type> emitted;
  for (auto [i, token] : llvm::enumerate(scan.getTokens())) {
    if (isActive(token)) {
      tokens.push_back(i);
      emitted.push_back(token.getType());
    }
  }
  reverse = ScanOp::create(builder, scan.getLoc(), !scan.getReverse(),
                           sequences, inits, emitted);
}

/// The clone of the step, then the adjoints of its ops, last op first.
void ScanAdjoint::fillReverse() {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(reverse.getStep());
  IRMapping mapping;
  MutableArrayRef<BlockArgument> arguments = reverse.getTokens();
  size_t inputs = scan.getTokens().size(), states = scan.getStates().size();
  mapping.map(ValueRange(scan.getTokens()),
              ValueRange(arguments.take_front(inputs)));
  llvm::append_range(oldArguments, arguments.slice(inputs, states));
  llvm::append_range(newArguments, arguments.slice(inputs + states, states));
  mapping.map(ValueRange(scan.getStates()), ValueRange(oldArguments));
  for (auto [from, to] : llvm::zip(scan.getTokens(), arguments)) {
    to.setLoc(from.getLoc());
  }
  Values active;
  auto note = [&](Value from, Value to) {
    if (isActive(from)) {
      active.insert(to);
    }
  };
  for (Value argument : scan.getStep()->getArguments()) {
    note(argument, mapping.lookup(argument));
  }
  SmallVector<Operation *> clones;
  for (Operation &op : scan.getStep()->without_terminator()) {
    if (isa<InvariantOp>(op)) {
      continue;
    }
    clones.push_back(builder.clone(op, mapping));
    note(op.getResult(0), clones.back()->getResult(0));
  }
  Cotangents inner(builder);
  seed(inner, mapping);
  for (Operation *op : llvm::reverse(clones)) {
    inner.sweep(op, [&](Value v) { return active.contains(v) || isActive(v); });
  }
  dropNames(clones);
  yieldReverse(inner, mapping);
}

/// An adjoint is not the value at whose place in the text it stands.
void ScanAdjoint::dropNames(ArrayRef<Operation *> clones) {
  llvm::DenseSet<Operation *> primal(clones.begin(), clones.end());
  for (Operation &op : *reverse.getStep()) {
    auto named = dyn_cast<NameLoc>(op.getLoc());
    if (named && !primal.contains(&op)) {
      op.setLoc(named.getChildLoc());
    }
  }
}

/// Calls a value d of another one, for printing.
static void nameAdjoint(Value value, Value of) {
  auto name = dyn_cast<NameLoc>(of.getLoc());
  Operation *op = value.getDefiningOp();
  if (name && op && !isa<ConstOp>(op)) {
    op->setLoc(NameLoc::get(
        StringAttr::get(op->getContext(), "d" + name.getName().str()),
        op->getLoc()));
  }
}

void ScanAdjoint::seed(Cotangents &inner, const IRMapping &mapping) {
  YieldOp yield = scan.getYield();
  for (Value next : yield.getCarried()) {
    recomputed.push_back(mapping.lookupOrDefault(next));
  }
  MutableArrayRef<BlockArgument> cotangents = reverse.getTokens().drop_front(
      scan.getTokens().size() + 2 * scan.getStates().size());
  for (auto [value, cotangent] :
       llvm::zip(yield.getEmitted(), emittedCotangents)) {
    if (cotangent) {
      if (auto name = dyn_cast<NameLoc>(cotangent.getLoc())) {
        cotangents.front().setLoc(
            NameLoc::get(builder.getStringAttr(name.getName().str() + "_t")));
      }
      if (isActive(value)) {
        inner.add(mapping.lookupOrDefault(value), cotangents.front());
      }
      cotangents = cotangents.drop_front();
    }
  }
  for (auto [state, argument] : llvm::zip(carried, reverse.getStates())) {
    argument.setLoc(
        NameLoc::get(builder.getStringAttr("d" + scan.getStateName(state))));
    if (isActive(yield.getCarried()[state])) {
      inner.add(recomputed[state], argument);
    }
  }
}

void ScanAdjoint::yieldReverse(Cotangents &inner, const IRMapping &mapping) {
  SmallVector<Value> next, emitted;
  for (unsigned state : carried) {
    next.push_back(inner.findOrZero(oldArguments[state]));
  }
  for (auto [parameter, sum] :
       llvm::zip(parameters, reverse.getStates().drop_front(carried.size()))) {
    Value term = inner.find(parameter);
    if (auto name = dyn_cast<NameLoc>(parameter.getLoc())) {
      sum.setLoc(
          NameLoc::get(builder.getStringAttr("d" + name.getName().str())));
    }
    next.push_back(term
                       ? Value(AddOp::create(builder, term.getLoc(), sum, term))
                       : Value(sum));
  }
  for (unsigned i : tokens) {
    Value token = mapping.lookup(scan.getTokens()[i]);
    emitted.push_back(inner.findOrZero(token));
    nameAdjoint(emitted.back(), token);
  }
  YieldOp::create(builder, scan.getLoc(), next, emitted);
}

/// What the reverse step needs, if it reads rather than recomputes the new
/// versions of the states in `cut`.
Values ScanAdjoint::reachedFromYield(const llvm::BitVector &cut) {
  Values stops, reached;
  for (unsigned i : cut.set_bits()) {
    stops.insert(recomputed[i]);
  }
  SmallVector<Value> work(reverse.getYield()->getOperands());
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (stops.contains(value) || !reached.insert(value).second) {
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (op && op->getBlock() == reverse.getStep()) {
      llvm::append_range(work, op->getOperands());
    }
  }
  return reached;
}

/// An old version that only serves to recompute the new one gives way to it.
void ScanAdjoint::chooseTraces() {
  llvm::BitVector cut(recomputed.size());
  for (auto [i, value] : llvm::enumerate(recomputed)) {
    Operation *op = value.getDefiningOp();
    cut[i] = op && op->getBlock() == reverse.getStep();
  }
  for (bool changed = true; changed;) {
    changed = false;
    Values reached = reachedFromYield(cut);
    for (unsigned i : cut.set_bits()) {
      if (reached.contains(oldArguments[i])) {
        cut.reset(i);
        changed = true;
      }
    }
  }
  for (unsigned i : cut.set_bits()) {
    recomputed[i].replaceAllUsesWith(newArguments[i]);
  }
  for (unsigned i = 0; i < recomputed.size(); ++i) {
    std::string name = scan.getStateName(i);
    oldArguments[i].setLoc(NameLoc::get(builder.getStringAttr(name)));
    newArguments[i].setLoc(NameLoc::get(builder.getStringAttr(name + "1")));
  }
}

void ScanAdjoint::handOn() {
  for (auto [token, gradient] : llvm::zip(tokens, reverse.getEmitted())) {
    outer.add(scan.getSequences()[token], gradient);
  }
  ValueRange last = reverse.getLast();
  for (auto [state, gradient] : llvm::zip(carried, last)) {
    if (isActive(scan.getInits()[state])) {
      outer.add(scan.getInits()[state], gradient);
    }
  }
  for (auto [parameter, gradient] :
       llvm::zip(parameters, last.drop_front(carried.size()))) {
    outer.add(parameter, gradient);
  }
}

} // namespace

void recurra::differentiateScan(ScanOp scan, const Activity &activity,
                                Cotangents &outer, OpBuilder &builder) {
  ScanAdjoint(scan, activity, outer, builder).run();
}
