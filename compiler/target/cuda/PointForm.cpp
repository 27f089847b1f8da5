// Which nests are points (1), and how their axis is spread over lanes (2).
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/PointForm.h"

#include "compiler/target/cpu/TileLayout.h"

#include <algorithm>

using namespace mlir;

namespace recurra::cuda {

using cpu::ceilDiv;

constexpr std::int64_t warpSize = 32;

//===----------------------------------------------------------------------===//
// 1. Which nests
//===----------------------------------------------------------------------===//

/// Tokens first, then heads, each at one position; then the axis, whole.
static bool isPlain(chunk::BufferType type, OperandRange indices) {
  for (auto [i, name] : llvm::enumerate(type.getNames())) {
    bool isToken = name == "T", isHead = name == "H";
    Value span = chunk::findIndex(indices, name);
    if (type.getWindows()[i] != 0 || (isToken && i != 0) ||
        (type.getPers()[i] != 1 && !isHead) || (isToken || isHead) != !!span ||
        (span && cast<chunk::SpanType>(span.getType()).getCapacity() != 1)) {
      return false;
    }
  }
  return true;
}

/// The loops over tokens, each around the next one alone and carrying nothing;
/// the innermost one visits single tokens.
static bool hasFreeTokens(chunk::ForallOp forall) {
  Block *block = &forall.getBlock();
  std::int64_t step = 0;
  while (true) {
    auto loops = block->getOps<chunk::ForOp>();
    if (loops.empty()) {
      return step == 1;
    }
    chunk::ForOp loop = *loops.begin();
    bool isLast = std::next(loops.begin()) == loops.end();
    bool isPlain =
        isLast && loop.getAxis() == "T" && loop.getInits().empty() && step != 1;
    if (!isPlain || !block->getOps<chunk::StoreOp>().empty()) {
      return false;
    }
    step = loop.getStep();
    block = &loop.getBlock();
  }
}

bool PointForm::addTile(chunk::TileType tile) {
  if (tile.getRank() == 0) {
    return true;
  }
  StringAttr name = tile.getNames().front();
  bool isFirst = !axis;
  axis = isFirst ? name : axis;
  extent = isFirst ? tile.getSize(name) : extent;
  return tile.getRank() == 1 && axis == name && extent == tile.getSize(name);
}

bool PointForm::readOps(chunk::ForallOp forall) {
  bool isPoints = true;
  forall.walk([&](Operation *op) {
    if (op == forall || isa<chunk::MapOp>(op->getParentOp())) {
      return;
    }
    if (auto load = dyn_cast<chunk::LoadOp>(op)) {
      isPoints &= isa<BlockArgument>(load.getBuffer()) &&
                  isPlain(load.getBuffer().getType(), load.getIndices());
      loads.push_back(load);
    } else if (auto store = dyn_cast<chunk::StoreOp>(op)) {
      isPoints &= isa<BlockArgument>(store.getBuffer()) && !store.getFirst() &&
                  isPlain(store.getBuffer().getType(), store.getIndices());
      stores.push_back(store);
    } else {
      isPoints &= isa<chunk::ForOp, chunk::MapOp, chunk::DotOp, chunk::ReduceOp,
                      chunk::FillOp, chunk::PlaceOp, chunk::YieldOp>(op);
    }
    for (Type type : op->getResultTypes()) {
      isPoints &=
          isa<chunk::TileType>(type) && addTile(cast<chunk::TileType>(type));
    }
  });
  return isPoints && llvm::none_of(loads, [&](chunk::LoadOp load) {
           return llvm::any_of(stores, [&](chunk::StoreOp store) {
             return store.getBuffer() == load.getBuffer();
           });
         });
}

std::optional<PointForm> PointForm::find(chunk::ForallOp forall) {
  PointForm form;
  bool isPlain = forall.getNumIterators() == 2 && forall.getAxis(0) == "N" &&
                 forall.getAxis(1) == "H" && hasFreeTokens(forall);
  if (!isPlain || !form.readOps(forall) || form.stores.empty()) {
    return std::nullopt;
  }
  bool hasSums = false;
  forall.walk([&](Operation *op) {
    auto dot = dyn_cast<chunk::DotOp>(op);
    hasSums |= isa<chunk::ReduceOp>(op) || (dot && !dot.getOver().empty());
  });
  form.spread(hasSums);
  // More would not stay in registers.
  constexpr std::int64_t mostEntries = 64;
  if (form.rows * form.width > mostEntries) {
    return std::nullopt;
  }
  return form;
}

//===----------------------------------------------------------------------===//
// 2. How they are spread
//===----------------------------------------------------------------------===//

static std::int64_t bytesOfElement(Type element) {
  return element.getIntOrFloatBitWidth() / 8;
}

/// Lanes of a warp that have a point.
static std::int64_t busyLanes(std::int64_t lanes) {
  return warpSize / lanes * lanes;
}

std::int64_t PointForm::bytesOf(chunk::LoadOp load) const {
  std::int64_t bytes = bytesOfElement(load.getBuffer().getType().getElement());
  return load.getResult().getType().getRank() == 0 ? bytes
                                                   : bytes * rows * width;
}

/// The lanes that hold the fewest entries in vain; no lane has more than
/// `most`, unless 32 lanes do.
void PointForm::spreadForSums() {
  const std::int64_t vectors = extent / width;
  const std::int64_t most = width == 1 ? 4 : 8;
  double best = 0;
  // Sums over lanes know these numbers.
  for (std::int64_t count : {32, 16, 8, 6, 4, 3, 2, 1}) {
    std::int64_t each = ceilDiv(vectors, count);
    double used =
        double(vectors) * double(busyLanes(count)) / double(each * count);
    bool isAllowed = each * width <= most || count == warpSize;
    if (isAllowed && used > best) {
      best = used;
      lanes = count;
      rows = each;
    }
  }
}

void PointForm::spread(bool hasSums) {
  constexpr std::int64_t widest = 16; // bytes of a load
  std::int64_t least = widest;
  auto visit = [&](chunk::BufferType type, chunk::TileType tile) {
    if (tile.getRank() > 0) {
      least = std::min(least, bytesOfElement(type.getElement()));
    }
  };
  for (chunk::LoadOp load : loads) {
    visit(load.getBuffer().getType(), load.getResult().getType());
  }
  for (chunk::StoreOp store : stores) {
    visit(store.getBuffer().getType(), store.getValue().getType());
  }
  width = widest / least;
  while (extent % width != 0) {
    width /= 2;
  }
  if (hasSums) {
    spreadForSums();
  } else {
    std::int64_t vectors = extent / width;
    for (std::int64_t count = 1; count <= std::min(vectors, warpSize);
         ++count) {
      if (vectors % count == 0 && busyLanes(count) >= busyLanes(lanes)) {
        lanes = count;
      }
    }
    cuts = vectors / lanes;
  }
  // With some 1000 threads on a multiprocessor, more than the bytes that the
  // memory of the fastest devices takes to answer.
  constexpr std::int64_t bytesInFlight = 64, mostAhead = 4;
  std::int64_t bytes = 0;
  for (chunk::LoadOp load : loads) {
    bytes += bytesOf(load);
  }
  while (ahead < mostAhead && ahead * bytes < bytesInFlight) {
    ahead *= 2;
  }
}

} // namespace recurra::cuda
