// What a body is taken apart into: elementary operations, and the nests that
// they are grouped into.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cpu/TileLayout.h"

#include <optional>
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

/// Its value at an index is known in the nest that walks its axes.
bool isPointwise(Node::Kind kind);

} // namespace recurra::cpu
