// The function around a recurrence's step: arguments, results and their
// attributes, the scan with its states, the clamp of log gates.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import.h"

#include "compiler/ImportExpressions.h"
#include "compiler/rec/Rec.h"
#include "dsl/LogGates.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace recurra;
using namespace recurra::rec;

std::string recurra::axisInIr(const Recurrence &recurrence,
                              const std::string &axis) {
  static const llvm::StringSet<> reserved{"T", "U", "N", "H"};
  if (!reserved.contains(axis)) {
    return axis;
  }
  std::string renamed = axis + "_";
  while (llvm::any_of(recurrence.axes,
                      [&](const Axis &a) { return a.name == renamed; })) {
    renamed += "_";
  }
  return renamed;
}

namespace {

using Op = recurra::Op;

/// A thing at the function's boundary.
struct Boundary {
  std::string name;
  std::vector<std::string> axes;
  DictionaryAttr attributes;
  Type type;
  Location loc;
};

class Importer {
public:
  Importer(MLIRContext &context, const Recurrence &recurrence, const Spec &spec)
      : context(&context), builder(&context), recurrence(recurrence),
        spec(spec) {}

  std::string findMistake() const;
  OwningOpRef<ModuleOp> run();

private:
  static bool has(const std::vector<std::string> &names,
                  const std::string &name) {
    return llvm::is_contained(names, name);
  }

  std::vector<Boundary> arguments();
  std::vector<Boundary> results();
  Boundary boundary(StringRef kind, const std::string &name,
                    const std::vector<std::string> &axes, bool token,
                    const SourceLocation &place, StringRef share,
                    const std::vector<Fact> &facts);
  std::string dtypeOf(StringRef kind, const std::string &name) const;
  Axes axesOf(const std::vector<std::string> &names) const;
  Attribute factAttribute(const std::vector<Fact> &facts);
  ScanOp emitScan(func::FuncOp function);
  void emitStep(ScanOp scan, const std::vector<const Input *> &tokens,
                std::map<std::string, Value> inputs);

  MLIRContext *context;
  OpBuilder builder;
  const Recurrence &recurrence;
  const Spec &spec;
};

std::string Importer::findMistake() const {
  auto unknown = [&](const std::string &what, const std::string &name) {
    return "the spec names the " + what + " '" + name +
           "', which the recurrence does not have; use a declared name";
  };
  for (const std::string &name : spec.outputs) {
    if (!recurrence.findOutput(name)) {
      return unknown("output", name);
    }
  }
  for (const auto &states : {spec.finalStates, spec.initialStates}) {
    for (const std::string &name : states) {
      if (!recurrence.findState(name)) {
        return unknown("state", name);
      }
    }
  }
  for (const std::string &name : spec.gradients) {
    if (!recurrence.findInput(name) && !has(spec.initialStates, name)) {
      return unknown("input or given initial state", name);
    }
  }
  if (spec.outputs.empty() && spec.finalStates.empty()) {
    return "the spec wants no output and no final state; ask for one";
  }
  return "";
}

Axes Importer::axesOf(const std::vector<std::string> &names) const {
  Axes axes;
  for (const std::string &name : names) {
    axes.push_back(StringAttr::get(context, axisInIr(recurrence, name)));
  }
  return axesIn(axesAttr(context, axes));
}

Attribute Importer::factAttribute(const std::vector<Fact> &facts) {
  SmallVector<Attribute> texts;
  for (const Fact &fact : facts) {
    std::string text;
    llvm::raw_string_ostream os(text);
    switch (fact.kind) {
    case Fact::Positive:
      os << "positive";
      break;
    case Fact::NonNegative:
      os << "nonNegative";
      break;
    case Fact::NonPositive:
      os << "nonPositive";
      break;
    case Fact::Range:
      os << "range(" << fact.low << ", " << fact.high << ")";
      break;
    case Fact::Unit:
      os << "unit(" << axisInIr(recurrence, fact.axis) << ")";
      break;
    }
    texts.push_back(builder.getStringAttr(text));
  }
  return texts.size() == 1 ? texts[0] : builder.getArrayAttr(texts);
}

std::string Importer::dtypeOf(StringRef kind, const std::string &name) const {
  DType type = spec.computeType();
  if (kind == "initialState" || kind == "finalState") {
    type = recurrence.findState(name)->tensorType(type);
  } else if (auto found = spec.dtypes.find(name); found != spec.dtypes.end()) {
    type = found->second;
  }
  return std::string(recurra::name(type));
}

Boundary Importer::boundary(StringRef kind, const std::string &name,
                            const std::vector<std::string> &axes, bool token,
                            const SourceLocation &place, StringRef share,
                            const std::vector<Fact> &facts) {
  NamedAttrList attributes;
  auto text = [&](const std::string &value) {
    return builder.getStringAttr(value);
  };
  attributes.set(kindAttr, builder.getStringAttr(kind));
  attributes.set(nameAttr, text(name));
  attributes.set(dtypeAttr, text(dtypeOf(kind, name)));
  if (!share.empty() && share != "head") {
    attributes.set(shareAttr, builder.getStringAttr(share));
  }
  if (axes.size() > 1) {
    SmallVector<Attribute> layout;
    for (const std::string &axis : axes) {
      layout.push_back(text(axisInIr(recurrence, axis)));
    }
    attributes.set(layoutAttr, builder.getArrayAttr(layout));
  }
  if (!facts.empty()) {
    attributes.set(factAttr, factAttribute(facts));
  }
  bool argument = kind == "input" || kind == "initialState";
  if (argument && has(spec.gradients, name)) {
    attributes.set(gradientAttr, builder.getUnitAttr());
  }
  Type type = token ? Type(SeqType::get(context, axesOf(axes)))
                    : ValType::get(context, axesOf(axes));
  std::string printed = kind == "initialState" ? name + "0" : name;
  return {name, axes, attributes.getDictionary(context), type,
          locate(context, place, printed)};
}

std::vector<Boundary> Importer::arguments() {
  std::vector<Boundary> list;
  for (const Input &input : recurrence.inputs) {
    StringRef share =
        input.role == Role::Scalar || input.sharing == Sharing::All ? "all"
        : input.sharing == Sharing::Group                           ? "group"
                                                                    : "head";
    list.push_back(boundary("input", input.name, input.axes,
                            input.role == Role::Token, input.location, share,
                            input.facts));
  }
  for (const State &state : recurrence.states) {
    if (has(spec.initialStates, state.name)) {
      list.push_back(boundary("initialState", state.name, state.axes, false,
                              state.location, "", state.facts));
    }
  }
  return list;
}

std::vector<Boundary> Importer::results() {
  std::vector<Boundary> list;
  for (const Output &output : recurrence.outputs) {
    if (has(spec.outputs, output.name)) {
      list.push_back(boundary("output", output.name, output.axes, true,
                              output.location, "", {}));
    }
  }
  for (const State &state : recurrence.states) {
    if (has(spec.finalStates, state.name)) {
      list.push_back(boundary("finalState", state.name, state.axes, false,
                              state.location, "", {}));
    }
  }
  return list;
}

ScanOp Importer::emitScan(func::FuncOp function) {
  std::map<std::string, Value> inputs, given;
  std::vector<const Input *> tokens;
  std::vector<Value> sequences, inits;
  for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
    if (i >= recurrence.inputs.size()) {
      given[function.getArgAttrOfType<StringAttr>(i, nameAttr).str()] =
          argument;
      continue;
    }
    const Input &input = recurrence.inputs[i];
    if (input.role == Role::Token) {
      tokens.push_back(&input);
      sequences.push_back(argument);
    } else {
      inputs[input.name] = argument;
    }
  }
  Expressions boundary(builder, recurrence, inputs, {});
  SmallVector<Attribute> names;
  for (const State &state : recurrence.states) {
    Value init = given[state.name];
    if (!init) {
      init = boundary.emit(state.initial);
    }
    inits.push_back(fitAxes(builder, locate(context, state.location), init,
                            axesOf(state.axes)));
    names.push_back(builder.getStringAttr(state.name));
  }
  SmallVector<Type> emitted;
  for (const Output &output : recurrence.outputs) {
    if (has(spec.outputs, output.name)) {
      emitted.push_back(ValType::get(context, axesOf(output.axes)));
    }
  }
  auto scan = ScanOp::create(builder, function.getLoc(), false, sequences,
                             inits, emitted);
  scan->setAttr(carriesAttr, builder.getArrayAttr(names));
  emitStep(scan, tokens, inputs);
  return scan;
}

/// Gives the value a name for printing, if an op made it.
void nameValue(Value value, MLIRContext *context, const SourceLocation &place,
               const std::string &name) {
  if (Operation *op = value.getDefiningOp()) {
    op->setLoc(locate(context, place, name));
  }
}

void Importer::emitStep(ScanOp scan, const std::vector<const Input *> &tokens,
                        std::map<std::string, Value> inputs) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(scan.getStep());
  std::set<std::string> gates = logGates(recurrence);
  for (auto [input, argument] : llvm::zip(tokens, scan.getTokens())) {
    argument.setLoc(locate(context, input->location, input->name + "_t"));
    Value value = argument;
    if (gates.contains(input->name)) {
      Location loc = locate(context, input->location, input->name + "_c");
      Value floor = ConstOp::create(builder, locate(context, input->location),
                                    ValType::get(context, {}),
                                    builder.getF64FloatAttr(lowestLogGate));
      value = MaxOp::create(builder, loc, value, floor);
    }
    inputs[input->name] = value;
  }
  std::map<std::string, Value> states;
  for (auto [state, argument] :
       llvm::zip(recurrence.states, scan.getStates())) {
    argument.setLoc(locate(context, state.location, state.name));
    states[state.name] = argument;
  }
  Expressions step(builder, recurrence, inputs, states);
  SmallVector<Value> carried, emitted;
  for (const State &state : recurrence.states) {
    carried.push_back(fitAxes(builder, locate(context, state.location),
                              step.emit(state.next), axesOf(state.axes)));
    nameValue(carried.back(), context, state.next->location, state.name + "1");
  }
  for (const Output &output : recurrence.outputs) {
    if (has(spec.outputs, output.name)) {
      emitted.push_back(fitAxes(builder, locate(context, output.location),
                                step.emit(output.value), axesOf(output.axes)));
      nameValue(emitted.back(), context, output.value->location,
                output.name + "_t");
    }
  }
  YieldOp::create(builder, scan.getLoc(), carried, emitted);
}

OwningOpRef<ModuleOp> Importer::run() {
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(context));
  builder.setInsertionPointToEnd(module->getBody());
  SmallVector<Type> argumentTypes, resultTypes;
  SmallVector<DictionaryAttr> argumentAttributes, resultAttributes;
  SmallVector<Location> locations;
  for (const Boundary &argument : arguments()) {
    argumentTypes.push_back(argument.type);
    argumentAttributes.push_back(argument.attributes);
    locations.push_back(argument.loc);
  }
  for (const Boundary &result : results()) {
    resultTypes.push_back(result.type);
    resultAttributes.push_back(result.attributes);
  }
  auto function =
      func::FuncOp::create(builder, UnknownLoc::get(context), recurrence.name,
                           builder.getFunctionType(argumentTypes, resultTypes));
  function.setAllArgAttrs(argumentAttributes);
  function.setAllResultAttrs(resultAttributes);
  Block *entry = function.addEntryBlock();
  for (auto [argument, loc] : llvm::zip(entry->getArguments(), locations)) {
    argument.setLoc(loc);
  }
  builder.setInsertionPointToStart(entry);
  ScanOp scan = emitScan(function);
  SmallVector<Value> returned(scan.getEmitted());
  for (auto [state, last] : llvm::zip(recurrence.states, scan.getLast())) {
    if (has(spec.finalStates, state.name)) {
      returned.push_back(last);
    }
  }
  func::ReturnOp::create(builder, UnknownLoc::get(context), returned);
  return module;
}

} // namespace

OwningOpRef<ModuleOp> recurra::importRecurrence(MLIRContext &context,
                                                const Recurrence &recurrence,
                                                const Spec &spec,
                                                std::string &error) {
  context.loadDialect<RecDialect, func::FuncDialect>();
  Importer importer(context, recurrence, spec);
  error = importer.findMistake();
  return error.empty() ? importer.run() : nullptr;
}
