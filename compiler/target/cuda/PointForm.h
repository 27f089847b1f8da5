// Nests whose tokens do not know of each other: each token of each head is a
// point, and a few lanes of a warp compute it alone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/chunk/Chunk.h"

#include <optional>

namespace recurra::cuda {

/// How the entries of the only axis are spread over lanes. A lane has `rows`
/// vectors of `width` neighbours, `lanes` * `width` entries apart. Where
/// nothing is summed over the axis, it is cut into `cuts` points.
struct PointForm {
  /// Nothing if tokens meet, or tiles have more than one axis.
  static std::optional<PointForm> find(chunk::ForallOp forall);

  mlir::StringAttr axis; ///< null if all is numbers
  std::int64_t extent = 1;
  std::int64_t width = 1;
  std::int64_t lanes = 1; ///< of a point; a warp has 32 / lanes points
  std::int64_t rows = 1;
  std::int64_t cuts = 1;
  std::int64_t ahead = 1; ///< points of a lane whose loads are in flight
  llvm::SmallVector<chunk::LoadOp> loads;
  llvm::SmallVector<chunk::StoreOp> stores;

  std::int64_t perWarp() const { return 32 / lanes; }
  /// Entries that all lanes of a point hold, those that do not exist included.
  std::int64_t capacity() const { return lanes * width * rows * cuts; }

private:
  bool readOps(chunk::ForallOp forall);
  bool addTile(chunk::TileType tile);
  void spread(bool hasSums);
  void spreadForSums();
  std::int64_t bytesOf(chunk::LoadOp load) const;
};

} // namespace recurra::cuda
