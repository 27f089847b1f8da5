// Syntax, builders and queries of the ops of the chunk dialect.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/chunk/Chunk.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
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
// Queries
//===----------------------------------------------------------------------===//

Operation *recurra::chunk::getLoop(Value span) {
  return cast<BlockArgument>(span).getOwner()->getParentOp();
}

Value recurra::chunk::getParent(Value span) {
  auto argument = cast<BlockArgument>(span);
  Operation *loop = getLoop(span);
  if (auto forOp = dyn_cast<ForOp>(loop)) {
    return forOp.getParent();
  }
  return cast<ForallOp>(loop).getParent(argument.getArgNumber());
}

bool recurra::chunk::isDerivedFrom(Value span, Value ancestor) {
  for (; span; span = getParent(span)) {
    if (span == ancestor) {
      return true;
    }
  }
  return false;
}

Value recurra::chunk::getWindowSpan(Value span, int64_t window) {
  StringAttr axis = cast<SpanType>(span.getType()).getAxis();
  for (; span; span = getParent(span)) {
    auto type = cast<SpanType>(span.getType());
    if (type.getAxis() == axis && type.getCapacity() == window) {
      return span;
    }
  }
  return {};
}

int64_t recurra::chunk::getExtent(Operation *op, StringRef axis) {
  auto function = op->getParentOfType<func::FuncOp>();
  auto extents = function
                     ? function->getAttrOfType<DictionaryAttr>("chunk.extents")
                     : DictionaryAttr();
  auto size = extents ? extents.getAs<IntegerAttr>(axis) : IntegerAttr();
  return size ? size.getInt() : 0;
}

Value recurra::chunk::findIndex(OperandRange indices, StringRef axis) {
  for (Value index : indices) {
    if (cast<SpanType>(index.getType()).getAxis().getValue() == axis) {
      return index;
    }
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Pieces of syntax
//===----------------------------------------------------------------------===//

static ParseResult parseKeyword(AsmParser &parser, StringAttr &attribute) {
  std::string text;
  if (parser.parseKeywordOrString(&text)) {
    return failure();
  }
  attribute = parser.getBuilder().getStringAttr(text);
  return success();
}

static void printKeyword(AsmPrinter &printer, Operation *,
                         StringAttr attribute) {
  printer.printKeywordOrString(attribute.getValue());
}

static ParseResult parseNumber(AsmParser &parser, IntegerAttr &attribute) {
  int64_t number = 0;
  if (parser.parseInteger(number)) {
    return failure();
  }
  attribute = parser.getBuilder().getI64IntegerAttr(number);
  return success();
}

static void printNumber(AsmPrinter &printer, Operation *,
                        IntegerAttr attribute) {
  printer << attribute.getInt();
}

static ParseResult parseAxes(AsmParser &parser, ArrayAttr &axes) {
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

static void printAxes(AsmPrinter &printer, Operation *, ArrayAttr axes) {
  printer << "[";
  llvm::interleaveComma(
      axes.getAsRange<StringAttr>(), printer,
      [&](StringAttr axis) { printer.printKeywordOrString(axis.getValue()); });
  printer << "]";
}

/// `T:64`, or `T` for a point.
static ParseResult parseSpanType(AsmParser &parser, Type &type) {
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

static void printSpanType(AsmPrinter &printer, Type type) {
  auto span = cast<SpanType>(type);
  printer.printKeywordOrString(span.getAxis().getValue());
  if (span.getCapacity() != 1) {
    printer << ":" << span.getCapacity();
  }
}

/// A type in full, or by its alias.
static ParseResult parseFull(AsmParser &parser, Type &type) {
  return parser.parseType(type);
}

static void printFull(AsmPrinter &printer, Operation *, Type type) {
  printer << type;
}

static void printSpanType(AsmPrinter &printer, Operation *, Type type) {
  printSpanType(printer, type);
}

/// `[T = %t, V:16 = %vs]`
static ParseResult parseIndices(OpAsmParser &parser,
                                SmallVectorImpl<Value> &indices) {
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

static void printIndices(OpAsmPrinter &printer, OperandRange indices) {
  printer << "[";
  llvm::interleaveComma(indices, printer, [&](Value index) {
    printSpanType(printer, index.getType());
    printer << " = " << index;
  });
  printer << "]";
}

namespace {
/// `%n in N by 1`, `%c in T of %n by 64` or `%t in %c : T:64 by 1`.
struct Iterator {
  OpAsmParser::Argument span;
  StringAttr axis;
  int64_t step = 1;
  Value parent;
};
} // namespace

static ParseResult parseIterator(OpAsmParser &parser, Iterator &iterator) {
  Builder &builder = parser.getBuilder();
  OpAsmParser::UnresolvedOperand operand;
  if (parser.parseArgument(iterator.span) || parser.parseKeyword("in")) {
    return failure();
  }
  Type parentType;
  OptionalParseResult nested = parser.parseOptionalOperand(operand);
  if (nested.has_value()) {
    if (*nested || parser.parseColon() || parseSpanType(parser, parentType)) {
      return failure();
    }
    iterator.axis = cast<SpanType>(parentType).getAxis();
  } else {
    if (parseKeyword(parser, iterator.axis)) {
      return failure();
    }
    if (succeeded(parser.parseOptionalKeyword("of"))) {
      parentType =
          SpanType::get(parser.getContext(), builder.getStringAttr("N"), 1);
      if (parser.parseOperand(operand)) {
        return failure();
      }
    }
  }
  SmallVector<Value> resolved;
  if (parentType && parser.resolveOperand(operand, parentType, resolved)) {
    return failure();
  }
  iterator.parent = resolved.empty() ? Value() : resolved.front();
  if (parser.parseKeyword("by") || parser.parseInteger(iterator.step)) {
    return failure();
  }
  iterator.span.type =
      SpanType::get(parser.getContext(), iterator.axis, iterator.step);
  return success();
}

static void printIterator(OpAsmPrinter &printer, Value span, Value parent,
                          StringRef axis, int64_t step) {
  printer << span << " in ";
  if (!parent) {
    printer.printKeywordOrString(axis);
  } else if (cast<SpanType>(parent.getType()).getAxis().getValue() == axis) {
    printer << parent << " : ";
    printSpanType(printer, parent.getType());
  } else {
    printer.printKeywordOrString(axis);
    printer << " of " << parent;
  }
  printer << " by " << step;
}

/// `(%x = %a, .. : !t, ..)`
static ParseResult
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

static void printAssignments(OpAsmPrinter &printer, ValueRange arguments,
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

/// A yield without values at the end of a block that lacks its terminator.
static void ensureYield(OpAsmParser &parser, Region &region, Location loc) {
  if (region.empty()) {
    region.emplaceBlock();
  }
  Block &block = region.front();
  if (block.empty() || !block.back().hasTrait<OpTrait::IsTerminator>()) {
    OpBuilder builder(parser.getContext());
    builder.setInsertionPointToEnd(&block);
    YieldOp::create(builder, loc);
  }
}

//===----------------------------------------------------------------------===//
// forall
//===----------------------------------------------------------------------===//

Value ForallOp::getParent(unsigned i) {
  ArrayRef<bool> nested = getNested();
  return nested[i] ? getParents()[llvm::count(nested.take_front(i), true)]
                   : Value();
}

void ForallOp::build(OpBuilder &builder, OperationState &state,
                     ArrayRef<StringRef> axes, ArrayRef<int64_t> steps,
                     ArrayRef<Value> parents) {
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<bool> nested;
  Block *block = builder.createBlock(state.addRegion());
  for (auto [axis, step, parent] : llvm::zip(axes, steps, parents)) {
    nested.push_back(static_cast<bool>(parent));
    if (parent) {
      state.addOperands(parent);
    }
    block->addArgument(
        SpanType::get(builder.getContext(), builder.getStringAttr(axis), step),
        state.location);
  }
  state.addAttribute("axes", builder.getStrArrayAttr(axes));
  state.addAttribute("steps", builder.getDenseI64ArrayAttr(steps));
  state.addAttribute("nested", builder.getDenseBoolArrayAttr(nested));
  builder.setInsertionPointToEnd(block);
  YieldOp::create(builder, state.location);
}

ParseResult ForallOp::parse(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::Argument> spans;
  SmallVector<Attribute> axes;
  SmallVector<int64_t> steps;
  SmallVector<bool> nested;
  auto parseOne = [&]() -> ParseResult {
    Iterator iterator;
    if (parseIterator(parser, iterator)) {
      return failure();
    }
    spans.push_back(iterator.span);
    axes.push_back(iterator.axis);
    steps.push_back(iterator.step);
    nested.push_back(static_cast<bool>(iterator.parent));
    if (iterator.parent) {
      state.addOperands(iterator.parent);
    }
    return success();
  };
  Builder &builder = parser.getBuilder();
  bool once = succeeded(parser.parseOptionalKeyword("once"));
  if ((!once && parser.parseCommaSeparatedList(parseOne)) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes) ||
      parser.parseRegion(*state.addRegion(), spans)) {
    return failure();
  }
  ensureYield(parser, *state.regions.front(), state.location);
  state.addAttribute("axes", builder.getArrayAttr(axes));
  state.addAttribute("steps", builder.getDenseI64ArrayAttr(steps));
  state.addAttribute("nested", builder.getDenseBoolArrayAttr(nested));
  return success();
}

void ForallOp::print(OpAsmPrinter &printer) {
  printer << (getNumIterators() == 0 ? " once" : " ");
  llvm::interleaveComma(llvm::seq(getNumIterators()), printer, [&](unsigned i) {
    printIterator(printer, getSpan(i), getParent(i), getAxis(i), getSteps()[i]);
  });
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {"axes", "steps", "nested"});
  printer << " ";
  printer.printRegion(getBody(), false, false);
}

//===----------------------------------------------------------------------===//
// for
//===----------------------------------------------------------------------===//

void ForOp::build(OpBuilder &builder, OperationState &state, StringRef axis,
                  int64_t step, Value parent, bool reverse, ValueRange inits) {
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(state.addRegion());
  block->addArgument(
      SpanType::get(builder.getContext(), builder.getStringAttr(axis), step),
      state.location);
  for (Value init : inits) {
    block->addArgument(init.getType(), init.getLoc());
  }
  if (parent) {
    state.addOperands(parent);
  }
  state.addOperands(inits);
  state.addTypes(inits.getTypes());
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.operandSegmentSizes = {parent ? 1 : 0,
                                    static_cast<int32_t>(inits.size())};
  properties.axis = builder.getStringAttr(axis);
  properties.step = builder.getI64IntegerAttr(step);
  if (reverse) {
    properties.reverse = builder.getUnitAttr();
  }
}

ParseResult ForOp::parse(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::Argument> arguments;
  Iterator iterator;
  if (parseIterator(parser, iterator)) {
    return failure();
  }
  arguments.push_back(iterator.span);
  if (iterator.parent) {
    state.addOperands(iterator.parent);
  }
  Properties &properties = state.getOrAddProperties<Properties>();
  Builder &builder = parser.getBuilder();
  properties.axis = iterator.axis;
  properties.step = builder.getI64IntegerAttr(iterator.step);
  if (succeeded(parser.parseOptionalKeyword("reverse"))) {
    properties.reverse = builder.getUnitAttr();
  }
  size_t leading = state.operands.size();
  if (succeeded(parser.parseOptionalKeyword("carry")) &&
      parseAssignments(parser, state, arguments)) {
    return failure();
  }
  for (Value init : ArrayRef(state.operands).drop_front(leading)) {
    state.addTypes(init.getType());
  }
  properties.operandSegmentSizes = {
      static_cast<int32_t>(leading),
      static_cast<int32_t>(state.operands.size() - leading)};
  if (parser.parseOptionalAttrDictWithKeyword(state.attributes) ||
      parser.parseRegion(*state.addRegion(), arguments)) {
    return failure();
  }
  ensureYield(parser, *state.regions.front(), state.location);
  return success();
}

void ForOp::print(OpAsmPrinter &printer) {
  printer << " ";
  printIterator(printer, getSpan(), getParent(), getAxis(), getStep());
  if (getReverse()) {
    printer << " reverse";
  }
  if (!getInits().empty()) {
    printer << " carry";
    printAssignments(printer, getCarries(), getInits());
  }
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {"axis", "step", "reverse", "operandSegmentSizes"});
  printer << " ";
  printer.printRegion(getBody(), false, !getInits().empty());
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
