// One elementwise rec op on one entry: arith and math ops on scalars.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/IR/Builders.h"

namespace recurra {

mlir::Value emitNumber(mlir::OpBuilder &builder, mlir::Location loc,
                       double value, mlir::Type element);

/// `op` is elementwise, const or cmp; `operands` are scalars (i1 for a mask).
mlir::Value emitScalar(mlir::OpBuilder &builder, mlir::Operation *op,
                       mlir::ValueRange operands, mlir::Type element);

} // namespace recurra
