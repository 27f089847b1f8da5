// Pieces of syntax that several ops of the chunk dialect share.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/chunk/ChunkSyntax.h"

using namespace mlir;

namespace recurra::chunk {

ParseResult parseKeyword(AsmParser &parser, StringAttr &attribute) {
  std::string text;
  if (parser.parseKeywordOrString(&text)) {
    return failure();
  }
  attribute = parser.getBuilder().getStringAttr(text);
  return success();
}

void printKeyword(AsmPrinter &printer, Operation *, StringAttr attribute) {
  printer.printKeywordOrString(attribute.getValue());
}

ParseResult parseNumber(AsmParser &parser, IntegerAttr &attribute) {
  int64_t number = 0;
  if (parser.parseInteger(number)) {
    return failure();
  }
  attribute = parser.getBuilder().getI64IntegerAttr(number);
  return success();
}

void printNumber(AsmPrinter &printer, Operation *, IntegerAttr attribute) {
  printer << attribute.getInt();
}

ParseResult parseAxes(AsmParser &parser, ArrayAttr &axes) {
  SmallVector<Attribute> names;
  auto parseOne = [&]() -> ParseResult {
    StringAttr name;
    if (parseKeyword(parser, name)) {
      return failure();
    }
    names.push_back(name);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne)) {
    return failure();
  }
  axes = parser.getBuilder().getArrayAttr(names);
  return success();
}

void printAxes(AsmPrinter &printer, Operation *, ArrayAttr axes) {
  printer << "[";
  llvm::interleaveComma(
      axes.getAsRange<StringAttr>(), printer,
      [&](StringAttr axis) { printer.printKeywordOrString(axis.getValue()); });
  printer << "]";
}

/// `T:64`, or `T` for a point.
ParseResult parseSpanType(AsmParser &parser, Type &type) {
  std::string axis;
  int64_t capacity = 1;
  if (parser.parseKeywordOrString(&axis) ||
      (succeeded(parser.parseOptionalColon()) &&
       parser.parseInteger(capacity))) {
    return failure();
  }
  type = SpanType::get(parser.getContext(),
                       parser.getBuilder().getStringAttr(axis), capacity);
  return success();
}

void printSpanType(AsmPrinter &printer, Type type) {
  auto span = cast<SpanType>(type);
  printer.printKeywordOrString(span.getAxis().getValue());
  if (span.getCapacity() != 1) {
    printer << ":" << span.getCapacity();
  }
}

/// A type in full, or by its alias.
ParseResult parseFull(AsmParser &parser, Type &type) {
  return parser.parseType(type);
}

void printFull(AsmPrinter &printer, Operation *, Type type) { printer << type; }

void printSpanType(AsmPrinter &printer, Operation *, Type type) {
  printSpanType(printer, type);
}

/// `[T = %t, V:16 = %vs]`
ParseResult parseIndices(OpAsmParser &parser, SmallVectorImpl<Value> &indices) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        Type type;
        OpAsmParser::UnresolvedOperand operand;
        if (parseSpanType(parser, type) || parser.parseEqual() ||
            parser.parseOperand(operand)) {
          return failure();
        }
        return parser.resolveOperand(operand, type, indices);
      });
}

void printIndices(OpAsmPrinter &printer, OperandRange indices) {
  printer << "[";
  llvm::interleaveComma(indices, printer, [&](Value index) {
    printSpanType(printer, index.getType());
    printer << " = " << index;
  });
  printer << "]";
}

/// `(%x = %a, .. : !t, ..)`
ParseResult
parseAssignments(OpAsmParser &parser, OperationState &state,
                 SmallVectorImpl<OpAsmParser::Argument> &arguments) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;
  if (parser.parseLParen()) {
    return failure();
  }
  if (succeeded(parser.parseOptionalRParen())) {
    return success();
  }
  SMLoc loc = parser.getCurrentLocation();
  auto parseOne = [&]() -> ParseResult {
    return failure(parser.parseArgument(arguments.emplace_back()) ||
                   parser.parseEqual() ||
                   parser.parseOperand(operands.emplace_back()));
  };
  if (parser.parseCommaSeparatedList(parseOne) ||
      parser.parseColonTypeList(types) || parser.parseRParen() ||
      parser.resolveOperands(operands, types, loc, state.operands)) {
    return failure();
  }
  for (auto [argument, type] :
       llvm::zip(MutableArrayRef(arguments).take_back(types.size()), types)) {
    argument.type = type;
  }
  return success();
}

void printAssignments(OpAsmPrinter &printer, ValueRange arguments,
                      ValueRange operands) {
  printer << "(";
  llvm::interleaveComma(
      llvm::zip(arguments, operands), printer, [&](auto pair) {
        printer << std::get<0>(pair) << " = " << std::get<1>(pair);
      });
  if (!operands.empty()) {
    printer << " : ";
    llvm::interleaveComma(operands.getTypes(), printer);
  }
  printer << ")";
}

} // namespace recurra::chunk
