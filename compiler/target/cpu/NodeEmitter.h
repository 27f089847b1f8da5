// The nodes of a nest at one point: a row (or several unrolled ones) and one
// vector of lanes. In a nest without axes, on scalars.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cpu/NestEmitter.h"

namespace recurra::cpu {

class NodeEmitter {
public:
  NodeEmitter(Frame &frame, const Nest &nest, Homes &homes);

  /// Before all loops: what has no axes, in every lane of a vector.
  void hoistScalars();
  /// Inside the lane loop, before the rows: what has the lane axis only.
  void startBlock(mlir::Value laneFirst, std::int64_t vectors);
  /// Nothing is known of any point.
  void startBody();
  /// Goes to a point. Row indices (one per row axis), number of the unrolled
  /// row, number of the vector in its block.
  void startPoint(llvm::ArrayRef<mlir::Value> row, std::int64_t rowNumber,
                  std::int64_t vector);
  /// The value of a node at this point, which is not computed then.
  void setValue(const Node *node, mlir::Value value) { here(node) = value; }
  /// Computes every node but reductions, and stores what has a home.
  void evaluate();
  /// Computes one node that is neither a reduction nor a store.
  void evaluate(const Node *node);
  /// Stores the value of a node with a home, or that goes to a scratch buffer.
  void store(const Node *node);

  /// The value of a node at this point.
  mlir::Value operand(const Node *node);
  /// `value` with lanes beyond the lane axis's size replaced.
  mlir::Value withoutPadding(mlir::Value value, double by);
  /// The address in a view at this row, and at this vector if asked.
  mlir::Value address(const View &view, bool withLane);
  /// The address of vector j of the block in a view of the lane axis alone.
  mlir::Value lanePointer(const View &view, std::int64_t j);

private:
  mlir::Value &here(const Node *node) {
    return atPoint[{node, rowNumber, vectorNumber}];
  }
  bool isScalarNest() const { return nest.domain.empty(); }
  mlir::Value compute(const Node *node);
  mlir::Value computeElementwise(const Node *node);
  mlir::Value constant(const Node *node);
  mlir::Value place(const Node *node);
  mlir::Value mask(const Node *node);
  mlir::Value first(const Node *node);
  mlir::Value load(const Node *node, const View &view);
  mlir::Value gather(const View &view);
  mlir::Value rowOffset(const View &view);
  mlir::Value laneStart(std::int64_t j);
  void forEachOperand(llvm::function_ref<void(const Node *)> body);

  Frame &f;
  const Nest &nest;
  Homes &homes;
  Axis lane;
  mlir::Value laneFirst;
  llvm::SmallVector<mlir::Value> row;
  std::int64_t rowNumber = 0, vectorNumber = 0;
  llvm::DenseMap<const Node *, mlir::Value> splats;
  std::map<std::pair<const Node *, std::int64_t>, mlir::Value> atLanes, atRow;
  std::map<std::tuple<const Node *, std::int64_t, std::int64_t>, mlir::Value>
      atPoint;
};

} // namespace recurra::cpu
