// Choosing the lane axis.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/LaneLayout.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace recurra::cuda {

static std::int64_t costOf(chunk::TileType tile, StringRef lane) {
  std::int64_t cost = tile.getNumElements();
  if (std::int64_t size = tile.getSize(lane)) {
    cost = cost / size * ceilDiv(size, warpSize);
  }
  return cost;
}

LaneLayout::LaneLayout(chunk::ForallOp forall) {
  SmallVector<chunk::TileType> tiles;
  std::map<StringRef, StringAttr> axes;
  forall.walk([&](Operation *op) {
    for (Type type : op->getResultTypes()) {
      if (auto tile = dyn_cast<chunk::TileType>(type)) {
        tiles.push_back(tile);
        for (StringAttr name : tile.getNames()) {
          axes[name.getValue()] = name;
        }
      }
    }
  });
  std::int64_t least = 0;
  for (auto &[name, attribute] : axes) {
    std::int64_t cost = 0;
    for (chunk::TileType tile : tiles) {
      cost += costOf(tile, name);
    }
    if (!lane || cost <= least) {
      lane = attribute;
      least = cost;
    }
  }
  // Far more than there are registers: it will be memory anyway, and small
  // loops compile fast.
  constexpr std::int64_t registers = 255;
  if (liveElements(forall.getBlock()) > registers) {
    maxUnrolled = 16;
  }
}

std::int64_t LaneLayout::elementsPerLane(TypeRange types) const {
  std::int64_t count = 0;
  for (Type type : types) {
    if (auto tile = dyn_cast<chunk::TileType>(type)) {
      Axes axes;
      for (auto [name, size] : llvm::zip(tile.getNames(), tile.getSizes())) {
        axes.push_back({name, size});
      }
      count += elementsPerLane(axes);
    }
  }
  return count;
}

/// A bound from below: what the largest loop carries and what it reads from
/// outside, with its inner loops.
std::int64_t LaneLayout::liveElements(Block &block) const {
  std::int64_t most = 0;
  for (auto loop : block.getOps<chunk::ForOp>()) {
    llvm::SetVector<Value> outside;
    loop.walk([&](Operation *op) {
      for (Value operand : op->getOperands()) {
        if (!loop->isAncestor(operand.getParentBlock()->getParentOp()) &&
            !llvm::is_contained(loop.getInits(), operand)) {
          outside.insert(operand);
        }
      }
    });
    std::int64_t live = elementsPerLane(loop.getResultTypes()) +
                        elementsPerLane(TypeRange(outside.getArrayRef()));
    most = std::max({most, live, liveElements(loop.getBlock())});
  }
  return most;
}

std::int64_t LaneLayout::elementsPerLane(ArrayRef<Axis> axes) const {
  std::int64_t count = 1;
  for (const Axis &axis : axes) {
    count *= rowsOf(axis);
  }
  return count;
}

} // namespace recurra::cuda
