// Pieces of syntax that several ops of the chunk dialect share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/chunk/Chunk.h"

namespace recurra::chunk {

mlir::ParseResult parseKeyword(mlir::AsmParser &parser,
                               mlir::StringAttr &attribute);
void printKeyword(mlir::AsmPrinter &printer, mlir::Operation *,
                  mlir::StringAttr attribute);
mlir::ParseResult parseNumber(mlir::AsmParser &parser,
                              mlir::IntegerAttr &attribute);
void printNumber(mlir::AsmPrinter &printer, mlir::Operation *,
                 mlir::IntegerAttr attribute);
mlir::ParseResult parseAxes(mlir::AsmParser &parser, mlir::ArrayAttr &axes);
void printAxes(mlir::AsmPrinter &printer, mlir::Operation *,
               mlir::ArrayAttr axes);
/// `T:64`, or `T` for a point.
mlir::ParseResult parseSpanType(mlir::AsmParser &parser, mlir::Type &type);
void printSpanType(mlir::AsmPrinter &printer, mlir::Type type);
/// A type in full, or by its alias.
mlir::ParseResult parseFull(mlir::AsmParser &parser, mlir::Type &type);
void printFull(mlir::AsmPrinter &printer, mlir::Operation *, mlir::Type type);
void printSpanType(mlir::AsmPrinter &printer, mlir::Operation *,
                   mlir::Type type);
/// `[T = %t, V:16 = %vs]`
mlir::ParseResult parseIndices(mlir::OpAsmParser &parser,
                               mlir::SmallVectorImpl<mlir::Value> &indices);
void printIndices(mlir::OpAsmPrinter &printer, mlir::OperandRange indices);
/// `(%x = %a, .. : !t, ..)`
mlir::ParseResult
parseAssignments(mlir::OpAsmParser &parser, mlir::OperationState &state,
                 mlir::SmallVectorImpl<mlir::OpAsmParser::Argument> &arguments);
void printAssignments(mlir::OpAsmPrinter &printer, mlir::ValueRange arguments,
                      mlir::ValueRange operands);

} // namespace recurra::chunk
