// The walk form: a loop over a sequence's tokens in runs of `interval`, states
// saved at their starts; backward, each run is recomputed and walked back.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/RecToChunk.h"

#include "compiler/passes/RecToChunkSums.h"
#include "compiler/rec/Rec.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace recurra;
using namespace recurra::chunk;

namespace {

class Walk {
public:
  Walk(func::FuncOp function, const Spec &spec, const Plan &plan)
      : function(function), spec(spec), plan(plan), tiling(function, plan.axis),
        boundary(function, spec, plan), builder(function.getContext()),
        step(builder, spec, plan, tiling) {}

  FailureOr<func::FuncOp> lower();

private:
  LogicalResult findScans();
  void emitTask();

  // Memory.
  Value load(const Port &port, Type type, Value token);
  void store(Value tile, Value buffer, Value token, Part part, Location loc);
  void storeResult(unsigned i, Value tile, Value token);
  BufferType workspaceType(const Port &port, Part part);
  Value loadCheckpoint(unsigned state);
  void loadParameters();

  // Loops.
  SmallVector<Value> emitRuns();
  SmallVector<Value> emitRun(ValueRange carries);
  void saveStates(ValueRange carries);
  void emitTrace();
  void emitWholeTrace();
  void emitTokens(rec::ScanOp scan, ValueRange inits,
                  llvm::function_ref<void(Value token)> emitStores,
                  SmallVectorImpl<Value> &results);
  Value tokenOf(Value sequence, Value token);
  void storeTokens(rec::ScanOp scan, Value token);
  ForOp openLoop(Location loc, std::int64_t step, Value parent, bool reverse,
                 ValueRange inits);
  void closeLoop(ForOp loop, ValueRange values);
  Part partOfState(rec::ScanOp scan, unsigned i) {
    return tiling.of(scan.getStates()[i]);
  }

  func::FuncOp function;
  const Spec &spec;
  const Plan &plan;
  PlanTiling tiling;
  Boundary boundary;
  OpBuilder builder;
  StepEmitter step;
  func::FuncOp result;
  rec::ScanOp trace, main; ///< either may be null
  Value sequence, head, run;
  llvm::DenseMap<Value, Value> holds; ///< emitted by the trace -> scratch
  SmallVector<PartialResult> partials;
};

/// One scan, or a forward one (the trace) and the one that reads it.
LogicalResult Walk::findScans() {
  SmallVector<rec::ScanOp> scans(function.getOps<rec::ScanOp>());
  if (scans.size() > 2 || (scans.size() == 2 &&
                           (scans[0].getReverse() || !scans[1].getReverse()))) {
    return function.emitError("the walk form takes one scan, or a forward "
                              "one and a reverse one that reads it");
  }
  if (scans.size() == 2) {
    trace = scans.front();
  }
  if (!scans.empty()) {
    main = scans.back();
  }
  // What the forward saves is what the backward starts from.
  rec::ScanOp saved = trace ? trace : main;
  bool saves =
      trace || (saved && !saved.getReverse() &&
                spec.direction == Direction::Forward && spec.saveCheckpoints);
  for (unsigned i = 0; saves && i < saved.getInits().size(); ++i) {
    if (!boundary.findCheckpoint(saved.getStateName(i))) {
      return saved.emitError() << "state '" << saved.getStateName(i)
                               << "' is not among the plan's saved states";
    }
  }
  return success();
}

FailureOr<func::FuncOp> Walk::lower() {
  if (plan.tile != 0 && !tiling.isLegal()) {
    return function.emitError()
           << "axis '" << plan.axis << "' is not free; leave it whole";
  }
  if (failed(findScans())) {
    return failure();
  }
  result = boundary.createFunction(function, spec, plan);
  SmallVector<NamedAttribute> extents;
  for (auto &[axis, size] : spec.extents) {
    bool renamed = axis == "T" || axis == "U" || axis == "N" || axis == "H";
    extents.push_back(builder.getNamedAttr(axis + (renamed ? "_" : ""),
                                           builder.getI64IntegerAttr(size)));
  }
  result->setAttr("chunk.extents", builder.getDictionaryAttr(extents));
  result->setAttr("chunk.plan", builder.getStringAttr(toText(plan)));
  builder.setInsertionPointToEnd(&result.front());
  auto ret = func::ReturnOp::create(builder, function.getLoc());
  builder.setInsertionPoint(ret);
  emitTask();
  builder.setInsertionPoint(ret);
  emitSums(step, spec, plan, partials);
  function.erase();
  return result;
}

/// The nest that walks: one task per sequence, head and tile.
void Walk::emitTask() {
  SmallVector<StringRef> axes{"N", "H"};
  SmallVector<int64_t> steps{1, 1};
  if (plan.tile != 0) {
    axes.push_back(plan.axis);
    steps.push_back(plan.tile);
  }
  auto forall = ForallOp::create(builder, function.getLoc(), axes, steps,
                                 SmallVector<Value>(axes.size()));
  if (!plan.axis.empty()) {
    forall->setAttr("schedule",
                    builder.getDictionaryAttr(builder.getNamedAttr(
                        "cpu.lanes", builder.getStringAttr(plan.axis))));
  }
  sequence = forall.getSpan(0);
  head = forall.getSpan(1);
  step.tileSpan = plan.tile != 0 ? forall.getSpan(2) : Value();
  builder.setInsertionPoint(forall.getBlock().getTerminator());
  loadParameters();
  for (rec::ScanOp scan : {trace, main}) {
    if (scan) {
      step.emitCaptures(*scan.getStep());
    }
  }
  if (trace && llvm::any_of(trace.getLast(),
                            [](Value last) { return !last.use_empty(); })) {
    emitWholeTrace();
  }
  SmallVector<Value> last = emitRuns();
  if (main) {
    for (auto [value, tile] : llvm::zip(main.getLast(), last)) {
      step.bind(value, tile);
    }
  }
  Operation *ret = function.front().getTerminator();
  for (auto [i, value] : llvm::enumerate(ret->getOperands())) {
    if (!boundary.results[i].perToken) {
      storeResult(i, step.get(value), {});
    }
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value Walk::load(const Port &port, Type type, Value token) {
  auto indices = indicesOf(port.buffer, {token, sequence, head, step.tileSpan});
  return LoadOp::create(builder, port.buffer.getLoc(), type, port.buffer,
                        indices);
}

/// Parameters, scalars, given states, final states' cotangents: once per task.
/// Initial states of the trace come from checkpoints instead.
void Walk::loadParameters() {
  bool wholeTrace = trace && llvm::any_of(trace.getLast(), [](Value last) {
                      return !last.use_empty();
                    });
  for (BlockArgument argument : function.getArguments()) {
    Port &port = boundary.arguments[argument.getArgNumber()];
    bool used = llvm::any_of(argument.getUsers(), [&](Operation *user) {
      return wholeTrace || user != trace;
    });
    if (!port.perToken && used) {
      step.bind(argument, load(port, step.tileType(port.axes), {}));
    }
  }
}

void Walk::store(Value tile, Value buffer, Value token, Part part,
                 Location loc) {
  Value first = part == Part::Same ? step.tileSpan : Value();
  StoreOp::create(builder, loc, tile, buffer,
                  indicesOf(buffer, {token, sequence, head, step.tileSpan}),
                  first);
}

BufferType Walk::workspaceType(const Port &port, Part part) {
  BufferBuilder type(builder.getContext());
  type.add(port.perToken ? "T" : "N").add("H");
  if (part == Part::Sum && plan.tile != 0) {
    type.add(plan.axis, 0, plan.tile);
  }
  for (const std::string &axis : port.axes) {
    type.add(axis);
  }
  return type.get(step.element());
}

/// Stores result `i`, or this task's part of it for `emitSums` to add up.
void Walk::storeResult(unsigned i, Value tile, Value token) {
  const Port &port = boundary.results[i];
  Part part = tiling.of(function.front().getTerminator()->getOperand(i));
  bool isPartial = (part == Part::Sum && plan.tile != 0) ||
                   port.sharing.heads != Heads::Each || port.sharing.sequences;
  Location loc = port.buffer.getLoc();
  if (!isPartial) {
    return store(tile, port.buffer, token, part, loc);
  }
  OpBuilder top = OpBuilder::atBlockBegin(&result.front());
  Value workspace =
      AllocOp::create(top, loc, workspaceType(port, part), UnitAttr());
  partials.push_back({&port, part, workspace});
  store(tile, workspace, token, part, loc);
}

Value Walk::loadCheckpoint(unsigned state) {
  const Port *port = boundary.findCheckpoint(trace.getStateName(state));
  return load(*port, step.tileType(port->axes), run);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

ForOp Walk::openLoop(Location loc, std::int64_t by, Value parent, bool reverse,
                     ValueRange inits) {
  auto loop = ForOp::create(builder, loc, "T", by, parent, reverse, inits);
  builder.setInsertionPointToEnd(&loop.getBlock());
  return loop;
}

void Walk::closeLoop(ForOp loop, ValueRange values) {
  YieldOp::create(builder, loop.getLoc(), values);
  builder.setInsertionPointAfter(loop);
}

/// The loop over runs; returns the last carries of the main scan.
SmallVector<Value> Walk::emitRuns() {
  SmallVector<Value> inits;
  for (unsigned i = 0; main && i < main.getInits().size(); ++i) {
    inits.push_back(step.getAs(main.getInits()[i], partOfState(main, i)));
  }
  bool hasTokens =
      llvm::any_of(boundary.results, [](Port &port) { return port.perToken; });
  if (!main && !hasTokens) {
    return inits;
  }
  bool reverse = main && main.getReverse();
  Location loc = main ? main.getLoc() : function.getLoc();
  ForOp loop = openLoop(loc, plan.interval, sequence, reverse, inits);
  run = loop.getSpan();
  SmallVector<Value> next = emitRun(loop.getCarries());
  closeLoop(loop, next);
  return SmallVector<Value>(loop.getResults());
}

SmallVector<Value> Walk::emitRun(ValueRange carries) {
  SmallVector<Value> next;
  if (!main) {
    ForOp loop = openLoop(function.getLoc(), 1, run, false, {});
    storeTokens(main, loop.getSpan());
    closeLoop(loop, {});
    return next;
  }
  if (spec.direction == Direction::Forward) {
    saveStates(carries);
  }
  if (trace) {
    emitTrace();
  }
  emitTokens(
      main, carries, [&](Value token) { storeTokens(main, token); }, next);
  return next;
}

/// Forward: the states at the start of a run, for the backward.
void Walk::saveStates(ValueRange carries) {
  for (auto [i, carry] : llvm::enumerate(carries)) {
    if (const Port *port = boundary.findCheckpoint(main.getStateName(i))) {
      store(carry, port->buffer, run, partOfState(main, i),
            port->buffer.getLoc());
    }
  }
}

/// Backward: the states of this run again, from its checkpoint, held in
/// scratch memory for the main scan.
void Walk::emitTrace() {
  SmallVector<Value> inits, last;
  for (unsigned i = 0; i < trace.getInits().size(); ++i) {
    inits.push_back(loadCheckpoint(i));
  }
  for (Value emitted : trace.getEmitted()) {
    BufferBuilder type(builder.getContext());
    type.add("T", plan.interval);
    for (StringAttr axis : rec::axesOf(emitted)) {
      type.add(axis, step.isTiled(axis) ? plan.tile : 0);
    }
    holds[emitted] =
        AllocOp::create(builder, emitted.getLoc(), type.get(step.element()),
                        builder.getUnitAttr());
  }
  auto storeAll = [&](Value token) {
    for (auto [emitted, value] :
         llvm::zip(trace.getEmitted(), trace.getYield().getEmitted())) {
      StoreOp::create(builder, emitted.getLoc(), step.get(value),
                      holds[emitted],
                      indicesOf(holds[emitted], {token, step.tileSpan}));
    }
    storeTokens(trace, token);
  };
  emitTokens(trace, inits, storeAll, last);
}

/// The final states, where the boundary behind the trace needs them.
void Walk::emitWholeTrace() {
  SmallVector<Value> inits, next;
  for (Value init : trace.getInits()) {
    inits.push_back(step.get(init));
  }
  ForOp loop = openLoop(trace.getLoc(), plan.interval, sequence, false, inits);
  run = loop.getSpan();
  emitTokens(trace, loop.getCarries(), [](Value) {}, next);
  closeLoop(loop, next);
  for (auto [value, tile] : llvm::zip(trace.getLast(), loop.getResults())) {
    step.bind(value, tile);
  }
}

/// One token of a sequence: an argument's, or what the trace held.
Value Walk::tokenOf(Value sequence, Value token) {
  auto type = step.tileType(rec::axesOf(sequence));
  if (auto argument = dyn_cast<BlockArgument>(sequence)) {
    return load(boundary.arguments[argument.getArgNumber()], type, token);
  }
  Value hold = holds.lookup(sequence);
  return LoadOp::create(builder, sequence.getLoc(), type, hold,
                        indicesOf(hold, {token, step.tileSpan}));
}

/// The token loop of a scan over the current run.
void Walk::emitTokens(rec::ScanOp scan, ValueRange inits,
                      llvm::function_ref<void(Value token)> emitStores,
                      SmallVectorImpl<Value> &results) {
  ForOp loop = openLoop(scan.getLoc(), 1, run, scan.getReverse(), inits);
  StepEmitter::Scope scope(step);
  for (auto [state, carry] : llvm::zip(scan.getStates(), loop.getCarries())) {
    carry.setLoc(state.getLoc());
    step.bind(state, carry);
  }
  auto bindTokens = [&](bool isSmall) {
    for (auto [argument, sequence] :
         llvm::zip(scan.getTokens(), scan.getSequences())) {
      if (StepEmitter::isSmall(argument) == isSmall) {
        step.bind(argument, tokenOf(sequence, loop.getSpan()));
      }
    }
  };
  bindTokens(true);
  step.emitSmall(*scan.getStep());
  bindTokens(false);
  step.emitBlock(*scan.getStep());
  emitStores(loop.getSpan());
  SmallVector<Value> next;
  for (auto [i, value] : llvm::enumerate(scan.getYield().getCarried())) {
    next.push_back(step.getAs(value, partOfState(scan, i)));
  }
  closeLoop(loop, next);
  results.assign(loop.getResults().begin(), loop.getResults().end());
}

/// Stores one token of the results that `scan` emits; those that no scan emits
/// are stored along with the main scan's.
void Walk::storeTokens(rec::ScanOp scan, Value token) {
  Operation *ret = function.front().getTerminator();
  for (auto [i, value] : llvm::enumerate(ret->getOperands())) {
    if (!boundary.results[i].perToken) {
      continue;
    }
    auto maker = value.getDefiningOp<rec::ScanOp>();
    if (maker && maker == scan) {
      unsigned emitted = cast<OpResult>(value).getResultNumber();
      storeResult(i, step.get(scan.getYield().getEmitted()[emitted]), token);
    } else if (!maker && scan == main) {
      bool isSequence = isa<rec::SeqType>(value.getType());
      storeResult(i, isSequence ? tokenOf(value, token) : step.get(value),
                  token);
    }
  }
}

} // namespace

FailureOr<func::FuncOp> recurra::lowerToChunk(func::FuncOp function,
                                              const Spec &spec,
                                              const Plan &plan) {
  return Walk(function, spec, plan).lower();
}
