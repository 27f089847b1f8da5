// A carry whose every value is stored to a window of scratch, a trace, lives
// there: the token's new value is written to the slot behind the old one, once,
// and not to a home of its own as well.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cpu/Frame.h"

namespace recurra::cpu {

/// The store of carry `index` of `loop` to its trace, or null. The trace must
/// be written by nothing else and not be read in the loop.
chunk::StoreOp findTraceStore(chunk::ForOp loop, unsigned index,
                              llvm::ArrayRef<Axis> axes);

/// Slot `position` of a trace.
View traceSlot(Frame &frame, mlir::Value trace, llvm::ArrayRef<Axis> axes,
               mlir::Value position);

} // namespace recurra::cpu
