// What becomes of every value of a rec function when one axis is cut into
// tiles that run as independent tasks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/rec/Rec.h"
#include "llvm/ADT/DenseMap.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace recurra {

/// What one task holds of a value.
enum class Part {
  Tile, ///< it has the axis: the task's tile of it
  Same, ///< it lacks the axis: all tasks compute the same
  Sum   ///< it lacks the axis: the value is the sum over the tasks
};

/// Follows an axis through a function. The axis may be cut (`isLegal`) if a
/// sum over it meets only operations that are linear in it, so that tasks never
/// need each other's part before the end: then the axis is *free*.
class PlanTiling {
public:
  PlanTiling(mlir::func::FuncOp function, llvm::StringRef axis);

  bool isLegal() const { return legal; }
  /// How often a value is summed along the axis, per token.
  unsigned getSums() const { return sums; }
  llvm::StringRef getAxis() const { return axis; }
  Part of(mlir::Value value) const { return parts.lookup(value); }

private:
  bool hasAxis(mlir::Value value) const;
  void set(mlir::Value value, Part part);
  void visitBlock(mlir::Block &block);
  void visitScan(rec::ScanOp scan);
  void visitOp(mlir::Operation *op);
  Part combine(mlir::Operation *op);

  std::string axis;
  bool legal = true;
  unsigned sums = 0;
  llvm::DenseMap<mlir::Value, Part> parts;
};

} // namespace recurra
