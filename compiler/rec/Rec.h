// The dialect `rec`: types over named axes, ops, and the axis-set helpers that
// every pass over it needs. Rec.td is the reference.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/rec/RecDialect.h.inc"
#include "compiler/rec/RecEnums.h.inc"
#include "compiler/rec/RecInterfaces.h.inc"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_TYPEDEF_CLASSES
#include "compiler/rec/RecTypes.h.inc"

namespace recurra::rec {

/// A sorted set of axis names.
using Axes = llvm::SmallVector<mlir::StringAttr, 4>;

/// The axes of a Val, Mask or Seq.
llvm::ArrayRef<mlir::StringAttr> axesOf(mlir::Type type);
inline llvm::ArrayRef<mlir::StringAttr> axesOf(mlir::Value value) {
  return axesOf(value.getType());
}

/// The union of the axes of some values.
Axes axesOfAll(mlir::ValueRange values);

/// `left` and `right` united; `left` without `right`. Both sorted.
Axes unite(llvm::ArrayRef<mlir::StringAttr> left,
           llvm::ArrayRef<mlir::StringAttr> right);
Axes without(llvm::ArrayRef<mlir::StringAttr> left,
             llvm::ArrayRef<mlir::StringAttr> right);

/// The axes named by the attribute of sum, amax or broadcast, sorted.
Axes axesIn(mlir::ArrayAttr names);
mlir::ArrayAttr axesAttr(mlir::MLIRContext *context,
                         llvm::ArrayRef<mlir::StringAttr> axes);

/// The number that a value is along all its axes, if it is a rec.const.
std::optional<double> constantOf(mlir::Value value);

/// `value` summed over, or broadcast to, exactly the given axes.
mlir::Value fitAxes(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value value, llvm::ArrayRef<mlir::StringAttr> axes);

/// Attributes of function arguments and results, by their full names.
inline constexpr llvm::StringLiteral kindAttr = "rec.kind";
inline constexpr llvm::StringLiteral nameAttr = "rec.name";
inline constexpr llvm::StringLiteral shareAttr = "rec.share";
inline constexpr llvm::StringLiteral factAttr = "rec.fact";
inline constexpr llvm::StringLiteral layoutAttr = "rec.layout";
inline constexpr llvm::StringLiteral dtypeAttr = "rec.dtype";
inline constexpr llvm::StringLiteral gradientAttr = "rec.gradient";
inline constexpr llvm::StringLiteral reduceAttr = "rec.reduce";
/// Of a scan: an array with the name of each carried state.
inline constexpr llvm::StringLiteral carriesAttr = "rec.carries";

} // namespace recurra::rec

#define GET_OP_CLASSES
#include "compiler/rec/RecOps.h.inc"
