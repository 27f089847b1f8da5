// How tiles are spread over the lanes of a warp: one axis of a nest along the
// lanes, the others in each lane's registers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cpu/TileLayout.h"

namespace recurra::cuda {

using cpu::Axes;
using cpu::Axis;
using cpu::ceilDiv;

inline constexpr std::int64_t warpSize = 32;

/// Entry e of the lane axis is in lane e % 32, row e / 32; in a kernel over
/// points, `lanes` lanes hold vectors of `width` neighbours of a point's cut. A
/// tile without that axis is in every lane.
class LaneLayout {
public:
  /// The lane axis of a top-level forall is the one with the fewest elements
  /// per lane over all its tiles; the last of several.
  explicit LaneLayout(chunk::ForallOp forall);

  bool isLane(mlir::StringAttr axis) const { return axis && axis == lane; }
  bool hasLane(llvm::ArrayRef<Axis> axes) const {
    return lane && cpu::hasAxis(axes, lane);
  }
  /// Entries of an axis that one lane holds.
  std::int64_t rowsOf(const Axis &axis) const {
    return isLane(axis.name) ? ceilDiv(axis.size, lanes * width * cuts) * width
                             : axis.size;
  }
  std::int64_t elementsPerLane(llvm::ArrayRef<Axis> axes) const;

  mlir::StringAttr lane; ///< null if no tile has axes
  std::int64_t lanes = warpSize, width = 1, cuts = 1;
  std::string first; ///< points: the variable of a lane's first entry
  /// Loops over more elements per lane are not unrolled, and the arrays that
  /// they index lie in local memory.
  std::int64_t maxUnrolled = 128;

private:
  std::int64_t elementsPerLane(mlir::TypeRange tiles) const;
  std::int64_t liveElements(mlir::Block &block) const;
};

} // namespace recurra::cuda
