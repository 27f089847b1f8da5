// Recurrences whose states are vectors and never summed: every entry walks the
// tokens by itself, so a thread takes a few neighbours.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/chunk/Chunk.h"

#include <optional>

namespace recurra::cuda {

/// A thread has `width` neighbours of the only axis, in all tokens of a
/// sequence, and loads `ahead` tokens before it steps through them.
struct VectorForm {
  /// Nothing if entries meet, or a single entry is all that a thread can take.
  static std::optional<VectorForm> find(chunk::ForallOp forall);

  mlir::StringAttr axis;
  std::int64_t size = 1; ///< of a tile
  std::int64_t width = 1;
  std::int64_t ahead = 1;
  chunk::ForOp tokens;                      ///< the loop over single tokens
  llvm::SmallVector<chunk::LoadOp> loads;   ///< in that loop
  llvm::SmallVector<chunk::StoreOp> stores; ///< in that loop

  std::int64_t perTile() const { return size / width; }

private:
  bool readOps(chunk::ForallOp forall);
  bool addTile(chunk::TileType tile);
  bool readTokens();
  void choose(std::int64_t extent);
  std::int64_t countLive();
};

} // namespace recurra::cuda
