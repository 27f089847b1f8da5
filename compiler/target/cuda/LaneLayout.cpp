// Choosing the lane axis.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/LaneLayout.h"

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
}

std::int64_t LaneLayout::elementsPerLane(ArrayRef<Axis> axes) const {
  std::int64_t count = 1;
  for (const Axis &axis : axes) {
    count *= rowsOf(axis);
  }
  return count;
}

} // namespace recurra::cuda
