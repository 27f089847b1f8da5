// Emits the ops of a token's step (or of the boundary) as ops on tiles.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/chunk/Chunk.h"
#include "compiler/passes/Plan.h"
#include "compiler/passes/PlanTiling.h"

namespace recurra {

/// Turns rec values into tiles, on demand, at the builder's position.
/// Elementwise ops that feed one other op of the same axes become one map; a
/// sum of a product becomes a dot, an outer product added to something a dot
/// `over []` into it. Constants, broadcasts and compares are never tiles.
class StepEmitter {
public:
  StepEmitter(mlir::OpBuilder &builder, const Spec &spec, const Plan &plan,
              const PlanTiling &tiling)
      : builder(builder), spec(spec), plan(plan), tiling(tiling) {}

  mlir::OpBuilder &builder;

  /// The span of the tiled axis in the loops around; null if it is whole.
  mlir::Value tileSpan;

  void bind(mlir::Value value, mlir::Value tile) { tiles[value] = tile; }

  /// What is bound or emitted while a Scope lives is forgotten behind it: it
  /// stands in a loop's body.
  class Scope {
  public:
    explicit Scope(StepEmitter &step) : step(step), outside(step.tiles) {}
    ~Scope() { step.tiles = outside; }

  private:
    StepEmitter &step;
    llvm::DenseMap<mlir::Value, mlir::Value> outside;
  };

  /// The tile of a value: bound, or emitted now with all it needs.
  mlir::Value get(mlir::Value value);
  /// The same, but counted in the first task only if `part` is Sum and the
  /// value is the same in all tasks.
  mlir::Value getAs(mlir::Value value, Part part);
  Part partOf(mlir::Value value) const { return tiling.of(value); }

  /// Emits the ops of a step that need no value of the largest rank: first, so
  /// that the ops on whole states follow one another and a target can walk the
  /// states once. `isSmall`: such an op may read the token.
  void emitSmall(mlir::Block &block);
  static bool isSmall(mlir::BlockArgument token);
  /// Emits the ops of a block in their order, but for those that others absorb.
  void emitBlock(mlir::Block &block);
  /// Emits, here and now, what `block` uses from outside it.
  void emitCaptures(mlir::Block &block);

  std::int64_t sizeOf(llvm::StringRef axis) const;
  bool isTiled(llvm::StringRef axis) const {
    return plan.tile != 0 && axis == plan.axis;
  }
  chunk::TileType tileType(llvm::ArrayRef<mlir::StringAttr> axes) const;
  chunk::TileType tileType(llvm::ArrayRef<std::string> axes) const;
  mlir::Type element() const;
  mlir::Value fill(mlir::Location loc, double value, chunk::TileType type);
  mlir::Value first(mlir::Value tile);

private:
  mlir::Value emit(mlir::Operation *op);
  mlir::Value emitMap(mlir::Value root);
  mlir::Value emitDot(rec::MulOp mul, rec::SumOp op, mlir::Value into);
  mlir::Value emitSum(rec::SumOp op);
  mlir::Value emitAmax(rec::AmaxOp op);
  mlir::Value emitAdd(rec::AddOp op);
  bool needsFirst(mlir::Operation *op, mlir::Value operand) const;
  mlir::Value clean(mlir::Value tile, mlir::ArrayAttr over, bool isMax);

  /// Gathers what the map of `root` reads, and fills its region.
  struct MapBuilder;

  const Spec &spec;
  const Plan &plan;
  const PlanTiling &tiling;
  llvm::DenseMap<mlir::Value, mlir::Value> tiles;
};

} // namespace recurra
