// Syntax and builders of forall and for, and what spans stand for.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/chunk/ChunkSyntax.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace recurra::chunk;

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
// Iterators
//===----------------------------------------------------------------------===//

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
