// The parts of a loop over tokens. Values that one part hands to another have a
// place for each token of the span.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/SweepLoop.h"

#include "compiler/target/cpu/CopyTile.h"
#include "compiler/target/cpu/SweepAnalysis.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace recurra::cpu {

using Kind = Node::Kind;

SweepLoop::SweepLoop(Frame &frame, Node &node, chunk::ForOp op)
    : f(frame), node(node), op(op), body(frame, op.getBlock()), sums(frame),
      main(findStateNest(op, body.getGraph())) {
  if (main) {
    mainIndex = main - body.getGraph().getNests().data();
  }
}

int64_t SweepLoop::getWindow() {
  return cast<chunk::SpanType>(op.getParent().getType()).getCapacity();
}

Value SweepLoop::countTokens() { return rangeOf(f, op.getSpan()).count; }

bool SweepLoop::isSum(const Node *node) {
  return node->kind == Kind::Reduce && node->stored;
}

bool SweepLoop::hasSums() const { return llvm::any_of(main->nodes, isSum); }

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

void SweepLoop::keep(const Node *node) {
  if (const Node *same = shared.lookup(node)) {
    const Slots &kept = shares->slotsOf(same);
    slots.push_back({node, kept.view, kept.stride, kept.ofWindow});
    return;
  }
  bool isScalar = node->axes.empty(), isAfter = node->nest > mainIndex;
  int64_t size = isScalar ? 1 : paddedElements(node->axes, f.lanes);
  View view = makeDenseView(node->axes, f.lanes);
  view.offset = f.allocateElements(isAfter ? size : size * tokens);
  slots.push_back({node, view, isAfter ? 0 : size, tokens >= getWindow()});
}

void SweepLoop::enter(BlockEmitter &outer, const StateBlock &shape,
                      int64_t tokens, bool isOneBlock) {
  this->tokens = tokens;
  blockRows = shape.rows;
  sums.setShape({main->domain[0].size, shape.rows, tokens}, isOneBlock);
  outer.bindStorage(node);
  outer.enterCarries(node, op, /*mayTrace=*/false);
  for (Nest &nest : getGraph().getNests()) {
    for (Node *node : nest.nodes) {
      bool hasPlace = isPointwise(node->kind) || node->kind == Kind::Reduce ||
                      node->kind == Kind::CopyIn || node->kind == Kind::Scan;
      bool isStep = &nest == main;
      if (isStep ? isSum(node) : node->stored && hasPlace) {
        keep(node);
      }
      if (isStep && isSum(node) && !hasAxis(node->axes, lane().name)) {
        sums.keep(node, slotsOf(node).view);
      }
    }
  }
}

const SweepLoop::Slots &SweepLoop::slotsOf(const Node *node) const {
  return *llvm::find_if(slots,
                        [&](const Slots &kept) { return kept.node == node; });
}

Value SweepLoop::slotPointer(const Slots &kept, Value position) {
  Value slot = kept.ofWindow ? position : f.sub(position, first);
  return f.pointer(f.basePointer(kept.view), f.element,
                   f.mul(slot, f.integer(kept.stride)));
}

/// Nodes of some nests get their places at a token.
void SweepLoop::bind(Value position, int firstNest, int lastNest,
                     bool scalars) {
  for (const Slots &kept : slots) {
    if (kept.node->nest < firstNest || kept.node->nest > lastNest) {
      continue;
    }
    Storage &storage = body.getHomes()[kept.node];
    Value pointer = slotPointer(kept, position);
    if (!kept.node->axes.empty()) {
      storage.view = kept.view;
      storage.view.base = pointer;
    } else if (scalars) {
      storage.scalar = f.loadScalar(pointer);
    }
  }
  for (Nest &nest : getGraph().getNests()) {
    Node *alone = nest.nodes.front();
    if (alone->kind == Kind::Alias && scalars && alone->nest >= firstNest &&
        alone->nest <= lastNest) {
      body.emitAlias(*alone);
    }
  }
}

SmallVector<Value>
SweepLoop::forEachToken(const TokenRange &range, Values carried,
                        llvm::function_ref<void(Value, Values &)> body) {
  Value count = f.sub(range.last, range.first);
  auto forOp = scf::ForOp::create(f.b, f.loc, f.integer(0), count, f.integer(1),
                                  carried);
  OpBuilder::InsertionGuard guard(f.b);
  f.b.setInsertionPointToStart(forOp.getBody());
  Value index = forOp.getInductionVar();
  Value position = op.getReverse()
                       ? f.sub(f.sub(range.last, f.integer(1)), index)
                       : f.add(range.first, index);
  enterSpan(f, op.getSpan(), rangeOf(f, op.getSpan()), position,
            /*isReverse=*/false);
  SmallVector<Value> next(forOp.getRegionIterArgs());
  body(position, next);
  if (!next.empty()) {
    f.b.setInsertionPointToEnd(forOp.getBody());
    scf::YieldOp::create(f.b, f.loc, next);
  }
  return SmallVector<Value>(forOp.getResults());
}

//===----------------------------------------------------------------------===//
// Before and after the step
//===----------------------------------------------------------------------===//

/// All that the nest hands on is shared.
bool SweepLoop::isShared(const Nest &nest) const {
  return llvm::all_of(nest.nodes, [&](const Node *node) {
    return shared.contains(node) || (isPointwise(node->kind) && !node->stored);
  });
}

void SweepLoop::emitNestsBefore(Value position) {
  bind(position, 0, mainIndex - 1, /*scalars=*/false);
  for (const Slots &kept : slots) {
    if (kept.node->axes.empty() && shared.contains(kept.node)) {
      body.getHomes()[kept.node].scalar =
          f.loadScalar(slotPointer(kept, position));
    }
  }
  for (int i = 0; i < mainIndex; ++i) {
    if (!isShared(getGraph().getNests()[i])) {
      body.emitNests(i, i + 1);
    }
  }
  for (const Slots &kept : slots) {
    if (kept.node->axes.empty() && kept.node->nest < mainIndex &&
        !shared.contains(kept.node)) {
      f.storeScalar(body.getHomes()[kept.node].scalar,
                    slotPointer(kept, position));
    }
  }
}

void SweepLoop::prefetch(const TokenRange &range, Value row) {
  for (const Nest &nest : getGraph().getNests()) {
    const Node *node = nest.nodes.front();
    bool isMemory = node->kind == Kind::CopyIn || node->kind == Kind::CopyOut;
    if (isMemory && node->axes.size() == 1 && !shared.contains(node)) {
      prefetchLines(node, range, row);
    }
  }
}

/// Elements beside each other are expected; others are not worth it. Each block
/// of rows asks for its share of all tokens' lines.
void SweepLoop::prefetchLines(const Node *node, const TokenRange &range,
                              Value row) {
  constexpr int64_t secondCache = 2, data = 1, line = 64;
  auto load = dyn_cast<chunk::LoadOp>(node->op);
  auto store = dyn_cast<chunk::StoreOp>(node->op);
  Value buffer = load ? load.getBuffer() : store.getBuffer();
  Type element = cast<chunk::BufferType>(buffer.getType()).getElement();
  int64_t lines =
      ceilDiv(node->axes[0].size * element.getIntOrFloatBitWidth(), 8 * line);
  int64_t share = ceilDiv(range.most * lines * blockRows, main->domain[0].size);
  auto outer = cast<chunk::ForOp>(chunk::getLoop(op.getParent()));
  int64_t ahead = !load ? 0 : outer.getReverse() ? -getWindow() : getWindow();
  Value first = f.mul(f.divide(row, blockRows), f.integer(share));
  auto forOp = scf::ForOp::create(f.b, f.loc, f.integer(0), f.integer(share),
                                  f.integer(1));
  OpBuilder::InsertionGuard guard(f.b);
  f.b.setInsertionPointToStart(forOp.getBody());
  Value number = f.add(first, forOp.getInductionVar());
  Value token = f.divide(number, lines);
  Value rest = f.sub(number, f.mul(token, f.integer(lines)));
  Value position = f.add(f.add(range.first, token), f.integer(ahead));
  enterSpan(f, op.getSpan(), rangeOf(f, op.getSpan()), position,
            /*isReverse=*/false);
  UserView view = f.viewOf(
      buffer, load ? load.getIndices() : store.getIndices(), node->axes);
  Value address =
      f.pointer(view.base, f.b.getI8Type(), f.mul(rest, f.integer(line)));
  LLVM::Prefetch::create(f.b, f.loc, address, /*rw=*/store ? 1 : 0, secondCache,
                         data);
}

void SweepLoop::emitBefore(const TokenRange &range) {
  first = range.first;
  forEachToken(range, {},
               [&](Value position, Values &) { emitNestsBefore(position); });
  for (const Node *node : main->nodes) {
    if (isSum(node) && hasAxis(node->axes, lane().name)) {
      Axes axes = node->axes;
      axes.insert(axes.begin(), {StringAttr(), tokens});
      fillDense(f, slotsOf(node).view, axes, f.splat(f.neutral(node->isMax)));
    }
  }
  sums.startTokens();
}

void SweepLoop::emitAfter(const TokenRange &range) {
  int end = getGraph().getNests().size();
  sums.finishTokens();
  if (mainIndex + 1 == end) {
    return;
  }
  first = range.first;
  forEachToken(range, {}, [&](Value position, Values &) {
    bind(position, 0, mainIndex, /*scalars=*/true);
    bind(position, mainIndex + 1, end, /*scalars=*/false);
    body.emitNests(mainIndex + 1, end);
  });
}

} // namespace recurra::cpu
