// One nest as loops over rows and straight-line code over lanes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cpu/BodyGraph.h"
#include "compiler/target/cpu/Frame.h"

namespace recurra::cpu {

/// Where node results live. Scalars are set when their nest is emitted.
using Homes = llvm::DenseMap<const Node *, Storage>;

/// Emits a nest that is not alone. Known operands are found in `frame.storage`,
/// others in `homes`.
void emitNest(Frame &frame, const Nest &nest, Homes &homes);

/// The storage of a node that has one.
Storage &storageOf(Frame &frame, Homes &homes, const Node *node);

/// Sums (or maxima) of vectors: `partial` holds `count` vectors, one for each
/// element from `target` on; `count` is a multiple of the lanes.
void finishLaneReduction(Frame &frame, mlir::Value partial, mlir::Value target,
                         std::int64_t count, bool isMax);

/// The sum (or maximum) of one vector, by halves.
mlir::Value reduceLanes(Frame &frame, mlir::Value vector, bool isMax);

} // namespace recurra::cpu
