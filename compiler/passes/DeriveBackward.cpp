// derive-backward: reverse mode on `rec`. Each op adds through its own rule;
// the rule of the scan is here. See Passes.td for the IR before and after.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/Passes.h"
#include "compiler/rec/Rec.h"
#include "llvm/ADT/DenseSet.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"

namespace recurra {
#define GEN_PASS_DEF_DERIVEBACKWARD
#include "compiler/passes/Passes.h.inc"
} // namespace recurra

using namespace mlir;
using namespace recurra::rec;

namespace {

using Values = llvm::DenseSet<Value>;

/// The values that depend, differentiably, on an argument whose gradient is
/// wanted; those inside scans too.
class Activity {
public:
  explicit Activity(func::FuncOp function) {
    for (BlockArgument argument : function.getArguments()) {
      if (function.getArgAttr(argument.getArgNumber(), gradientAttr)) {
        active.insert(argument);
      }
    }
    for (Operation &op : function.front()) {
      visit(&op);
    }
  }

  bool contains(Value value) const { return active.contains(value); }

private:
  bool any(ValueRange values) const {
    return llvm::any_of(values, [&](Value v) { return contains(v); });
  }

  void visit(Operation *op) {
    if (auto scan = dyn_cast<ScanOp>(op)) {
      visitScan(scan);
    } else if (isa<AdjointOpInterface>(op) && any(op->getOperands())) {
      active.insert(op->getResult(0));
    }
  }

  /// A state is active if its start or, in some later step, its update is.
  void visitScan(ScanOp scan) {
    propagate(scan.getSequences(), scan.getTokens());
    propagate(scan.getInits(), scan.getStates());
    do {
      for (Operation &op : scan.getStep()->without_terminator()) {
        visit(&op);
      }
    } while (propagate(scan.getYield().getCarried(), scan.getStates()));
    propagate(scan.getStates(), scan.getLast());
    propagate(scan.getYield().getEmitted(), scan.getEmitted());
  }

  template <typename From, typename To>
  bool propagate(From &&from, To &&to) {
    bool changed = false;
    for (auto [source, target] : llvm::zip(from, to)) {
      if (contains(source)) {
        changed |= active.insert(target).second;
      }
    }
    return changed;
  }

  Values active;
};

/// Cotangents gathered so far, for values at one level of nesting.
class Cotangents {
public:
  explicit Cotangents(OpBuilder &builder) : builder(builder) {}

  /// Adds `term`, fitted to the axes of `value`.
  void add(Value value, Value term) {
    if (isa<ValType>(term.getType())) {
      term = fitAxes(builder, term.getLoc(), term, axesOf(value));
    }
    Value &sum = sums[value];
    sum = sum ? Value(AddOp::create(builder, term.getLoc(), sum, term)) : term;
  }

  Value find(Value value) const { return sums.lookup(value); }

  Value findOrZero(Value value) {
    Value sum = find(value);
    return sum ? sum : zero(value);
  }

  Value zero(Value like) {
    return ConstOp::create(builder, like.getLoc(),
                           ValType::get(like.getContext(), axesOf(like)),
                           builder.getF64FloatAttr(0));
  }

  /// Runs the rule of one op, if its result has a cotangent.
  void sweep(Operation *op, llvm::function_ref<bool(Value)> active) {
    auto rule = dyn_cast<AdjointOpInterface>(op);
    Value cotangent = rule ? find(op->getResult(0)) : nullptr;
    if (!cotangent) {
      return;
    }
    rule.adjoint(builder, cotangent, [&](OpOperand &operand, Value term) {
      if (active(operand.get())) {
        add(operand.get(), term);
      }
    });
  }

private:
  OpBuilder &builder;
  llvm::DenseMap<Value, Value> sums;
};

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

/// The function's only scan, reading every sequence whose gradient is wanted
/// (so that one without influence gets zeros); null after an error.
ScanOp prepareScan(func::FuncOp function) {
  auto scans = llvm::to_vector(function.front().getOps<ScanOp>());
  if (scans.size() != 1) {
    function.emitError() << "derive-backward wants one scan, this function has "
                         << scans.size();
    return nullptr;
  }
  ScanOp scan = scans[0];
  Values read;
  for (Value sequence : scan.getSequences()) {
    if (!read.insert(sequence).second) {
      scan.emitError("derive-backward wants each sequence read once; "
                     "canonicalize first");
      return nullptr;
    }
  }
  for (BlockArgument argument : function.getArguments()) {
    if (isa<SeqType>(argument.getType()) && !read.contains(argument) &&
        function.getArgAttr(argument.getArgNumber(), gradientAttr)) {
      auto type = ValType::get(function.getContext(), axesOf(argument));
      scan.getStep()->insertArgument(scan.getSequences().size(), type,
                                     argument.getLoc());
      scan.getSequencesMutable().append(argument);
    }
  }
  return scan;
}

/// One argument per result of the forward function: its cotangent.
void addCotangentArguments(func::FuncOp function, Cotangents &cotangents) {
  MLIRContext *context = function.getContext();
  Operation *ret = function.front().getTerminator();
  for (auto [i, value] : llvm::enumerate(ret->getOperands())) {
    NamedAttrList attributes(function.getResultAttrDict(i));
    auto kind = dyn_cast_if_present<StringAttr>(attributes.get(kindAttr));
    bool state = kind ? kind == "finalState" : isa<ValType>(value.getType());
    attributes.set(kindAttr,
                   StringAttr::get(context, state ? "finalStateCotangent"
                                                  : "outputCotangent"));
    auto name = dyn_cast_if_present<StringAttr>(attributes.get(nameAttr));
    Location loc = NameLoc::get(StringAttr::get(
        context, "d" + (name ? name.str() : "r" + std::to_string(i))));
    unsigned position = function.getNumArguments();
    if (failed(function.insertArgument(position, value.getType(),
                                       attributes.getDictionary(context),
                                       loc))) {
      return;
    }
    cotangents.add(value, function.getArgument(position));
  }
}

/// The instances over which the gradient of an argument is added up.
StringRef reductionOf(bool token, bool state, StringRef share) {
  if (state) {
    return "";
  }
  if (token) {
    return share == "group" ? "group" : share == "all" ? "heads" : "";
  }
  return share == "group" ? "batchGroup" : share == "all" ? "all" : "batch";
}

/// Attributes of the gradient of argument `i`.
DictionaryAttr gradientAttributes(func::FuncOp function, unsigned i) {
  MLIRContext *context = function.getContext();
  auto text = [&](StringRef name) {
    auto value = function.getArgAttrOfType<StringAttr>(i, name);
    return value ? value.getValue() : StringRef();
  };
  bool state = text(kindAttr) == "initialState";
  NamedAttrList attributes;
  attributes.set(kindAttr,
                 StringAttr::get(context, state ? "initialStateGradient"
                                                : "inputGradient"));
  for (StringRef same : {StringRef(nameAttr), StringRef(shareAttr),
                         StringRef(layoutAttr), StringRef(dtypeAttr)}) {
    if (Attribute value = function.getArgAttr(i, same)) {
      attributes.set(same, value);
    }
  }
  bool token = isa<SeqType>(function.getArgument(i).getType());
  if (StringRef reduce = reductionOf(token, state, text(shareAttr));
      !reduce.empty()) {
    attributes.set(reduceAttr, StringAttr::get(context, reduce));
  }
  return attributes.getDictionary(context);
}

/// Returns the wanted gradients instead of the forward's results.
void returnGradients(func::FuncOp function, Cotangents &cotangents) {
  SmallVector<Value> gradients;
  SmallVector<DictionaryAttr> attributes;
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    if (function.getArgAttr(i, gradientAttr)) {
      gradients.push_back(cotangents.findOrZero(argument));
      attributes.push_back(gradientAttributes(function, i));
    }
  }
  function.front().getTerminator()->setOperands(gradients);
  function.setType(FunctionType::get(function.getContext(),
                                     function.getArgumentTypes(),
                                     ValueRange(gradients).getTypes()));
  function.setAllResultAttrs(attributes);
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    function.removeArgAttr(i, gradientAttr);
  }
  function.setName((function.getName() + "_backward").str());
}

struct DeriveBackward : recurra::impl::DeriveBackwardBase<DeriveBackward> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    bool wanted = false;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      wanted |= static_cast<bool>(function.getArgAttr(i, gradientAttr));
    }
    if (!wanted) {
      return;
    }
    ScanOp scan = prepareScan(function);
    if (!scan) {
      return signalPassFailure();
    }
    derive(function, scan);
  }

  static void derive(func::FuncOp function, ScanOp scan) {
    Activity activity(function);
    OpBuilder builder(function.front().getTerminator());
    Cotangents cotangents(builder);
    SmallVector<Operation *> ops;
    for (Operation &op : function.front().without_terminator()) {
      ops.push_back(&op);
    }
    addCotangentArguments(function, cotangents);
    for (Operation *op : llvm::reverse(ops)) {
      if (op == scan) {
        ScanAdjoint(scan, activity, cotangents, builder).run();
      } else {
        cotangents.sweep(op, [&](Value v) { return activity.contains(v); });
      }
    }
    returnGradients(function, cotangents);
    scan.erase();
    function.walk([](DetachOp op) {
      op.replaceAllUsesWith(op.getOperand());
      op.erase();
    });
  }
};

} // namespace
