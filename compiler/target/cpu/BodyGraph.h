// The body of a chunk loop as a graph of elementary operations, grouped into
// nests: loops that walk a set of axes once and keep products in registers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cpu/TileLayout.h"

#include <memory>
#include <vector>

namespace recurra::cpu {

struct Node {
  enum class Kind {
    Known,        ///< defined outside the block, or a carry
    Constant,     ///< a number
    Elementwise,  ///< an arith or math op; its axes are the operands' union
    Broadcast,    ///< its operand on more axes
    Place,        ///< its operand at one position of an axis, else 0
    Mask,         ///< its operand within the valid length of a span
    First,        ///< its operand if a span starts its axis, else 0
    Alias,        ///< its operand's memory under other axis names
    Reduce,       ///< add or max over axes of its operand
    Scan,         ///< running add or max along an axis
    CopyIn,       ///< from user memory to scratch
    CopyOut,      ///< from scratch to user memory
    ScratchLoad,  ///< from a scratch buffer
    ScratchStore, ///< to a scratch buffer
    Loop,         ///< a chunk.for, or a nested forall
    LoopResult
  };
  Kind kind;
  Axes axes; ///< of the result; of the stored value
  llvm::SmallVector<Node *, 3> operands;
  mlir::Operation *op = nullptr; ///< of the chunk dialect
  mlir::Value value;             ///< Known, LoopResult: the chunk value
  mlir::Value span;              ///< Mask
  // Elementwise, Constant: what to create, on scalars or on vectors.
  std::optional<mlir::OperationName> name;
  mlir::DictionaryAttr attributes;
  mlir::Type element; ///< f32, f64 or i1
  bool isMax = false; ///< Reduce, Scan; Mask: what is outside is -inf
  int nest = -1;
  bool stored = false; ///< needed outside its nest: has a home in scratch

  /// Not tied to a nest: evaluated wherever it is used.
  bool floats() const { return kind == Kind::Constant || element.isInteger(1); }
};

struct Nest {
  Axes domain;
  std::vector<Node *> nodes;
  bool isAlone; ///< a copy, scan or loop: nothing may join
};

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

/// Its value at an index is known in the nest that walks its axes.
bool isPointwise(Node::Kind kind);

/// The span has its full capacity in every iteration.
bool isAlwaysFull(mlir::Value span);

/// True for a buffer that `chunk.alloc scratch` made.
bool isScratch(mlir::Value buffer);

} // namespace recurra::cpu
