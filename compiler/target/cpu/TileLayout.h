// How tiles lie in scratch memory: which axis runs along the lanes of a vector
// (unit stride, padded to whole vectors), which axes are rows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/chunk/Chunk.h"

#include <map>

namespace recurra::cpu {

struct Axis {
  mlir::StringAttr name;
  std::int64_t size = 1;
  bool operator==(const Axis &) const = default;
};

/// In layout order: rows, slowest first, then the lane axis.
using Axes = llvm::SmallVector<Axis, 4>;

bool hasAxis(llvm::ArrayRef<Axis> axes, mlir::StringAttr name);

/// One total order over the axes below an op (a nest). The lane axis of a tile
/// is its greatest axis, so a tile that holds the lane axis of a larger one has
/// the same lane axis. Greater: at least a vector long, no axis of tokens,
/// named by `cpu.lanes`, later in the alphabet.
class AxisOrder {
public:
  AxisOrder(mlir::Operation *root, std::int64_t lanes);

  Axes sorted(chunk::TileType type) const;
  void sort(Axes &axes) const;

private:
  std::tuple<bool, bool, bool, llvm::StringRef>
  rank(mlir::StringAttr name) const;

  std::int64_t lanes;
  mlir::StringAttr preferred;
  std::map<llvm::StringRef, std::int64_t> sizes;
};

/// Where a tile lies: a byte offset into scratch or, if `base` is set, an
/// address; one stride per axis, in elements.
struct View {
  struct Step {
    mlir::StringAttr axis;
    std::int64_t stride;
  };
  std::int64_t offset = -1;
  mlir::Value base;
  llvm::SmallVector<Step, 4> steps;

  bool isSet() const { return base || offset >= 0; }
  /// 0 if the view does not have the axis.
  std::int64_t stride(mlir::StringAttr axis) const;
};

/// Row-major in the order of `axes`, the last one padded to whole vectors.
View makeDenseView(llvm::ArrayRef<Axis> axes, std::int64_t lanes);

/// Elements of such a view, padding included.
std::int64_t paddedElements(llvm::ArrayRef<Axis> axes, std::int64_t lanes);

inline std::int64_t ceilDiv(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

} // namespace recurra::cpu
