// `rec.scan`: its spelling, its checks, and the attributes of the functions
// around it.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/rec/Rec.h"
#include "llvm/ADT/StringSwitch.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace recurra::rec;

void ScanOp::build(OpBuilder &builder, OperationState &state, bool reverse,
                   ValueRange sequences, ValueRange inits, TypeRange emitted) {
  state.addOperands(sequences);
  state.addOperands(inits);
  auto &properties = state.getOrAddProperties<Properties>();
  properties.operandSegmentSizes = {static_cast<int>(sequences.size()),
                                    static_cast<int>(inits.size())};
  if (reverse) {
    properties.reverse = builder.getUnitAttr();
  }
  for (Type type : emitted) {
    state.addTypes(SeqType::get(builder.getContext(), axesOf(type)));
  }
  state.addTypes(inits.getTypes());
  Block &step = state.addRegion()->emplaceBlock();
  for (Value sequence : sequences) {
    step.addArgument(ValType::get(builder.getContext(), axesOf(sequence)),
                     sequence.getLoc());
  }
  for (Value init : inits) {
    step.addArgument(init.getType(), init.getLoc());
  }
}

MutableArrayRef<BlockArgument> ScanOp::getTokens() {
  return getStep()->getArguments().take_front(getSequences().size());
}

MutableArrayRef<BlockArgument> ScanOp::getStates() {
  return getStep()->getArguments().drop_front(getSequences().size());
}

ResultRange ScanOp::getEmitted() {
  return getResults().drop_back(getInits().size());
}

ResultRange ScanOp::getLast() {
  return getResults().take_back(getInits().size());
}

YieldOp ScanOp::getYield() { return cast<YieldOp>(getStep()->getTerminator()); }

std::string ScanOp::getStateName(unsigned index) {
  if (auto names = (*this)->getAttrOfType<ArrayAttr>(carriesAttr)) {
    return cast<StringAttr>(names[index]).str();
  }
  return "state" + std::to_string(index);
}

/// The name in a value's location, if it has one.
static std::string nameIn(Location loc) {
  auto name = dyn_cast<NameLoc>(loc);
  return name ? name.getName().str() : "";
}

/// o for what is emitted as o_t; MT, or dM0 in reverse, for the last states.
void ScanOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  for (auto [value, result] :
       llvm::zip(getYield().getEmitted(), getEmitted())) {
    std::string name = nameIn(value.getLoc());
    if (llvm::StringRef(name).ends_with("_t")) {
      setName(result, llvm::StringRef(name).drop_back(2));
    }
  }
  for (auto [state, result] : llvm::zip(getStates(), getLast())) {
    std::string name = nameIn(state.getLoc());
    if (!name.empty()) {
      setName(result, name + (getReverse() ? "0" : "T"));
    }
  }
}

// Spelling
// ----------------------------------------------------------------------

namespace {
/// `(%arg = %operand : type, ..)`
struct Bindings {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
};
} // namespace

static ParseResult parseBindings(OpAsmParser &parser, StringRef keyword,
                                 Bindings &bindings) {
  if (failed(parser.parseOptionalKeyword(keyword))) {
    return success();
  }
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&] {
    auto &argument = bindings.arguments.emplace_back();
    auto &operand = bindings.operands.emplace_back();
    return failure(parser.parseArgument(argument) || parser.parseEqual() ||
                   parser.parseOperand(operand) ||
                   parser.parseColonType(argument.type));
  });
}

/// `forward` or `reverse`, the bindings, the emitted types.
static ParseResult parseHead(OpAsmParser &parser,
                             ScanOp::Properties &properties, Bindings &over,
                             Bindings &carry, SmallVectorImpl<Type> &emitted) {
  if (succeeded(parser.parseOptionalKeyword("reverse"))) {
    properties.reverse = parser.getBuilder().getUnitAttr();
  } else if (parser.parseKeyword("forward")) {
    return failure();
  }
  if (parseBindings(parser, "over", over) ||
      parseBindings(parser, "carry", carry)) {
    return failure();
  }
  if (failed(parser.parseOptionalArrow())) {
    return success();
  }
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&] {
    return parser.parseType(emitted.emplace_back());
  });
}

/// A sequence over the axes of a token's value; the type itself if it has none.
static Type sequenceOf(Type type) {
  auto value = dyn_cast<ValType>(type);
  return value ? Type(SeqType::get(type.getContext(), value.getAxes())) : type;
}

ParseResult ScanOp::parse(OpAsmParser &parser, OperationState &state) {
  Bindings over, carry;
  SmallVector<Type> emitted;
  auto &properties = state.getOrAddProperties<Properties>();
  SMLoc loc = parser.getCurrentLocation();
  if (parseHead(parser, properties, over, carry, emitted)) {
    return failure();
  }
  SmallVector<Type> sequences, states;
  for (auto &argument : over.arguments) {
    sequences.push_back(sequenceOf(argument.type));
  }
  for (auto &argument : carry.arguments) {
    states.push_back(argument.type);
  }
  if (parser.resolveOperands(over.operands, sequences, loc, state.operands) ||
      parser.resolveOperands(carry.operands, states, loc, state.operands)) {
    return failure();
  }
  properties.operandSegmentSizes = {static_cast<int>(sequences.size()),
                                    static_cast<int>(states.size())};
  for (Type type : emitted) {
    state.addTypes(sequenceOf(type));
  }
  state.addTypes(states);
  SmallVector<OpAsmParser::Argument> arguments = std::move(over.arguments);
  llvm::append_range(arguments, carry.arguments);
  if (parser.parseOptionalAttrDictWithKeyword(state.attributes) ||
      parser.parseRegion(*state.addRegion(), arguments)) {
    return failure();
  }
  ensureTerminator(*state.regions[0], parser.getBuilder(), state.location);
  return success();
}

static void printBindings(OpAsmPrinter &printer, StringRef keyword,
                          ArrayRef<BlockArgument> arguments,
                          OperandRange operands) {
  if (arguments.empty()) {
    return;
  }
  printer << ' ' << keyword << '(';
  llvm::interleaveComma(
      llvm::zip(arguments, operands), printer, [&](auto pair) {
        auto [argument, operand] = pair;
        printer << argument << " = " << operand << " : " << argument.getType();
      });
  printer << ')';
}

void ScanOp::print(OpAsmPrinter &printer) {
  printer << (getReverse() ? " reverse" : " forward");
  printBindings(printer, "over", getTokens(), getSequences());
  printBindings(printer, "carry", getStates(), getInits());
  if (!getEmitted().empty()) {
    printer << " -> (";
    llvm::interleaveComma(getEmitted(), printer, [&](Value result) {
      printer << ValType::get(getContext(), axesOf(result));
    });
    printer << ')';
  }
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getDiscardableAttrDictionary().getValue());
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

// Checks
// ------------------------------------------------------------------------

static LogicalResult verifyStates(ScanOp scan) {
  YieldOp yield = scan.getYield();
  if (yield.getCarried().size() != scan.getInits().size()) {
    return yield.emitOpError()
           << "carries " << yield.getCarried().size()
           << " states, the scan has " << scan.getInits().size();
  }
  for (auto [i, next] : llvm::enumerate(yield.getCarried())) {
    Type type = scan.getInits()[i].getType();
    if (next.getType() != type || scan.getLast()[i].getType() != type) {
      return yield.emitOpError()
             << "carries " << next.getType() << " for a state of type " << type;
    }
  }
  return success();
}

static LogicalResult verifyEmitted(ScanOp scan) {
  YieldOp yield = scan.getYield();
  if (yield.getEmitted().size() != scan.getEmitted().size()) {
    return yield.emitOpError()
           << "emits " << yield.getEmitted().size() << " values, the scan has "
           << scan.getEmitted().size();
  }
  for (auto [value, result] :
       llvm::zip(yield.getEmitted(), scan.getEmitted())) {
    if (sequenceOf(value.getType()) != result.getType()) {
      return yield.emitOpError()
             << "emits " << value.getType() << " for a result of type "
             << result.getType();
    }
  }
  return success();
}

LogicalResult ScanOp::verify() {
  size_t results = getNumResults(), states = getInits().size();
  if (results < states ||
      getStep()->getNumArguments() != getSequences().size() + states) {
    return emitOpError("has a result and an argument per state");
  }
  for (auto [argument, sequence] : llvm::zip(getTokens(), getSequences())) {
    if (sequenceOf(argument.getType()) != sequence.getType()) {
      return emitOpError() << "reads " << argument.getType() << " from "
                           << sequence.getType();
    }
  }
  for (auto [argument, init] : llvm::zip(getStates(), getInits())) {
    if (argument.getType() != init.getType()) {
      return emitOpError() << "starts a state of type " << argument.getType()
                           << " from " << init.getType();
    }
  }
  return failure(failed(verifyStates(*this)) || failed(verifyEmitted(*this)));
}

LogicalResult InvariantOp::verify() {
  auto scan = cast<ScanOp>((*this)->getParentOp());
  if (!llvm::is_contained(scan.getStates(), getState())) {
    return emitOpError("wants a state of the scan");
  }
  return success(getState().getType() == getValue().getType());
}

// Attributes of functions
// ---------------------------------------------------------

/// One fact: a word, `range(lo, hi)` or `unit(AXIS)`.
static bool isFact(StringRef fact) {
  if (fact.consume_front("range(") && fact.consume_back(")")) {
    auto [low, high] = fact.split(',');
    double number = 0;
    return !low.trim().getAsDouble(number) && !high.trim().getAsDouble(number);
  }
  if (fact.consume_front("unit(") && fact.consume_back(")")) {
    return !fact.empty();
  }
  return fact == "positive" || fact == "nonNegative" || fact == "nonPositive";
}

static bool isFacts(Attribute value) {
  if (auto several = dyn_cast<ArrayAttr>(value)) {
    return llvm::all_of(several, isFacts);
  }
  auto one = dyn_cast<StringAttr>(value);
  return one && isFact(one.getValue());
}

static bool isWord(Attribute value, ArrayRef<StringRef> words) {
  auto text = dyn_cast<StringAttr>(value);
  return text && llvm::is_contained(words, text.getValue());
}

/// Whether attribute `name` may hold `value` on an argument (or a result).
static bool isBoundaryAttribute(StringRef name, Attribute value,
                                bool argument) {
  if (name == kindAttr && argument) {
    return isWord(value, {"input", "initialState", "outputCotangent",
                          "finalStateCotangent"});
  }
  if (name == kindAttr) {
    return isWord(value, {"output", "finalState", "inputGradient",
                          "initialStateGradient"});
  }
  if (name == shareAttr) {
    return isWord(value, {"head", "group", "all"});
  }
  if (name == dtypeAttr) {
    return isWord(value, {"f32", "f64", "f16", "bf16"});
  }
  if (name == reduceAttr) {
    return !argument &&
           isWord(value, {"group", "heads", "batch", "batchGroup", "all"});
  }
  if (name == gradientAttr) {
    return argument && isa<UnitAttr>(value);
  }
  if (name == layoutAttr) {
    return isa<ArrayAttr>(value);
  }
  return name == nameAttr ? isa<StringAttr>(value)
                          : name == factAttr && argument && isFacts(value);
}

static LogicalResult verifyBoundary(Operation *op, NamedAttribute attribute,
                                    bool argument) {
  if (isBoundaryAttribute(attribute.getName(), attribute.getValue(),
                          argument)) {
    return success();
  }
  return op->emitOpError() << "has an unknown attribute " << attribute.getName()
                           << " = " << attribute.getValue();
}

LogicalResult RecDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                   unsigned,
                                                   NamedAttribute attribute) {
  return verifyBoundary(op, attribute, true);
}

LogicalResult
RecDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned,
                                        NamedAttribute attribute) {
  return verifyBoundary(op, attribute, false);
}

LogicalResult RecDialect::verifyOperationAttribute(Operation *op,
                                                   NamedAttribute attribute) {
  if (attribute.getName() != carriesAttr) {
    return success();
  }
  auto names = dyn_cast<ArrayAttr>(attribute.getValue());
  auto scan = dyn_cast<ScanOp>(op);
  if (!names || !scan || names.size() != scan.getInits().size() ||
      !llvm::all_of(names,
                    [](Attribute name) { return isa<StringAttr>(name); })) {
    return op->emitOpError() << carriesAttr << " names each state of a scan";
  }
  return success();
}
