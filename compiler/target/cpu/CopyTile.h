// Copies between the caller's memory (any dtype, any strides, ragged ends) and
// tiles in scratch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cpu/BodyGraph.h"
#include "compiler/target/cpu/Frame.h"

namespace recurra::cpu {

/// Reads a tile into `home`: zero beyond the valid length, nothing outside the
/// caller's memory touched. A tile without axes is returned as a scalar.
mlir::Value copyIn(Frame &frame, const UserView &from, const View &home,
                   const Axes &axes);

/// Writes a tile; what lies beyond the valid length is dropped. A tile without
/// axes is passed as `scalar`.
void copyOut(Frame &frame, const UserView &to, const View &home,
             const Axes &axes, mlir::Value scalar);

/// Copies a whole tile between two dense homes.
void copyDense(Frame &frame, const View &from, const View &to,
               const Axes &axes);

/// Sets a whole tile, padding included.
void fillDense(Frame &frame, const View &home, const Axes &axes,
               mlir::Value vector);

} // namespace recurra::cpu
