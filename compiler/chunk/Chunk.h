// The chunk dialect: types and ops, generated from Chunk.td, and the few
// queries on them that its consumers share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

// clang-format off
#include "compiler/chunk/ChunkDialect.h.inc"
// clang-format on

#define GET_TYPEDEF_CLASSES
#include "compiler/chunk/ChunkTypes.h.inc"

#define GET_OP_CLASSES
#include "compiler/chunk/Chunk.h.inc"

namespace recurra::chunk {

/// The loop (forall or for) whose iterations a span stands for.
mlir::Operation *getLoop(mlir::Value span);

/// The span that `span` was cut from (`%c` in `for %t in %c`, `%n` in
/// `T of %n`), or null for a root axis.
mlir::Value getParent(mlir::Value span);

/// True if `span` is `ancestor` or was cut from it, directly or not.
bool isDerivedFrom(mlir::Value span, mlir::Value ancestor);

/// The span whose offset a window axis `A:window` of a buffer takes: the
/// nearest enclosing span of capacity `window`; null if there is none.
mlir::Value getWindowSpan(mlir::Value span, int64_t window);

/// The size of a user axis, from the function's `chunk.extents`; 0 if unknown.
int64_t getExtent(mlir::Operation *op, mlir::StringRef axis);

/// The index of a load or store on a buffer's axis; null if taken whole.
mlir::Value findIndex(mlir::OperandRange indices, mlir::StringRef axis);

} // namespace recurra::chunk
