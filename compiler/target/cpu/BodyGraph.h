// The body of a chunk loop as a graph of elementary operations, grouped into
// nests: loops that walk a set of axes once and keep products in registers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cpu/Node.h"

#include <memory>
#include <vector>

namespace recurra::cpu {

class BodyGraph {
public:
  BodyGraph(mlir::Block &block, const AxisOrder &order);

  std::vector<Nest> &getNests() { return nests; }
  /// What the block's terminator yields; may be Known.
  llvm::ArrayRef<Node *> getYields() const { return yields; }
  /// The last nest in which memory of a Known node is read; -1 if never.
  int lastRead(const Node *known) const;
  /// Nothing reads the node after `loop`, which takes it as an initial value.
  bool isLastUse(const Node *node, const Node *loop) const;
  const llvm::DenseMap<mlir::Value, Node *> &getBindings() const {
    return byValue;
  }
  /// The node of a value that the block or an enclosing one defines.
  Node *find(mlir::Value value);

private:
  void add(mlir::Operation &op);
  void addLoop(mlir::Operation &op);
  void addMap(chunk::MapOp op);
  void addDot(chunk::DotOp op);
  void addMemory(mlir::Operation &op);
  Node *maskTo(Node *node, mlir::Value span, bool isMinusInfinity);
  Node *addRegionOp(mlir::Operation &op,
                    llvm::DenseMap<mlir::Value, Node *> &values);
  Node *addReduce(Node *source, mlir::ArrayAttr over, bool isMax);
  Node *make(Node::Kind kind, Axes axes, llvm::ArrayRef<Node *> operands,
             mlir::Type element, mlir::Operation *op = nullptr);
  Node *makeElementwise(mlir::OperationName name, mlir::DictionaryAttr attrs,
                        llvm::ArrayRef<Node *> operands, mlir::Type element);
  Node *makeElementwise(llvm::StringRef name, llvm::ArrayRef<Node *> operands,
                        mlir::Type element);
  Node *makeConstant(double value, mlir::Type element);
  Node *makeQuotient(Node *dividend, Node *divisor, mlir::Operation &op);
  Node *yieldNode(Node *node, unsigned index);
  Node *broadcastTo(Node *node, chunk::TileType type);
  void define(mlir::Value value, Node *node);
  Axes uniteAxes(llvm::ArrayRef<Node *> nodes) const;
  void place(Node *node, const Axes &domain, int least);
  int levelFor(const Node *operand, const Axes &domain) const;
  void markStored();
  void markUse(Node *operand, int nest);

  mlir::Block &block;
  const AxisOrder &order;
  mlir::MLIRContext *context;
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<Nest> nests;
  llvm::SmallVector<Node *> yields;
  llvm::DenseMap<mlir::Value, Node *> byValue;
  std::map<
      std::pair<std::pair<const void *, const void *>, std::vector<Node *>>,
      Node *>
      elementwise;
  struct Access {
    int load = -1, store = -1;
  };
  llvm::DenseMap<mlir::Value, Access> accesses;
  llvm::DenseMap<const Node *, int> lastReads;
  int fence = 0;
};

/// The span has its full capacity in every iteration.
bool isAlwaysFull(mlir::Value span);

/// True for a buffer that `chunk.alloc scratch` made.
bool isScratch(mlir::Value buffer);

} // namespace recurra::cpu
