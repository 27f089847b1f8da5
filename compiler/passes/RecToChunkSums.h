// The nests that add up partial results in a fixed order.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/passes/RecToChunkBoundary.h"
#include "compiler/passes/RecToChunkStep.h"

namespace recurra {

/// A result that tasks, heads or sequences have stored in parts.
struct PartialResult {
  const Port *port;
  Part part;             ///< Sum: one slot per tile in the workspace
  mlir::Value workspace; ///< [T or N, H, slots of the tiled axis, axes..]
};

/// Appends one forall for all results with the same loops: slots, then heads,
/// then sequences are added, each in ascending order.
void emitSums(StepEmitter &step, const Spec &spec, const Plan &plan,
              llvm::ArrayRef<PartialResult> results);

/// The indices of an access to `buffer`: those spans (null ones left out)
/// whose axes the buffer has, in its order.
llvm::SmallVector<mlir::Value> indicesOf(mlir::Value buffer,
                                         mlir::ValueRange spans);

} // namespace recurra
