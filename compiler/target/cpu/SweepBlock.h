// What a step of a sweep covers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/IR/Value.h"

namespace recurra::cpu {

/// Positions in the window of tokens; there are at most `most`.
struct TokenRange {
  mlir::Value first, last;
  std::int64_t most;
};

/// A block of the states: `rows` rows of `vectors` vectors, from an element.
struct StateBlock {
  mlir::Value row, lane; ///< of the first element
  std::int64_t rows, vectors;
};

} // namespace recurra::cpu
