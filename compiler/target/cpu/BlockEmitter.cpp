// Homes of values, copies, and the loops of the chunk dialect.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/BlockEmitter.h"

#include "compiler/target/cpu/CopyTile.h"
#include "compiler/target/cpu/RowSweep.h"
#include "compiler/target/cpu/TraceCarry.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace recurra::cpu {

using Kind = Node::Kind;

BlockEmitter::BlockEmitter(Frame &frame, Block &block)
    : f(frame), block(block), graph(block, frame.order) {}

SmallVector<Value> BlockEmitter::emit() {
  chooseHomes();
  for (size_t i = 0, e = graph.getNests().size(); i < e;) {
    size_t swept = emitRowSweep(f, *this, i);
    if (swept == 0) {
      emitNests(i, i + 1);
    }
    i += std::max<size_t>(swept, 1);
  }
  return closeCarries();
}

void BlockEmitter::emitNests(size_t first, size_t last) {
  for (size_t i = first; i < last; ++i) {
    Nest &nest = graph.getNests()[i];
    if (nest.isAlone) {
      emitAlone(*nest.nodes.front());
    } else {
      emitNest(f, nest, homes);
    }
  }
}

//===----------------------------------------------------------------------===//
// Homes
//===----------------------------------------------------------------------===//

/// Argument 0 is the span.
Value BlockEmitter::carryOf(unsigned index) {
  return block.getArgument(index + 1);
}

void BlockEmitter::homeYields() {
  for (auto [index, node] : llvm::enumerate(graph.getYields())) {
    bool isFresh = isPointwise(node->kind) || node->kind == Kind::Reduce ||
                   node->kind == Kind::CopyIn || node->kind == Kind::Scan;
    if (!isFresh || node->axes.empty() || homes.contains(node)) {
      continue;
    }
    if (auto next = f.nextHomes.find(carryOf(index));
        next != f.nextHomes.end()) {
      homes[node].view = next->second;
      continue;
    }
    // The carry's old value must be dead; a pointwise node reads it at the
    // very element that it overwrites.
    int last = graph.lastRead(graph.find(carryOf(index)));
    if (isPointwise(node->kind) ? last <= node->nest : last < node->nest) {
      homes[node].view = f.storage[carryOf(index)].view;
    }
  }
}

void BlockEmitter::chooseHomes() {
  homeYields();
  for (const Nest &nest : graph.getNests()) {
    for (const Node *node : nest.nodes) {
      bool needsHome = node->stored && !node->axes.empty() &&
                       (isPointwise(node->kind) || node->kind == Kind::Reduce ||
                        node->kind == Kind::CopyIn || node->kind == Kind::Scan);
      if (needsHome && !homes.contains(node)) {
        homes[node].view = f.allocate(node->axes);
      }
    }
  }
}

SmallVector<Value> BlockEmitter::closeCarries() {
  SmallVector<Value> scalars;
  for (auto [index, node] : llvm::enumerate(graph.getYields())) {
    const Storage &storage = storageOf(f, homes, node);
    if (node->axes.empty()) {
      scalars.push_back(storage.scalar);
      continue;
    }
    auto next = f.nextHomes.find(carryOf(index));
    const View &home = next != f.nextHomes.end()
                           ? next->second
                           : f.storage[carryOf(index)].view;
    bool isThere =
        storage.view.base == home.base && storage.view.offset == home.offset;
    if (!isThere) {
      copyDense(f, storage.view, home, node->axes);
    }
  }
  return scalars;
}

void BlockEmitter::bindStorage(const Node &loop) {
  for (auto [value, node] : graph.getBindings()) {
    bool isValue = node->kind == Kind::Known || node->kind == Kind::LoopResult;
    if (!isValue && node->nest < loop.nest) {
      f.storage[value] = homes.lookup(node);
    }
  }
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void BlockEmitter::emitAlone(Node &node) {
  switch (node.kind) {
  case Kind::CopyIn:
    return emitCopyIn(node);
  case Kind::CopyOut:
    return emitCopyOut(node);
  case Kind::Alias:
    return emitAlias(node);
  case Kind::Scan:
    return emitScan(node);
  default:
    bindStorage(node);
    if (auto forall = dyn_cast<chunk::ForallOp>(node.op)) {
      return emitForall(forall, 0);
    }
    return emitFor(node);
  }
}

void BlockEmitter::emitCopyIn(Node &node) {
  if (!node.stored) {
    return;
  }
  auto load = cast<chunk::LoadOp>(node.op);
  UserView view = f.viewOf(load.getBuffer(), load.getIndices(), node.axes);
  Storage &storage = homes[&node];
  storage.scalar = copyIn(f, view, storage.view, node.axes);
}

void BlockEmitter::emitCopyOut(Node &node) {
  auto store = cast<chunk::StoreOp>(node.op);
  OpBuilder::InsertionGuard guard(f.b);
  if (Value first = store.getFirst()) {
    Value isFirst = f.isEqual(f.spans[first].origin, f.integer(0));
    auto ifOp = scf::IfOp::create(f.b, f.loc, isFirst, /*withElse=*/false);
    f.b.setInsertionPointToStart(ifOp.thenBlock());
  }
  UserView view = f.viewOf(store.getBuffer(), store.getIndices(), node.axes);
  const Storage &storage = storageOf(f, homes, node.operands[0]);
  copyOut(f, view, storage.view, node.axes, storage.scalar);
}

void BlockEmitter::emitAlias(Node &node) {
  View view = storageOf(f, homes, node.operands[0]).view;
  if (auto rename = dyn_cast<chunk::RenameOp>(node.op)) {
    for (View::Step &step : view.steps) {
      if (step.axis == rename.getFrom()) {
        step.axis = rename.getToAttr();
      }
    }
  } else {
    auto index = cast<chunk::IndexOp>(node.op);
    int64_t position = index.getPosition() * view.stride(index.getAxisAttr());
    view.base = f.pointer(f.basePointer(view), f.element, position);
    llvm::erase_if(view.steps, [&](const View::Step &step) {
      return step.axis == index.getAxisAttr();
    });
  }
  Storage &storage = homes[&node];
  storage.view = view;
  if (node.axes.empty()) {
    storage.scalar = f.loadScalar(f.basePointer(view));
  }
}

/// Calls `body` with the element offsets in two views of each combination of
/// the axes' indices.
static void forEachElement(Frame &f, ArrayRef<Axis> axes, const View &from,
                           const View &to, Value fromOffset, Value toOffset,
                           llvm::function_ref<void(Value, Value)> body) {
  if (axes.empty()) {
    body(fromOffset, toOffset);
    return;
  }
  auto forOp = scf::ForOp::create(f.b, f.loc, f.integer(0),
                                  f.integer(axes.front().size), f.integer(1));
  OpBuilder::InsertionGuard guard(f.b);
  f.b.setInsertionPointToStart(forOp.getBody());
  Value index = forOp.getInductionVar();
  auto step = [&](const View &view, Value offset) {
    Value stride = f.integer(view.stride(axes.front().name));
    return f.add(offset, f.mul(index, stride));
  };
  forEachElement(f, axes.drop_front(), from, to, step(from, fromOffset),
                 step(to, toOffset), body);
}

void BlockEmitter::emitScan(Node &node) {
  auto scan = cast<chunk::ScanOp>(node.op);
  const View from = storageOf(f, homes, node.operands[0]).view;
  const View to = homes[&node].view;
  Value source = f.basePointer(from), target = f.basePointer(to);
  Axes others;
  Axis along;
  for (const Axis &axis : node.axes) {
    (axis.name == scan.getAlong() ? along : others.emplace_back()) = axis;
  }
  Value zero = f.integer(0);
  forEachElement(f, others, from, to, zero, zero, [&](Value in, Value out) {
    auto forOp = scf::ForOp::create(f.b, f.loc, zero, f.integer(along.size),
                                    f.integer(1),
                                    ValueRange{f.real(f.neutral(node.isMax))});
    OpBuilder::InsertionGuard guard(f.b);
    f.b.setInsertionPointToStart(forOp.getBody());
    Value index = forOp.getInductionVar();
    auto at = [&](Value base, Value offset, const View &view) {
      Value stride = f.integer(view.stride(along.name));
      return f.pointer(base, f.element, f.add(offset, f.mul(index, stride)));
    };
    Value next = f.combine(node.isMax, forOp.getRegionIterArg(0),
                           f.loadScalar(at(source, in, from)));
    f.storeScalar(next, at(target, out, to));
    scf::YieldOp::create(f.b, f.loc, next);
  });
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

SmallVector<Value> BlockEmitter::enterCarries(Node &node, chunk::ForOp op,
                                              bool mayTrace) {
  SmallVector<Value> scalars;
  for (unsigned i = 0; i < op.getInits().size(); ++i) {
    Node *init = node.operands[i];
    Storage storage = storageOf(f, homes, init);
    Value carry = op.getCarries()[i];
    if (init->axes.empty()) {
      scalars.push_back(storage.scalar);
      continue;
    }
    auto store =
        mayTrace ? findTraceStore(op, i, init->axes) : chunk::StoreOp();
    if (store) {
      f.idleStores.insert(store);
      copyDense(f, storage.view,
                traceSlot(f, store.getBuffer(), init->axes, f.integer(0)),
                init->axes);
      continue;
    }
    // In place if the old value dies here and, for a carry of this block, if
    // the loop's result takes its place.
    auto outer = dyn_cast_if_present<BlockArgument>(init->value);
    bool isOwn = init->kind != Kind::Known;
    if (init->kind == Kind::Known && outer && outer.getOwner() == &block) {
      Node *next = graph.getYields()[outer.getArgNumber() - 1];
      isOwn = next->kind == Kind::LoopResult && next->value == op.getResult(i);
    }
    if (!isOwn || !graph.isLastUse(init, &node)) {
      View copy = f.allocate(init->axes);
      copyDense(f, storage.view, copy, init->axes);
      storage.view = copy;
    }
    f.storage[carry] = storage;
    f.storage[op.getResult(i)] = storage;
  }
  return scalars;
}

/// Where carries that live in a trace are at iteration `index`, or, as results,
/// behind the loop.
void BlockEmitter::placeTraced(Node &node, chunk::ForOp op, Value index,
                               bool areResults) {
  for (unsigned i = 0; i < op.getInits().size(); ++i) {
    const Axes &axes = node.operands[i]->axes;
    auto store = axes.empty() ? chunk::StoreOp() : findTraceStore(op, i, axes);
    if (!store) {
      continue;
    }
    Value carry = op.getCarries()[i];
    View slot = traceSlot(f, store.getBuffer(), axes, index);
    if (areResults) {
      f.storage[op.getResult(i)].view = slot;
    } else {
      f.storage[carry].view = slot;
      f.nextHomes[carry] =
          traceSlot(f, store.getBuffer(), axes, f.add(index, f.integer(1)));
    }
  }
}

void BlockEmitter::emitFor(Node &node) {
  auto op = cast<chunk::ForOp>(node.op);
  SmallVector<Value> scalars = enterCarries(node, op, /*mayTrace=*/true);
  SpanRange range = rangeOf(f, op.getSpan());
  auto forOp = scf::ForOp::create(f.b, f.loc, f.integer(0), range.count,
                                  f.integer(1), scalars);
  unsigned next = 0;
  for (auto [carry, result] : llvm::zip(op.getCarries(), op.getResults())) {
    if (cast<chunk::TileType>(carry.getType()).getRank() == 0) {
      f.storage[carry].scalar = forOp.getRegionIterArg(next);
      f.storage[result].scalar = forOp.getResult(next++);
    }
  }
  placeTraced(node, op, range.count, /*areResults=*/true);
  OpBuilder::InsertionGuard guard(f.b);
  f.b.setInsertionPointToStart(forOp.getBody());
  enterSpan(f, op.getSpan(), range, forOp.getInductionVar(), op.getReverse());
  placeTraced(node, op, forOp.getInductionVar(), /*areResults=*/false);
  SmallVector<Value> yields = BlockEmitter(f, op.getBlock()).emit();
  if (!yields.empty()) {
    scf::YieldOp::create(f.b, f.loc, yields);
  }
}

void BlockEmitter::emitForall(chunk::ForallOp op, unsigned iterator) {
  if (iterator == op.getNumIterators()) {
    BlockEmitter(f, op.getBlock()).emit();
    return;
  }
  Value span = op.getSpan(iterator);
  SpanRange range = rangeOf(f, span);
  auto forOp =
      scf::ForOp::create(f.b, f.loc, f.integer(0), range.count, f.integer(1));
  OpBuilder::InsertionGuard guard(f.b);
  f.b.setInsertionPointToStart(forOp.getBody());
  enterSpan(f, span, range, forOp.getInductionVar(), /*isReverse=*/false);
  emitForall(op, iterator + 1);
}

} // namespace recurra::cpu
