// The chunk dialect, and syntax and builders of its ops but the loops.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/chunk/ChunkSyntax.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace recurra::chunk;

#include "compiler/chunk/ChunkDialect.cpp.inc"

namespace {
/// Prints !chunk.tile<K:96, V:16> as !kv, a number as !s, and
/// !chunk.buf<T per 64, H, K, bf16> as !t64_h_k_bf16.
struct ShortNames : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Type type, raw_ostream &os) const override {
    if (auto tile = dyn_cast<TileType>(type)) {
      os << (tile.getRank() == 0 ? "s" : "");
      for (StringAttr axis : tile.getNames()) {
        os << axis.getValue().lower();
      }
      return AliasResult::FinalAlias;
    }
    auto buffer = dyn_cast<BufferType>(type);
    if (!buffer) {
      return AliasResult::NoAlias;
    }
    for (auto [axis, window, per] :
         llvm::zip(buffer.getNames(), buffer.getWindows(), buffer.getPers())) {
      os << axis.getValue().lower() << (window ? "w" : "");
      if (per != 1) {
        os << per;
      }
      os << "_";
    }
    os << buffer.getElement();
    return AliasResult::FinalAlias;
  }
};
} // namespace

void ChunkDialect::initialize() {
  addInterfaces<ShortNames>();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "compiler/chunk/Chunk.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

ParseResult LoadOp::parse(OpAsmParser &parser, OperationState &state) {
  OpAsmParser::UnresolvedOperand buffer;
  SmallVector<Value> indices, resolved;
  BufferType bufferType;
  TileType tile;
  if (parser.parseOperand(buffer) || parseIndices(parser, indices) ||
      parser.parseOptionalAttrDict(state.attributes) ||
      parser.parseColonType(bufferType) || parser.parseArrow() ||
      parser.parseType(tile) ||
      parser.resolveOperand(buffer, bufferType, resolved)) {
    return failure();
  }
  state.addOperands(resolved);
  state.addOperands(indices);
  state.addTypes(tile);
  return success();
}

void LoadOp::print(OpAsmPrinter &printer) {
  printer << " " << getBuffer();
  printIndices(printer, getIndices());
  printer.printOptionalAttrDict((*this)->getAttrs());
  printer << " : " << getBuffer().getType() << " -> " << getResult().getType();
}

void StoreOp::build(OpBuilder &builder, OperationState &state, Value value,
                    Value buffer, ValueRange indices, Value first) {
  state.addOperands({value, buffer});
  state.addOperands(indices);
  if (first) {
    state.addOperands(first);
  }
  state.getOrAddProperties<Properties>().operandSegmentSizes = {
      1, 1, static_cast<int32_t>(indices.size()), first ? 1 : 0};
}

ParseResult StoreOp::parse(OpAsmParser &parser, OperationState &state) {
  OpAsmParser::UnresolvedOperand value, buffer, first;
  SmallVector<Value> indices;
  Type firstType;
  TileType tile;
  BufferType bufferType;
  if (parser.parseOperand(value) || parser.parseComma() ||
      parser.parseOperand(buffer) || parseIndices(parser, indices)) {
    return failure();
  }
  if (succeeded(parser.parseOptionalKeyword("first")) &&
      (parser.parseLParen() || parser.parseOperand(first) ||
       parser.parseColon() || parseSpanType(parser, firstType) ||
       parser.parseRParen())) {
    return failure();
  }
  if (parser.parseOptionalAttrDict(state.attributes) ||
      parser.parseColonType(tile) || parser.parseComma() ||
      parser.parseType(bufferType) ||
      parser.resolveOperand(value, tile, state.operands) ||
      parser.resolveOperand(buffer, bufferType, state.operands)) {
    return failure();
  }
  state.addOperands(indices);
  state.getOrAddProperties<Properties>().operandSegmentSizes = {
      1, 1, static_cast<int32_t>(indices.size()), firstType ? 1 : 0};
  return firstType ? parser.resolveOperand(first, firstType, state.operands)
                   : success();
}

void StoreOp::print(OpAsmPrinter &printer) {
  printer << " " << getValue() << ", " << getBuffer();
  printIndices(printer, getIndices());
  if (Value first = getFirst()) {
    printer << " first(" << first << " : ";
    printSpanType(printer, first.getType());
    printer << ")";
  }
  printer.printOptionalAttrDict((*this)->getAttrs(), {"operandSegmentSizes"});
  printer << " : " << getValue().getType() << ", " << getBuffer().getType();
}

ParseResult AllocOp::parse(OpAsmParser &parser, OperationState &state) {
  StringRef place;
  BufferType type;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&place) ||
      parser.parseOptionalAttrDict(state.attributes) ||
      parser.parseColonType(type)) {
    return failure();
  }
  if (place != "workspace" && place != "scratch") {
    return parser.emitError(loc, "expected workspace or scratch");
  }
  if (place == "scratch") {
    state.getOrAddProperties<Properties>().scratch =
        parser.getBuilder().getUnitAttr();
  }
  state.addTypes(type);
  return success();
}

void AllocOp::print(OpAsmPrinter &printer) {
  printer << (getScratch() ? " scratch" : " workspace");
  printer.printOptionalAttrDict((*this)->getAttrs(), {"scratch"});
  printer << " : " << getBuffer().getType();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

ParseResult FillOp::parse(OpAsmParser &parser, OperationState &state) {
  double value = 0;
  TileType type;
  bool negative = false;
  APFloat infinity = APFloat::getInf(APFloat::IEEEdouble(), true);
  Builder &builder = parser.getBuilder();
  negative = succeeded(parser.parseOptionalKeyword("negative_infinity"));
  if ((!negative && parser.parseFloat(value)) ||
      parser.parseOptionalAttrDict(state.attributes) ||
      parser.parseColonType(type)) {
    return failure();
  }
  state.getOrAddProperties<Properties>().value =
      builder.getF64FloatAttr(negative ? infinity.convertToDouble() : value);
  state.addTypes(type);
  return success();
}

void FillOp::print(OpAsmPrinter &printer) {
  printer << " ";
  APFloat value = getValue();
  if (value.isInfinity() && value.isNegative()) {
    printer << "negative_infinity";
  } else {
    printer.printFloat(value);
  }
  printer.printOptionalAttrDict((*this)->getAttrs(), {"value"});
  printer << " : " << getResult().getType();
}

void MapOp::build(OpBuilder &builder, OperationState &state, TileType result,
                  ValueRange inputs) {
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(state.addRegion());
  for (Value input : inputs) {
    block->addArgument(cast<TileType>(input.getType()).getElement(),
                       input.getLoc());
  }
  state.addOperands(inputs);
  state.addTypes(result);
}

ParseResult MapOp::parse(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::Argument> arguments;
  TileType type;
  if (parseAssignments(parser, state, arguments) || parser.parseArrow() ||
      parser.parseType(type) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes)) {
    return failure();
  }
  for (OpAsmParser::Argument &argument : arguments) {
    auto tile = dyn_cast<TileType>(argument.type);
    if (!tile) {
      return parser.emitError(parser.getCurrentLocation(),
                              "operands of a map are tiles");
    }
    argument.type = tile.getElement();
  }
  state.addTypes(type);
  return parser.parseRegion(*state.addRegion(), arguments);
}

void MapOp::print(OpAsmPrinter &printer) {
  printer << " ";
  printAssignments(printer, getBlock().getArguments(), getInputs());
  printer << " -> " << getResult().getType();
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer << " ";
  printer.printRegion(getBody(), false, true);
}

ParseResult DotOp::parse(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::UnresolvedOperand, 3> operands(2);
  SmallVector<Type, 3> types;
  ArrayAttr over;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperand(operands[0]) || parser.parseComma() ||
      parser.parseOperand(operands[1]) || parser.parseKeyword("over") ||
      parseAxes(parser, over)) {
    return failure();
  }
  bool accumulates = succeeded(parser.parseOptionalKeyword("into"));
  if ((accumulates && parser.parseOperand(operands.emplace_back())) ||
      parser.parseOptionalAttrDict(state.attributes) ||
      parser.parseColonTypeList(types) ||
      (!accumulates && parser.parseArrowTypeList(state.types)) ||
      parser.resolveOperands(operands, types, loc, state.operands)) {
    return failure();
  }
  if (accumulates) {
    state.addTypes(types.back());
  }
  state.getOrAddProperties<Properties>().over = over;
  return success();
}

void DotOp::print(OpAsmPrinter &printer) {
  printer << " " << getLhs() << ", " << getRhs() << " over ";
  printAxes(printer, *this, getOver());
  if (getAcc()) {
    printer << " into " << getAcc();
  }
  printer.printOptionalAttrDict((*this)->getAttrs(), {"over"});
  printer << " : ";
  llvm::interleaveComma(getOperandTypes(), printer);
  if (!getAcc()) {
    printer << " -> " << getResult().getType();
  }
}

#define GET_OP_CLASSES
#include "compiler/chunk/Chunk.cpp.inc"
