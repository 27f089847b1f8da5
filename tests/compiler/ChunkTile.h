// Tiles as arrays of doubles, and the ops of the chunk dialect that make tiles
// from tiles.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/chunk/Chunk.h"

#include <map>
#include <string>
#include <vector>

namespace recurra {

/// A value: elements row-major in the type's axis order, and how far each axis
/// is valid.
struct Tile {
  chunk::TileType type;
  std::vector<double> values;
  std::map<std::string, int64_t> valid;
};

/// Calls `visit(index)` for every multi-index below `sizes`, row-major.
void forEachIndex(mlir::ArrayRef<int64_t> sizes,
                  llvm::function_ref<void(mlir::ArrayRef<int64_t>)> visit);

/// The position in a tile of an index over `axes`, those it lacks ignored.
int64_t locate(chunk::TileType type, mlir::ArrayRef<mlir::StringAttr> axes,
               mlir::ArrayRef<int64_t> index);

/// The result of a fill, map, reduce, scan, dot, rename, index or place. What a
/// map computes beyond the valid length is NaN.
Tile evaluateTile(mlir::Operation *op, mlir::ArrayRef<const Tile *> operands);

/// The operand with 0 or -inf beyond `length` on the span's axis.
Tile mask(chunk::MaskOp op, Tile value, int64_t length);

Tile makeTile(chunk::TileType type, double value);

} // namespace recurra
