// Types of `rec`, the spelling of axis lists, and what the ops on axes check.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/rec/Rec.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace recurra::rec;

#include "compiler/rec/RecDialect.cpp.inc"
#include "compiler/rec/RecEnums.cpp.inc"
#include "compiler/rec/RecInterfaces.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/rec/RecTypes.cpp.inc"

namespace {
/// Prints !rec.val<K, V> as !kv, !rec.val as !s, masks as !mask_kv, !mask_s.
struct ShortNames : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Type type, raw_ostream &os) const override {
    if (!isa<ValType, MaskType>(type)) {
      return AliasResult::NoAlias;
    }
    ArrayRef<StringAttr> axes = axesOf(type);
    os << (isa<MaskType>(type) ? "mask_" : "");
    bool letters =
        llvm::all_of(axes, [](StringAttr a) { return a.size() == 1; });
    os << (axes.empty() ? "s" : "");
    llvm::interleave(
        axes, os, [&](StringAttr axis) { os << axis.getValue().lower(); },
        letters ? "" : "_");
    return AliasResult::FinalAlias;
  }
};
} // namespace

void RecDialect::initialize() {
  addInterfaces<ShortNames>();
  addTypes<
#define GET_TYPEDEF_LIST
#include "compiler/rec/RecTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/rec/RecOps.cpp.inc"
      >();
}

// Axis sets -------------------------------------------------------------------

static bool before(StringAttr left, StringAttr right) {
  return left.getValue() < right.getValue();
}

ArrayRef<StringAttr> recurra::rec::axesOf(Type type) {
  return TypeSwitch<Type, ArrayRef<StringAttr>>(type)
      .Case<ValType, MaskType, SeqType>(
          [](auto axed) { return axed.getAxes(); });
}

Axes recurra::rec::unite(ArrayRef<StringAttr> left,
                         ArrayRef<StringAttr> right) {
  Axes result;
  std::set_union(left.begin(), left.end(), right.begin(), right.end(),
                 std::back_inserter(result), before);
  return result;
}

Axes recurra::rec::without(ArrayRef<StringAttr> left,
                           ArrayRef<StringAttr> right) {
  Axes result;
  std::set_difference(left.begin(), left.end(), right.begin(), right.end(),
                      std::back_inserter(result), before);
  return result;
}

Axes recurra::rec::axesOfAll(ValueRange values) {
  Axes result;
  for (Value value : values) {
    result = unite(result, axesOf(value));
  }
  return result;
}

Axes recurra::rec::axesIn(ArrayAttr names) {
  auto range = names.getAsRange<StringAttr>();
  Axes result(range.begin(), range.end());
  llvm::sort(result, before);
  return result;
}

ArrayAttr recurra::rec::axesAttr(MLIRContext *context,
                                 ArrayRef<StringAttr> axes) {
  return ArrayAttr::get(context,
                        SmallVector<Attribute>(axes.begin(), axes.end()));
}

Value recurra::rec::fitAxes(OpBuilder &builder, Location loc, Value value,
                            ArrayRef<StringAttr> axes) {
  if (Axes surplus = without(axesOf(value), axes); !surplus.empty()) {
    value = SumOp::create(builder, loc, value,
                          axesAttr(builder.getContext(), surplus));
  }
  if (Axes missing = without(axes, axesOf(value)); !missing.empty()) {
    value = BroadcastOp::create(builder, loc, value,
                                axesAttr(builder.getContext(), missing));
  }
  return value;
}

std::optional<double> recurra::rec::constantOf(Value value) {
  auto constant = value.getDefiningOp<ConstOp>();
  return constant ? std::optional(constant.getValue().convertToDouble())
                  : std::nullopt;
}

// Types -----------------------------------------------------------------------

static ParseResult parseName(AsmParser &parser, StringAttr &name) {
  StringRef keyword;
  if (parser.parseKeyword(&keyword)) {
    return failure();
  }
  name = StringAttr::get(parser.getContext(), keyword);
  return success();
}

static ParseResult parseNames(AsmParser &parser, AsmParser::Delimiter delimiter,
                              Axes &axes) {
  return parser.parseCommaSeparatedList(delimiter, [&]() -> ParseResult {
    return parseName(parser, axes.emplace_back());
  });
}

template <typename T>
static Type parseAxed(AsmParser &parser) {
  Axes axes;
  SMLoc loc = parser.getCurrentLocation();
  if (parseNames(parser, AsmParser::Delimiter::OptionalLessGreater, axes)) {
    return {};
  }
  llvm::sort(axes, before);
  return T::getChecked([&] { return parser.emitError(loc); },
                       parser.getContext(), ArrayRef<StringAttr>(axes));
}

static void printNames(AsmPrinter &printer, ArrayRef<StringAttr> axes) {
  llvm::interleaveComma(axes, printer,
                        [&](StringAttr axis) { printer << axis.getValue(); });
}

static void printAxed(AsmPrinter &printer, ArrayRef<StringAttr> axes) {
  if (!axes.empty()) {
    printer << '<';
    printNames(printer, axes);
    printer << '>';
  }
}

static LogicalResult verifyAxes(function_ref<InFlightDiagnostic()> emitError,
                                ArrayRef<StringAttr> axes) {
  for (size_t i = 1; i < axes.size(); ++i) {
    if (!before(axes[i - 1], axes[i])) {
      return emitError() << "axis '" << axes[i].getValue() << "' occurs twice";
    }
  }
  return success();
}

#define AXED_TYPE(Name)                                                        \
  Type Name::parse(AsmParser &parser) { return parseAxed<Name>(parser); }      \
  void Name::print(AsmPrinter &printer) const {                                \
    printAxed(printer, getAxes());                                             \
  }                                                                            \
  LogicalResult Name::verify(function_ref<InFlightDiagnostic()> emitError,     \
                             ArrayRef<StringAttr> axes) {                      \
    return verifyAxes(emitError, axes);                                        \
  }
AXED_TYPE(ValType)
AXED_TYPE(MaskType)
AXED_TYPE(SeqType)
#undef AXED_TYPE

// Spelling of attributes in ops
// -------------------------------------------------

static ParseResult parseAxes(OpAsmParser &parser, ArrayAttr &axes) {
  Axes names;
  if (parseNames(parser, AsmParser::Delimiter::Square, names)) {
    return failure();
  }
  axes = axesAttr(parser.getContext(), names);
  return success();
}

static void printAxes(OpAsmPrinter &printer, Operation *, ArrayAttr axes) {
  printer << '[';
  printNames(printer, axesIn(axes));
  printer << ']';
}

static ParseResult parseAxis(OpAsmParser &parser, StringAttr &axis) {
  return parseName(parser, axis);
}

static void printAxis(OpAsmPrinter &printer, Operation *, StringAttr axis) {
  printer << axis.getValue();
}

static ParseResult parseRenaming(OpAsmParser &parser, StringAttr &from,
                                 StringAttr &to) {
  return failure(parser.parseLSquare() || parseName(parser, from) ||
                 parser.parseArrow() || parseName(parser, to) ||
                 parser.parseRSquare());
}

static void printRenaming(OpAsmPrinter &printer, Operation *, StringAttr from,
                          StringAttr to) {
  printer << '[' << from.getValue() << " -> " << to.getValue() << ']';
}

static ParseResult parseEntry(OpAsmParser &parser, StringAttr &axis,
                              IntegerAttr &position) {
  int64_t value = 0;
  if (parser.parseLSquare() || parseName(parser, axis) || parser.parseEqual() ||
      parser.parseInteger(value) || parser.parseRSquare()) {
    return failure();
  }
  position = parser.getBuilder().getI64IntegerAttr(value);
  return success();
}

static void printEntry(OpAsmPrinter &printer, Operation *, StringAttr axis,
                       IntegerAttr position) {
  printer << '[' << axis.getValue() << " = " << position.getInt() << ']';
}

/// A float literal, `inf` or `-inf`.
static ParseResult parseNumber(OpAsmParser &parser, FloatAttr &value) {
  bool negative = succeeded(parser.parseOptionalMinus());
  double number = 0;
  if (succeeded(parser.parseOptionalKeyword("inf"))) {
    number = std::numeric_limits<double>::infinity();
  } else if (parser.parseFloat(number)) {
    return failure();
  }
  value = parser.getBuilder().getF64FloatAttr(negative ? -number : number);
  return success();
}

static void printNumber(OpAsmPrinter &printer, Operation *, FloatAttr value) {
  const APFloat number = value.getValue();
  if (number.isInfinity()) {
    printer << (number.isNegative() ? "-inf" : "inf");
  } else {
    printer.printAttributeWithoutType(value);
  }
}

#define GET_OP_CLASSES
#include "compiler/rec/RecOps.cpp.inc"

// Result types
// ------------------------------------------------------------------

LogicalResult CmpOp::inferReturnTypes(MLIRContext *context,
                                      std::optional<Location>,
                                      ValueRange operands, DictionaryAttr,
                                      OpaqueProperties, RegionRange,
                                      SmallVectorImpl<Type> &types) {
  types.push_back(MaskType::get(context, axesOfAll(operands)));
  return success();
}

/// The operand's axes without the reduced ones, which must all be there.
static LogicalResult inferReduction(std::optional<Location> loc, Value operand,
                                    ArrayAttr reduced,
                                    SmallVectorImpl<Type> &types) {
  ArrayRef<StringAttr> axes = axesOf(operand);
  Axes gone = axesIn(reduced);
  for (auto [i, axis] : llvm::enumerate(gone)) {
    if (!llvm::is_contained(axes, axis) || (i > 0 && gone[i - 1] == axis)) {
      return emitOptionalError(loc, "axis '", axis.getValue(),
                               "' is not an axis of ", operand.getType());
    }
  }
  types.push_back(ValType::get(reduced.getContext(), without(axes, gone)));
  return success();
}

/// The operand's axes and the added ones, which must be new.
static LogicalResult inferWidening(std::optional<Location> loc, Value operand,
                                   ArrayRef<StringAttr> added,
                                   SmallVectorImpl<Type> &types) {
  for (auto [i, axis] : llvm::enumerate(added)) {
    if (llvm::is_contained(axesOf(operand), axis) ||
        (i > 0 && added[i - 1] == axis)) {
      return emitOptionalError(loc, "axis '", axis.getValue(),
                               "' is already an axis of ", operand.getType());
    }
  }
  types.push_back(
      ValType::get(operand.getContext(), unite(axesOf(operand), added)));
  return success();
}

#define INFER(OpName)                                                          \
  LogicalResult OpName::inferReturnTypes(                                      \
      MLIRContext *context, std::optional<Location> loc, ValueRange operands,  \
      DictionaryAttr attributes, OpaqueProperties properties,                  \
      RegionRange regions, SmallVectorImpl<Type> &types)
INFER(SumOp) {
  Adaptor adaptor(operands, attributes, properties, regions);
  return inferReduction(loc, operands[0], adaptor.getAxes(), types);
}
INFER(AmaxOp) {
  Adaptor adaptor(operands, attributes, properties, regions);
  return inferReduction(loc, operands[0], adaptor.getAxes(), types);
}
INFER(BroadcastOp) {
  Adaptor adaptor(operands, attributes, properties, regions);
  return inferWidening(loc, operands[0], axesIn(adaptor.getAxes()), types);
}
INFER(PlaceOp) {
  Adaptor adaptor(operands, attributes, properties, regions);
  return inferWidening(loc, operands[0], adaptor.getAxisAttr(), types);
}
INFER(IndexOp) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto names = ArrayAttr::get(context, adaptor.getAxisAttr());
  return inferReduction(loc, operands[0], names, types);
}
INFER(RenameOp) {
  Adaptor adaptor(operands, attributes, properties, regions);
  SmallVector<Type, 1> rest;
  if (failed(inferReduction(loc, operands[0],
                            ArrayAttr::get(context, adaptor.getFromAttr()),
                            rest)) ||
      failed(inferWidening(loc, operands[0], adaptor.getToAttr(), types))) {
    return failure();
  }
  types.back() =
      ValType::get(context, unite(axesOf(rest[0]), adaptor.getToAttr()));
  return success();
}
INFER(ExtentOp) {
  types.push_back(ValType::get(context, {}));
  return success();
}
#undef INFER
