// What is known of spans, sequences, tiles and the caller's tensors at run
// time. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cpu/TileLayout.h"

namespace recurra::cpu {

/// A span at run time. `valid` is null if it always equals the capacity.
struct SpanInfo {
  mlir::StringAttr axis;
  std::int64_t capacity = 1;
  mlir::Value origin, valid;
};

/// One sequence: its row, its first token in the row, its length, and its
/// first token counted over all rows.
struct SequenceInfo {
  mlir::Value row, start, length, first;
};

/// Where a tile value is: in memory, or, without axes, in a register.
struct Storage {
  View view;
  mlir::Value scalar;
};

/// Memory of the caller as one tile sees it: an address, and per axis of the
/// tile a stride and, unless all entries exist, how many do.
struct UserView {
  mlir::Value base;
  mlir::Type element;
  struct Step {
    Axis axis;
    mlir::Value stride, valid;
  };
  llvm::SmallVector<Step, 4> steps; ///< in layout order
};

} // namespace recurra::cpu
