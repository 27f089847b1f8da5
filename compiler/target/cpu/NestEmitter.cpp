// A nest: for blocks of lane vectors, for rows, every node once per vector.
// Reductions over all rows stay in registers; reductions over lanes leave one
// vector per row in scratch, summed across lanes after the nest.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/NestEmitter.h"

#include "compiler/target/cpu/NodeEmitter.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace recurra::cpu {

namespace {

/// Where the partial results of one reduction are kept.
struct Reduction {
  enum Place {
    InRegisters, ///< all rows are reduced
    PerRow,      ///< lanes only: complete after each row
    InMemory     ///< anything else: read, combined and written at each point
  };
  Node *node;
  Place place;
  bool overLanes;
  View memory; ///< of partial vectors, or the home itself
};

class NestEmitter {
public:
  NestEmitter(Frame &frame, const Nest &nest, Homes &homes)
      : f(frame), nest(nest), homes(homes), points(frame, nest, homes) {
    rows.assign(nest.domain.begin(), nest.domain.end() - 1);
    lane = nest.domain.back();
    chooseBlocks();
  }

  void emit() {
    points.hoistScalars();
    for (Node *node : nest.nodes) {
      if (node->kind == Node::Kind::Reduce && node->stored) {
        reductions.push_back(classify(node));
      }
    }
    emitBlocks();
    for (Reduction &reduction : reductions) {
      finish(reduction);
    }
  }

private:
  //===--------------------------------------------------------------------===//
  // Shape
  //===--------------------------------------------------------------------===//

  void chooseBlocks() {
    // So many independent vectors at a time that the latency of fma is hidden
    // and nothing spills.
    bool isWide = f.lanes * f.elementBytes() == 64;
    int64_t nodes = nest.nodes.size();
    int64_t target = nodes > (isWide ? 14 : 8) ? 2 : 4;
    int64_t vectors = ceilDiv(lane.size, f.lanes);
    width = ceilDiv(vectors, ceilDiv(vectors, target));
    wholeBlocks = lane.size / f.lanes / width;
    restVectors = vectors - wholeBlocks * width;
    unroll = 1;
    if (!rows.empty()) {
      for (int64_t i = 2; i * width <= target; ++i) {
        unroll = rows.back().size % i == 0 ? i : unroll;
      }
    }
  }

  bool isSingleBlock() const {
    return wholeBlocks + (restVectors > 0 ? 1 : 0) == 1;
  }

  Reduction classify(Node *node) {
    bool keepsLane = hasAxis(node->axes, lane.name);
    int64_t keptRows = node->axes.size() - (keepsLane ? 1 : 0);
    Reduction reduction{node, Reduction::InMemory, !keepsLane, {}};
    if (keptRows == 0) {
      reduction.place = Reduction::InRegisters;
    } else if (!keepsLane && keptRows == static_cast<int64_t>(rows.size())) {
      reduction.place = Reduction::PerRow;
    }
    if (keepsLane) {
      reduction.memory = storageOf(f, homes, node).view;
    } else {
      allocatePartial(reduction);
    }
    bool everyPoint = reduction.place == Reduction::InMemory;
    if (everyPoint || (!keepsLane && !isSingleBlock())) {
      initialise(reduction);
    }
    return reduction;
  }

  /// One vector per element of the result.
  void allocatePartial(Reduction &reduction) {
    const Axes &axes = reduction.node->axes;
    reduction.memory = makeDenseView(axes, f.lanes);
    int64_t count = axes.empty() ? 1 : paddedElements(axes, f.lanes);
    reduction.memory.offset = f.allocateElements(count * f.lanes);
    for (View::Step &step : reduction.memory.steps) {
      step.stride *= f.lanes;
    }
  }

  void initialise(const Reduction &reduction) {
    const Axes &axes = reduction.node->axes;
    int64_t count = axes.empty() ? f.lanes : paddedElements(axes, f.lanes);
    count *= reduction.overLanes && !axes.empty() ? f.lanes : 1;
    Value base = f.basePointer(reduction.memory);
    Value neutral = f.splat(f.neutral(reduction.node->isMax));
    auto forOp = scf::ForOp::create(f.b, f.loc, f.integer(0), f.integer(count),
                                    f.integer(f.lanes));
    OpBuilder::InsertionGuard guard(f.b);
    f.b.setInsertionPointToStart(forOp.getBody());
    f.storeVector(neutral, f.pointer(base, f.element, forOp.getInductionVar()));
  }

  //===--------------------------------------------------------------------===//
  // Loops
  //===--------------------------------------------------------------------===//

  void emitBlocks() {
    if (wholeBlocks == 1) {
      emitBlock(f.integer(0), width);
    } else if (wholeBlocks > 1) {
      int64_t step = width * f.lanes;
      auto forOp =
          scf::ForOp::create(f.b, f.loc, f.integer(0),
                             f.integer(wholeBlocks * step), f.integer(step));
      OpBuilder::InsertionGuard guard(f.b);
      f.b.setInsertionPointToStart(forOp.getBody());
      emitBlock(forOp.getInductionVar(), width);
    }
    if (restVectors > 0) {
      emitBlock(f.integer(wholeBlocks * width * f.lanes), restVectors);
    }
  }

  void emitBlock(Value laneFirst, int64_t vectors) {
    blockVectors = vectors;
    points.startBlock(laneFirst, vectors);
    SmallVector<Value> sums;
    for (const Reduction &reduction : reductions) {
      sums.append(countRegisters(reduction),
                  f.splat(f.neutral(reduction.node->isMax)));
    }
    SmallVector<Value> index;
    sums = emitRows(index, sums);
    ArrayRef<Value> rest = sums;
    for (Reduction &reduction : reductions) {
      if (int64_t count = countRegisters(reduction)) {
        closeBlock(reduction, rest.take_front(count));
        rest = rest.drop_front(count);
      }
    }
  }

  SmallVector<Value> emitRows(SmallVector<Value> &index,
                              SmallVector<Value> sums) {
    unsigned level = index.size();
    if (level == rows.size()) {
      return emitBody(index, std::move(sums));
    }
    bool isInner = level + 1 == rows.size();
    auto forOp = scf::ForOp::create(f.b, f.loc, f.integer(0),
                                    f.integer(rows[level].size),
                                    f.integer(isInner ? unroll : 1), sums);
    OpBuilder::InsertionGuard guard(f.b);
    f.b.setInsertionPointToStart(forOp.getBody());
    index.push_back(forOp.getInductionVar());
    SmallVector<Value> next(forOp.getRegionIterArgs());
    next = emitRows(index, std::move(next));
    index.pop_back();
    if (!next.empty()) {
      f.b.setInsertionPointToEnd(forOp.getBody());
      scf::YieldOp::create(f.b, f.loc, next);
    }
    return SmallVector<Value>(forOp.getResults());
  }

  SmallVector<Value> emitBody(ArrayRef<Value> index, SmallVector<Value> sums) {
    points.startBody();
    for (int64_t i = 0; i < unroll; ++i) {
      SmallVector<Value> row(index);
      if (i > 0) {
        row.back() = f.add(row.back(), f.integer(i));
      }
      SmallVector<Value> rowSums(reductions.size());
      for (int64_t j = 0; j < blockVectors; ++j) {
        points.startPoint(row, i, j);
        points.evaluate();
        reducePoint(i, j, sums, rowSums);
      }
      storeRowSums(rowSums);
    }
    return sums;
  }

  //===--------------------------------------------------------------------===//
  // Reductions
  //===--------------------------------------------------------------------===//

  /// Each unrolled row has its own sums; over lanes, its vectors share one.
  int64_t countRegisters(const Reduction &reduction) const {
    return reduction.place != Reduction::InRegisters ? 0
           : reduction.overLanes                     ? unroll
                                                     : unroll * blockVectors;
  }

  void reducePoint(int64_t i, int64_t j, SmallVector<Value> &sums,
                   SmallVector<Value> &rowSums) {
    unsigned registers = 0;
    for (auto [reduction, rowSum] : llvm::zip(reductions, rowSums)) {
      bool isMax = reduction.node->isMax;
      Value value = points.operand(reduction.node->operands[0]);
      if (reduction.overLanes) {
        value = points.withoutPadding(value, f.neutral(isMax));
      }
      if (reduction.place == Reduction::InRegisters) {
        int64_t number = reduction.overLanes ? i : i * blockVectors + j;
        Value &sum = sums[registers + number];
        sum = f.combine(isMax, sum, value);
        registers += countRegisters(reduction);
      } else if (reduction.overLanes) {
        rowSum = rowSum ? f.combine(isMax, rowSum, value) : value;
      } else {
        combineInto(points.address(reduction.memory, /*withLane=*/true), value,
                    isMax);
      }
    }
  }

  void combineInto(Value pointer, Value value, bool isMax) {
    f.storeVector(f.combine(isMax, f.loadVector(pointer), value), pointer);
  }

  void storeRowSums(ArrayRef<Value> rowSums) {
    for (auto [reduction, sum] : llvm::zip(reductions, rowSums)) {
      if (!sum) {
        continue;
      }
      Value pointer = points.address(reduction.memory, /*withLane=*/false);
      if (reduction.place == Reduction::PerRow && isSingleBlock()) {
        f.storeVector(sum, pointer);
      } else {
        combineInto(pointer, sum, reduction.node->isMax);
      }
    }
  }

  /// The rows are done: adds up the registers of the unrolled copies.
  void closeBlock(Reduction &reduction, ArrayRef<Value> sums) {
    bool isMax = reduction.node->isMax;
    size_t kept = reduction.overLanes ? 1 : blockVectors;
    SmallVector<Value> totals(sums.take_front(kept));
    for (auto [k, sum] : llvm::enumerate(sums.drop_front(kept))) {
      Value &total = totals[k % kept];
      total = f.combine(isMax, total, sum);
    }
    if (!reduction.overLanes) {
      for (auto [j, total] : llvm::enumerate(totals)) {
        f.storeVector(total, points.lanePointer(reduction.memory, j));
      }
      return;
    }
    Value pointer = f.basePointer(reduction.memory);
    if (isSingleBlock()) {
      f.storeVector(totals[0], pointer);
    } else {
      combineInto(pointer, totals[0], isMax);
    }
  }

  void finish(const Reduction &reduction) {
    if (!reduction.overLanes) {
      return;
    }
    Storage &storage = storageOf(f, homes, reduction.node);
    Value partial = f.basePointer(reduction.memory);
    bool isMax = reduction.node->isMax;
    if (reduction.node->axes.empty()) {
      storage.scalar = reduceLanes(f, f.loadVector(partial), isMax);
    } else {
      int64_t count = paddedElements(reduction.node->axes, f.lanes);
      finishLaneReduction(f, partial, f.basePointer(storage.view), count,
                          isMax);
    }
  }

  Frame &f;
  const Nest &nest;
  Homes &homes;
  NodeEmitter points;
  Axes rows;
  Axis lane;
  int64_t width, wholeBlocks, restVectors, unroll, blockVectors = 0;
  SmallVector<Reduction> reductions;
};

} // namespace

Storage &storageOf(Frame &frame, Homes &homes, const Node *node) {
  bool isValue =
      node->kind == Node::Kind::Known || node->kind == Node::Kind::LoopResult;
  return isValue ? frame.storage[node->value] : homes[node];
}

void emitNest(Frame &frame, const Nest &nest, Homes &homes) {
  if (nest.domain.empty()) {
    NodeEmitter(frame, nest, homes).evaluate();
  } else {
    NestEmitter(frame, nest, homes).emit();
  }
}

} // namespace recurra::cpu
