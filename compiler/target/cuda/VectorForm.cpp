// Which nests walk entry by entry (1), and how wide a thread is (2).
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/VectorForm.h"

#include "llvm/ADT/SetVector.h"

#include <algorithm>

using namespace mlir;

namespace recurra::cuda {

//===----------------------------------------------------------------------===//
// 1. Which nests
//===----------------------------------------------------------------------===//

bool VectorForm::addTile(chunk::TileType tile) {
  if (tile.getRank() == 0) {
    return true;
  }
  StringAttr name = tile.getNames().front();
  bool isFirst = !axis;
  axis = isFirst ? name : axis;
  size = isFirst ? tile.getSize(name) : size;
  return tile.getRank() == 1 && axis == name && size == tile.getSize(name);
}

static bool isElementwise(Operation *op) {
  auto dot = dyn_cast<chunk::DotOp>(op);
  return (dot && dot.getOver().empty()) ||
         isa<chunk::MapOp, chunk::FillOp, chunk::YieldOp>(op);
}

bool VectorForm::readOps(chunk::ForallOp forall) {
  bool isFree = true;
  forall.walk([&](Operation *op) {
    if (op == forall || isa<chunk::MapOp>(op->getParentOp())) {
      return;
    }
    if (auto loop = dyn_cast<chunk::ForOp>(op)) {
      bool isInner = loop.getBlock().getOps<chunk::ForOp>().empty();
      isFree &= loop.getAxis() == "T" && (!isInner || !tokens);
      tokens = isInner ? loop : tokens;
    } else if (auto load = dyn_cast<chunk::LoadOp>(op)) {
      isFree &= isa<BlockArgument>(load.getBuffer());
    } else if (auto store = dyn_cast<chunk::StoreOp>(op)) {
      isFree &= isa<BlockArgument>(store.getBuffer()) && !store.getFirst() &&
                store.getValue().getType().getRank() == 1;
    } else {
      isFree &= isElementwise(op);
    }
    for (Type type : op->getResultTypes()) {
      auto tile = dyn_cast<chunk::TileType>(type);
      isFree &= tile && addTile(tile);
    }
  });
  return isFree && axis && tokens;
}

/// One token's part of a tensor: its first dimensions are tokens.
static bool isOfToken(chunk::BufferType type, OperandRange indices) {
  Value span =
      chunk::findIndex(indices, StringAttr::get(type.getContext(), "T"));
  return span && type.getNames().front() == "T" &&
         type.getWindows().front() == 0 && type.getPers().front() == 1 &&
         cast<chunk::SpanType>(span.getType()).getCapacity() == 1;
}

bool VectorForm::readTokens() {
  for (auto load : tokens.getBlock().getOps<chunk::LoadOp>()) {
    loads.push_back(load);
  }
  for (auto store : tokens.getBlock().getOps<chunk::StoreOp>()) {
    stores.push_back(store);
  }
  auto isPlain = [](auto op) {
    return isOfToken(op.getBuffer().getType(), op.getIndices());
  };
  return tokens.getStep() == 1 && !loads.empty() &&
         llvm::all_of(loads, isPlain) && llvm::all_of(stores, isPlain) &&
         llvm::none_of(loads, [&](chunk::LoadOp load) {
           return llvm::any_of(load.getBuffer().getUsers(),
                               llvm::IsaPred<chunk::StoreOp>);
         });
}

std::optional<VectorForm> VectorForm::find(chunk::ForallOp forall) {
  VectorForm form;
  unsigned count = forall.getNumIterators();
  if (count < 2 || count > 3 || forall.getAxis(0) != "N" ||
      forall.getAxis(1) != "H" || !form.readOps(forall) || !form.readTokens() ||
      (count == 3 && forall.getAxis(2) != form.axis.getValue())) {
    return std::nullopt;
  }
  form.choose(chunk::getExtent(forall, form.axis.getValue()));
  return form.width > 1 ? std::optional(form) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// 2. How wide
//===----------------------------------------------------------------------===//

static std::int64_t bytesOfElement(Type element) {
  return element.getIntOrFloatBitWidth() / 8;
}

/// Registers of 4 bytes for each entry that a thread keeps between tokens.
std::int64_t VectorForm::countLive() {
  llvm::SetVector<Value> values;
  auto add = [&](Value value) {
    auto tile = dyn_cast<chunk::TileType>(value.getType());
    if (tile && tile.getRank() == 1) {
      values.insert(value);
    }
  };
  llvm::for_each(tokens.getCarries(), add);
  for (Operation &op : tokens.getBlock()) {
    for (Value operand : op.getOperands()) {
      if (operand.getParentBlock() != &tokens.getBlock()) {
        add(operand);
      }
    }
  }
  std::int64_t live = 0;
  for (Value value : values) {
    auto tile = cast<chunk::TileType>(value.getType());
    live += bytesOfElement(tile.getElement()) / 4;
  }
  return live;
}

void VectorForm::choose(std::int64_t extent) {
  constexpr std::int64_t widest = 8; // bytes of a load
  constexpr std::int64_t registers = 64;
  std::int64_t least = widest, bytes = 0;
  auto visit = [&](chunk::BufferType type, chunk::TileType tile) {
    if (tile.getRank() > 0) {
      least = std::min(least, bytesOfElement(type.getElement()));
    }
  };
  for (chunk::StoreOp store : stores) {
    visit(store.getBuffer().getType(), store.getValue().getType());
  }
  for (chunk::LoadOp load : loads) {
    visit(load.getBuffer().getType(), load.getResult().getType());
    bytes += load.getResult().getType().getRank() > 0
                 ? bytesOfElement(load.getBuffer().getType().getElement())
                 : 0;
  }
  std::int64_t live = countLive();
  width = widest / least;
  while (width > 1 && (extent % width != 0 || size % width != 0 ||
                       live * width > registers)) {
    width /= 2;
  }
  // Threads are few: each has much on its way.
  constexpr std::int64_t bytesInFlight = 128, mostAhead = 8;
  while (ahead < mostAhead && ahead * bytes * width < bytesInFlight) {
    ahead *= 2;
  }
}

} // namespace recurra::cuda
