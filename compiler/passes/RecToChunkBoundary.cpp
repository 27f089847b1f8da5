// Ports of a rec function, the signature of the chunk function, and its
// description for the Artifact.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/RecToChunkBoundary.h"

#include "compiler/passes/RecToChunk.h"
#include "compiler/rec/Rec.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace recurra;
using namespace recurra::chunk;

namespace {
constexpr std::pair<Argument::Kind, StringLiteral> spellings[] = {
    {Argument::Input, "input"},
    {Argument::InitialState, "initial-state"},
    {Argument::Checkpoint, "checkpoint"},
    {Argument::OutputCotangent, "output-cotangent"},
    {Argument::FinalStateCotangent, "final-state-cotangent"},
    {Argument::Output, "output"},
    {Argument::FinalState, "final-state"},
    {Argument::InputGradient, "input-gradient"},
    {Argument::InitialStateGradient, "initial-state-gradient"}};

constexpr std::pair<Argument::Kind, StringLiteral> recKinds[] = {
    {Argument::Input, "input"},
    {Argument::InitialState, "initialState"},
    {Argument::OutputCotangent, "outputCotangent"},
    {Argument::FinalStateCotangent, "finalStateCotangent"},
    {Argument::Output, "output"},
    {Argument::FinalState, "finalState"},
    {Argument::InputGradient, "inputGradient"},
    {Argument::InitialStateGradient, "initialStateGradient"}};
} // namespace

StringRef recurra::spellingOf(Argument::Kind kind) {
  return llvm::find_if(spellings, [&](auto &s) { return s.first == kind; })
      ->second;
}

std::optional<Argument::Kind> recurra::parseKind(StringRef spelling) {
  for (auto &[kind, text] : spellings) {
    if (text == spelling) {
      return kind;
    }
  }
  return std::nullopt;
}

Type recurra::elementType(MLIRContext *context, DType type) {
  switch (type) {
  case DType::F32:
    return Float32Type::get(context);
  case DType::F64:
    return Float64Type::get(context);
  case DType::F16:
    return Float16Type::get(context);
  case DType::BF16:
    return BFloat16Type::get(context);
  }
  return {};
}

BufferBuilder &BufferBuilder::add(StringRef axis, std::int64_t window,
                                  std::int64_t per) {
  names.push_back(StringAttr::get(context, axis));
  windows.push_back(window);
  pers.push_back(per);
  return *this;
}

BufferType BufferBuilder::get(Type element) const {
  return BufferType::get(context, names, windows, pers, element);
}

//===----------------------------------------------------------------------===//
// Ports
//===----------------------------------------------------------------------===//

static StringRef stringAttr(DictionaryAttr attributes, StringRef name) {
  auto attribute =
      attributes ? attributes.getAs<StringAttr>(name) : StringAttr();
  return attribute ? attribute.getValue() : StringRef();
}

static Sharing sharingOf(DictionaryAttr attributes, std::int64_t group) {
  StringRef share = stringAttr(attributes, rec::shareAttr);
  StringRef reduce = stringAttr(attributes, rec::reduceAttr);
  Sharing sharing;
  bool isGroup =
      share == "group" || reduce == "group" || reduce == "batchGroup";
  bool isAll = share == "all" || reduce == "heads" || reduce == "all";
  sharing.heads = isAll                  ? Heads::All
                  : isGroup && group > 1 ? Heads::Group
                                         : Heads::Each;
  sharing.sequences =
      reduce == "batch" || reduce == "batchGroup" || reduce == "all";
  return sharing;
}

static std::vector<std::string> memoryOrder(Type type,
                                            DictionaryAttr attributes) {
  std::vector<std::string> axes;
  auto layout =
      attributes ? attributes.getAs<ArrayAttr>(rec::layoutAttr) : ArrayAttr();
  if (layout) {
    for (StringAttr axis : layout.getAsRange<StringAttr>()) {
      axes.push_back(axis.str());
    }
    return axes;
  }
  for (StringAttr axis : rec::axesOf(type)) {
    axes.push_back(axis.str());
  }
  return axes;
}

static bool isOfState(Argument::Kind kind) {
  return kind == Argument::InitialState || kind == Argument::FinalState ||
         kind == Argument::FinalStateCotangent ||
         kind == Argument::InitialStateGradient;
}

/// What import wrote; without it, what the spec says.
static DType dtypeOf(const Port &port, DictionaryAttr attributes,
                     const Spec &spec) {
  if (auto type = parseDType(stringAttr(attributes, rec::dtypeAttr))) {
    return *type;
  }
  auto type = spec.dtypes.find(port.name);
  return isOfState(port.kind) || type == spec.dtypes.end() ? spec.computeType()
                                                           : type->second;
}

static Port makePort(Type type, DictionaryAttr attributes, const Spec &spec,
                     Argument::Kind fallback, unsigned position) {
  Port port;
  port.kind = fallback;
  StringRef kind = stringAttr(attributes, rec::kindAttr);
  for (auto &[value, text] : recKinds) {
    port.kind = text == kind ? value : port.kind;
  }
  port.name = stringAttr(attributes, rec::nameAttr).str();
  if (port.name.empty()) {
    port.name = "value" + std::to_string(position);
  }
  port.axes = memoryOrder(type, attributes);
  port.perToken = isa<rec::SeqType>(type);
  port.perSequence = isOfState(port.kind);
  port.sharing = sharingOf(attributes, spec.group);
  port.dtype = dtypeOf(port, attributes, spec);
  return port;
}

Boundary::Boundary(func::FuncOp function, const Spec &spec, const Plan &plan) {
  FunctionType type = function.getFunctionType();
  for (auto [i, input] : llvm::enumerate(type.getInputs())) {
    arguments.push_back(
        makePort(input, function.getArgAttrDict(i), spec, Argument::Input, i));
  }
  for (auto [i, result] : llvm::enumerate(type.getResults())) {
    results.push_back(makePort(result, function.getResultAttrDict(i), spec,
                               isa<rec::SeqType>(result) ? Argument::Output
                                                         : Argument::FinalState,
                               i));
  }
  if (spec.direction == Direction::Backward || spec.saveCheckpoints) {
    for (const PlanState &state : plan.states) {
      Port &port = checkpoints.emplace_back();
      port.kind = Argument::Checkpoint;
      port.name = state.name;
      port.axes = state.axes;
      port.dtype = spec.computeType();
    }
  }
}

static BufferType bufferType(const Port &port, const Spec &spec,
                             const Plan &plan, MLIRContext *context) {
  BufferBuilder builder(context);
  if (port.kind == Argument::Checkpoint) {
    builder.add("T", 0, plan.interval);
  } else if (port.perToken) {
    builder.add("T");
  } else if (port.perSequence) {
    builder.add("N");
  }
  if (port.sharing.heads != Heads::All) {
    builder.add("H", 0, port.sharing.heads == Heads::Group ? spec.group : 1);
  }
  for (const std::string &axis : port.axes) {
    builder.add(axis);
  }
  return builder.get(elementType(context, port.dtype));
}

func::FuncOp Boundary::createFunction(func::FuncOp function, const Spec &spec,
                                      const Plan &plan) {
  MLIRContext *context = function.getContext();
  SmallVector<Port *> order;
  auto isCotangent = [](const Port &port) {
    return port.kind == Argument::OutputCotangent ||
           port.kind == Argument::FinalStateCotangent;
  };
  bool isForward = spec.direction == Direction::Forward;
  auto addAll = [&](std::vector<Port> &ports, auto keep) {
    for (Port &port : ports) {
      if (keep(port)) {
        order.push_back(&port);
      }
    }
  };
  auto all = [](const Port &) { return true; };
  addAll(arguments, [&](const Port &port) { return !isCotangent(port); });
  if (isForward) {
    addAll(results, all);
  }
  addAll(checkpoints, all);
  addAll(arguments, isCotangent);
  if (!isForward) {
    addAll(results, all);
  }
  OpBuilder builder(function);
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  for (Port *port : order) {
    types.push_back(bufferType(*port, spec, plan, context));
    std::string text = (spellingOf(port->kind) + " " + port->name).str();
    attributes.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr("chunk.arg", builder.getStringAttr(text))));
  }
  auto result =
      func::FuncOp::create(builder, function.getLoc(), function.getName(),
                           builder.getFunctionType(types, {}), {}, attributes);
  Block *block = result.addEntryBlock();
  for (auto [port, argument] : llvm::zip(order, block->getArguments())) {
    port->buffer = argument;
    argument.setLoc(NameLoc::get(builder.getStringAttr(port->name)));
  }
  return result;
}

const Port *Boundary::findCheckpoint(StringRef state) const {
  auto found = llvm::find_if(
      checkpoints, [&](const Port &port) { return port.name == state; });
  return found == checkpoints.end() ? nullptr : &*found;
}

//===----------------------------------------------------------------------===//
// Description for the Artifact
//===----------------------------------------------------------------------===//

static DType dtypeOf(Type type) {
  return type.isF64()    ? DType::F64
         : type.isF16()  ? DType::F16
         : type.isBF16() ? DType::BF16
                         : DType::F32;
}

static std::vector<std::string> shapeOf(BufferType type, Operation *inside) {
  std::vector<std::string> shape;
  for (auto [name, per] : llvm::zip(type.getNames(), type.getPers())) {
    StringRef axis = name.getValue();
    if (axis == "T" && per == 1) {
      shape.push_back("B");
      shape.push_back("T");
    } else if (axis == "T") {
      shape.push_back("S");
    } else if (axis == "H") {
      shape.push_back(per == 1 ? "H" : "Hg");
    } else if (axis == "N") {
      shape.push_back("N");
    } else {
      std::int64_t extent = getExtent(inside, axis);
      shape.push_back(std::to_string((extent + per - 1) / per));
    }
  }
  return shape;
}

std::vector<Argument> recurra::describeArguments(func::FuncOp function) {
  std::vector<Argument> arguments;
  Operation *inside = &function.front().front();
  for (auto [i, value] : llvm::enumerate(function.getArguments())) {
    auto type = cast<BufferType>(value.getType());
    auto text = function.getArgAttrOfType<StringAttr>(i, "chunk.arg");
    auto [kind, name] = (text ? text.getValue() : "input ").split(' ');
    arguments.push_back({parseKind(kind).value_or(Argument::Input), name.str(),
                         dtypeOf(type.getElement()), shapeOf(type, inside)});
  }
  return arguments;
}

std::vector<Workspace> recurra::describeWorkspaces(func::FuncOp function) {
  std::vector<Workspace> workspaces;
  for (auto alloc : function.getOps<AllocOp>()) {
    BufferType type = alloc.getBuffer().getType();
    workspaces.push_back({dtypeOf(type.getElement()), shapeOf(type, alloc)});
  }
  return workspaces;
}

std::vector<Nest> recurra::describeNests(func::FuncOp function) {
  std::vector<Nest> nests;
  for (auto forall : function.getOps<ForallOp>()) {
    Nest &nest = nests.emplace_back();
    nest.entry =
        (function.getName() + "_nest" + std::to_string(nests.size() - 1)).str();
    for (unsigned i = 0; i < forall.getNumIterators(); ++i) {
      StringRef axis = forall.getAxis(i);
      std::int64_t step = forall.getSteps()[i];
      if (axis == "N" || axis == "H") {
        nest.tasks.push_back(step == 1 ? axis.str() : axis == "H" ? "Hg" : "N");
        continue;
      }
      std::int64_t extent = getExtent(forall, axis);
      nest.tasks.push_back(std::to_string((extent + step - 1) / step));
    }
  }
  return nests;
}
