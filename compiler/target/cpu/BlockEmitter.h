// The bodies of chunk loops: builds the graph of a block, gives its values
// homes, and emits nests, copies and inner loops in order.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cpu/NestEmitter.h"

namespace recurra::cpu {

class BlockEmitter {
public:
  BlockEmitter(Frame &frame, mlir::Block &block);

  /// Emits the block. Carries with axes are updated in their homes; the next
  /// values of those without are returned, in order.
  llvm::SmallVector<mlir::Value> emit();

  // For loops that are emitted in parts, by RowSweep.
  BodyGraph &getGraph() { return graph; }
  Homes &getHomes() { return homes; }
  void emitNests(size_t first, size_t last);
  void emitAlias(Node &node);
  /// Gives what the loop reads, and its carries and results, their places.
  llvm::SmallVector<mlir::Value> enterCarries(Node &node, chunk::ForOp op,
                                              bool mayTrace);
  void bindStorage(const Node &loop);

private:
  void chooseHomes();
  void homeYields();
  void emitAlone(Node &node);
  void emitCopyIn(Node &node);
  void emitCopyOut(Node &node);
  void emitScan(Node &node);
  void emitFor(Node &node);
  void emitForall(chunk::ForallOp op, unsigned iterator);
  void placeTraced(Node &node, chunk::ForOp op, mlir::Value index,
                   bool areResults);
  mlir::Value carryOf(unsigned index);
  llvm::SmallVector<mlir::Value> closeCarries();

  Frame &f;
  mlir::Block &block;
  BodyGraph graph;
  Homes homes;
};

/// What `for` and `forall` share: the range of one iterator.
struct SpanRange {
  mlir::Value total, count; ///< entries to cover; iterations
};
SpanRange rangeOf(Frame &frame, mlir::Value span);

/// Binds a span to iteration `index` of its range (from the end if reversed).
void enterSpan(Frame &frame, mlir::Value span, const SpanRange &range,
               mlir::Value index, bool isReverse);

} // namespace recurra::cpu
