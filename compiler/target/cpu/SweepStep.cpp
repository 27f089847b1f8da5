// The step of a block of the states: states in registers, points node by node,
// sums in memory.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/SweepLoop.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace recurra::cpu {

using Kind = Node::Kind;

/// The addresses of a block's vectors in each state's home, state by state.
void SweepLoop::forEachState(const StateBlock &block,
                             llvm::function_ref<void(Value, unsigned)> body) {
  NodeEmitter points(f, *main, this->body.getHomes());
  points.startBlock(block.lane, 0);
  for (auto [number, carry] : llvm::enumerate(op.getCarries())) {
    const View &view = f.storage[carry].view;
    forEachPoint(points, block, [&, number = number](Point) {
      body(points.address(view, /*withLane=*/true), number);
    });
  }
}

SmallVector<Value> SweepLoop::loadStates(const StateBlock &block) {
  SmallVector<Value> states;
  forEachState(block, [&](Value pointer, unsigned) {
    states.push_back(f.loadVector(pointer));
  });
  return states;
}

void SweepLoop::storeStates(const StateBlock &block, const Values &states,
                            bool onlyUsed) {
  unsigned next = 0;
  forEachState(block, [&](Value pointer, unsigned number) {
    Value state = states[next++];
    if (!onlyUsed || !op.getResult(number).use_empty()) {
      f.storeVector(state, pointer);
    }
  });
}

SmallVector<Value> SweepLoop::walk(const StateBlock &block,
                                   const TokenRange &range, Values states) {
  first = range.first;
  return forEachToken(range, states, [&](Value position, Values &now) {
    emitStep(block, position, now);
  });
}

void SweepLoop::emitBlock(const StateBlock &block, const TokenRange &range) {
  SmallVector<Value> states = walk(block, range, loadStates(block));
  storeStates(block, states, /*onlyUsed=*/!keepsStates);
  if (tracesLast) {
    traceLast(block, range.last, states);
  }
}

/// The slot of a token in a trace.
View SweepLoop::traceAt(Value trace, Value position) {
  View view = f.scratchBuffers[trace];
  Value offset = f.mul(position, f.integer(view.steps.front().stride));
  view.base = f.pointer(view.base, f.element, offset);
  view.steps.erase(view.steps.begin());
  return view;
}

void SweepLoop::traceLast(const StateBlock &block, Value position,
                          const Values &states) {
  SmallVector<View> homes;
  for (Value carry : op.getCarries()) {
    View &home = f.storage[carry].view;
    homes.push_back(home);
    for (const Node *node : main->nodes) {
      if (node->kind == Kind::ScratchStore &&
          node->operands[0] == getGraph().find(carry)) {
        home = traceAt(cast<chunk::StoreOp>(node->op).getBuffer(), position);
      }
    }
  }
  storeStates(block, states, /*onlyUsed=*/false);
  for (auto [carry, home] : llvm::zip(op.getCarries(), homes)) {
    f.storage[carry].view = home;
  }
}

void SweepLoop::emitParts(const StateBlock &block, int64_t part, Value parts,
                          llvm::function_ref<void(Value)> place) {
  for (const Node *node : main->nodes) {
    if (node->kind == Kind::ScratchStore) {
      f.idleStores.insert(node->op);
    }
  }
  Value last = f.sub(parts, f.integer(1));
  auto forOp = scf::ForOp::create(f.b, f.loc, f.integer(0), last, f.integer(1),
                                  loadStates(block));
  {
    OpBuilder::InsertionGuard guard(f.b);
    f.b.setInsertionPointToStart(forOp.getBody());
    place(forOp.getInductionVar());
    SmallVector<Value> states(forOp.getRegionIterArgs());
    storeStates(block, states, /*onlyUsed=*/false);
    Value from = f.mul(forOp.getInductionVar(), f.integer(part));
    states = walk(block, {from, f.add(from, f.integer(part)), part}, states);
    scf::YieldOp::create(f.b, f.loc, states);
  }
  place(last);
  storeStates(block, SmallVector<Value>(forOp.getResults()),
              /*onlyUsed=*/false);
  for (const Node *node : main->nodes) {
    f.idleStores.erase(node->op);
  }
}

void SweepLoop::emitStep(const StateBlock &block, Value position,
                         Values &states) {
  bind(position, 0, mainIndex, /*scalars=*/true);
  NodeEmitter points(f, *main, body.getHomes());
  points.hoistScalars();
  points.startBlock(block.lane, block.vectors);
  points.startBody();
  running.clear();
  forEachPoint(points, block, [&](Point point) {
    enterPoint(points, point, position, states);
  });
  // Node by node, so that neighbours do not wait for one another.
  for (const Node *node : main->nodes) {
    bool isMemory =
        node->kind == Kind::ScratchLoad || node->kind == Kind::ScratchStore;
    forEachPoint(points, block, [&](Point point) {
      if (isSum(node)) {
        addUp(points, block, node, point, position);
      } else if (node->kind != Kind::Reduce && !isMemory) {
        points.evaluate(node);
      }
    });
  }
  forEachPoint(points, block,
               [&](Point point) { leavePoint(points, point, states); });
}

void SweepLoop::forEachPoint(NodeEmitter &points, const StateBlock &block,
                             llvm::function_ref<void(Point)> body) {
  unsigned number = 0;
  for (int64_t i = 0; i < block.rows; ++i) {
    for (int64_t j = 0; j < block.vectors; ++j) {
      points.startPoint({f.add(block.row, f.integer(i))}, i, j);
      body({i, j, number++, block.rows * block.vectors});
    }
  }
}

void SweepLoop::enterPoint(NodeEmitter &points, Point point, Value position,
                           const Values &states) {
  for (auto [number, carry] : llvm::enumerate(op.getCarries())) {
    points.setValue(getGraph().find(carry),
                    states[number * point.count + point.number]);
  }
  for (auto [node, trace] : nextStates) {
    View slot = traceAt(trace, f.add(position, f.integer(1)));
    points.setValue(node, f.loadVector(points.address(slot, true)));
  }
}

void SweepLoop::leavePoint(NodeEmitter &points, Point point, Values &states) {
  for (const Node *node : main->nodes) {
    if (node->kind == Kind::ScratchStore && !f.idleStores.contains(node->op)) {
      points.store(node);
    }
  }
  for (auto [number, next] : llvm::enumerate(getGraph().getYields())) {
    states[number * point.count + point.number] = points.operand(next);
  }
}

/// A point's part of a sum, which begins with what memory has of it, if this is
/// not its first part, and goes back with the last part of this block.
void SweepLoop::addUp(NodeEmitter &points, const StateBlock &block,
                      const Node *node, Point point, Value position) {
  auto [i, j] = std::pair(point.row, point.vector);
  bool keepsLane = hasAxis(node->axes, lane().name);
  bool keepsRow = !keepsLane && !node->axes.empty();
  Value value = points.operand(node->operands[0]);
  Value pointer;
  if (keepsLane) {
    pointer = points.address(body.getHomes()[node].view, /*withLane=*/true);
  } else {
    value = points.withoutPadding(value, f.neutral(node->isMax));
    pointer = sums.pointer(node, keepsRow ? i : 0, f.sub(position, first));
  }
  Value &total = running[{node, keepsLane ? j : keepsRow ? i : 0}];
  bool isFirst = !total;
  if (isFirst && !(keepsRow && sums.areBlocksWhole())) {
    total = f.loadVector(pointer);
  }
  total = total ? f.combine(node->isMax, total, value) : value;
  bool isLast = (keepsLane || j + 1 == block.vectors) &&
                (keepsRow || i + 1 == block.rows);
  if (isLast) {
    f.storeVector(total, pointer);
  }
}

} // namespace recurra::cpu
