// Runs a function of the chunk dialect in double, slowly and suspiciously: the
// judge of every pass at this level.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/Evaluate.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace recurra {

/// Sizes of a call, as in KernelShape.
struct ChunkSizes {
  std::int64_t rows = 1, tokens = 0, heads = 1;
  std::vector<std::int64_t> offsets; ///< cu_seqlens if packed
  std::int64_t sequences() const {
    return offsets.empty() ? rows
                           : static_cast<std::int64_t>(offsets.size()) - 1;
  }
};

/// Runs `function` on dense row-major arrays, one per argument, updated in
/// place. Parallel iterations run in an order drawn from `seed`; padding that
/// a map computes is NaN; workspaces and scratch start as NaN. Returns the
/// first complaint (an element stored twice, an index outside a buffer), or
/// nothing.
std::string evaluateChunk(mlir::func::FuncOp function, const ChunkSizes &sizes,
                          std::vector<Array> &arguments, unsigned seed = 1);

/// The number of elements of argument `index` at these sizes.
std::int64_t countElements(mlir::func::FuncOp function, unsigned index,
                           const ChunkSizes &sizes);

} // namespace recurra
