// From a recurrence to evaluated chunk functions.
// SPDX-License-Identifier: Apache-2.0
#include "tests/compiler/ChunkRun.h"

#include "compiler/Import.h"
#include "compiler/Pipeline.h"
#include "compiler/chunk/Chunk.h"
#include "compiler/passes/Passes.h"
#include "compiler/passes/RecToChunk.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "tests/compiler/ChunkEvaluate.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace recurra;

static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registerDialects(registry);
  registry.insert<chunk::ChunkDialect>();
  return registry;
}

ChunkRun::ChunkRun(const Recurrence &recurrence, const Call &call,
                   std::function<void(Plan &)> adjust)
    : recurrence(recurrence), call(call), adjust(std::move(adjust)),
      context(makeRegistry(), MLIRContext::Threading::DISABLED) {
  context.loadAllAvailableDialects();
  for (const Output &output : recurrence.outputs) {
    outputs.push_back(output.name);
  }
  for (const State &state : recurrence.states) {
    finalStates.push_back(state.name);
  }
  for (const Input &input : recurrence.inputs) {
    gradients.push_back(input.name);
  }
  for (auto &[name, array] : call.initialStates) {
    gradients.push_back(name);
  }
}

Spec ChunkRun::makeSpec(Direction direction) const {
  Spec spec;
  spec.direction = direction;
  spec.extents = call.extents;
  spec.group = call.group;
  spec.packed = !call.offsets.empty();
  spec.saveCheckpoints = true;
  spec.outputs = outputs;
  spec.finalStates = finalStates;
  for (const Input &input : recurrence.inputs) {
    spec.dtypes[input.name] = DType::F64;
  }
  for (const Output &output : recurrence.outputs) {
    spec.dtypes[output.name] = DType::F64;
  }
  for (auto &[name, array] : call.initialStates) {
    spec.initialStates.push_back(name);
  }
  if (direction == Direction::Backward) {
    spec.gradients = gradients;
  }
  return spec;
}

bool ChunkRun::runPasses(ModuleOp module, Direction direction) {
  PassManager passes(&context);
  if (linearise) {
    addLinearPhase(passes);
  } else {
    passes.addNestedPass<func::FuncOp>(createCanonicalizerPass());
    passes.addNestedPass<func::FuncOp>(createCSEPass());
  }
  if (failed(passes.run(module))) {
    return false;
  }
  if (linearise) {
    states = statesOf(*module.getOps<func::FuncOp>().begin());
  }
  PassManager rest(&context);
  if (direction == Direction::Backward) {
    addBackwardPhase(rest);
  }
  return succeeded(rest.run(module));
}

static std::vector<PlanState> planStates(const Recurrence &recurrence) {
  std::vector<PlanState> states;
  for (const State &state : recurrence.states) {
    PlanState &saved = states.emplace_back();
    saved.name = state.name;
    for (const std::string &axis : state.axes) {
      saved.axes.push_back(axisInIr(recurrence, axis));
    }
  }
  return states;
}

/// Sets `module`, or `error`.
bool ChunkRun::lower(Direction direction) {
  Spec spec = makeSpec(direction);
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error) {
      error += diagnostic.str() + "\n";
    }
    return success();
  });
  module = importRecurrence(context, recurrence, spec, error);
  states = planStates(recurrence);
  if (!module || !runPasses(*module, direction)) {
    return false;
  }
  auto function = *module->getOps<func::FuncOp>().begin();
  auto choice = makePlan(function, spec, TargetDescription(), states);
  if (failed(choice)) {
    return false;
  }
  if (adjust) {
    adjust(*choice);
  }
  plan = toText(*choice);
  if (failed(lowerToChunk(function, spec, *choice))) {
    return false;
  }
  text.clear();
  llvm::raw_string_ostream(text) << *module;
  return succeeded(verify(*module));
}

/// The array of an argument that the function reads; null for others.
static const Array *findGiven(const Argument &argument, const Call &call,
                              const ChunkValues &values) {
  auto find = [&](const Arrays &from) {
    auto found = from.find(argument.name);
    return found == from.end() ? nullptr : &found->second;
  };
  switch (argument.kind) {
  case Argument::Input:
    return find(call.inputs);
  case Argument::InitialState:
    return find(call.initialStates);
  case Argument::OutputCotangent:
    return find(values.cotangents.outputs);
  case Argument::FinalStateCotangent:
    return find(values.cotangents.finalStates);
  case Argument::Checkpoint:
    return find(values.checkpoints);
  default:
    return nullptr;
  }
}

/// The map that an argument which the function writes belongs in; null else.
static Arrays *findTaken(const Argument &argument, ChunkValues &values) {
  switch (argument.kind) {
  case Argument::Output:
    return &values.values.outputs;
  case Argument::FinalState:
    return &values.values.finalStates;
  case Argument::Checkpoint:
    return &values.checkpoints;
  case Argument::InputGradient:
    return &values.gradients.inputs;
  case Argument::InitialStateGradient:
    return &values.gradients.initialStates;
  default:
    return nullptr;
  }
}

std::string recurra::runChunk(func::FuncOp function, const Call &call,
                              ChunkValues &values, unsigned seed) {
  ChunkSizes sizes{call.batch, call.tokens, call.heads, call.offsets};
  std::vector<Argument> arguments = describeArguments(function);
  std::vector<Array> arrays;
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    const Array *given = findGiven(argument, call, values);
    Array empty;
    empty.values.assign(countElements(function, i, sizes),
                        std::numeric_limits<double>::quiet_NaN());
    arrays.push_back(given ? *given : empty);
  }
  std::string complaint = evaluateChunk(function, sizes, arrays, seed);
  for (auto [argument, array] : llvm::zip(arguments, arrays)) {
    if (Arrays *taken = findTaken(argument, values)) {
      (*taken)[argument.name] = array;
    }
  }
  return complaint;
}

Values ChunkRun::forward() {
  chunkValues = ChunkValues();
  if (lower(Direction::Forward)) {
    error = runChunk(*module->getOps<func::FuncOp>().begin(), call, chunkValues,
                     seed);
  }
  return chunkValues.values;
}

Gradients ChunkRun::backward(const Values &cotangents) {
  forward();
  if (error.empty() && lower(Direction::Backward)) {
    chunkValues.cotangents = cotangents;
    error = runChunk(*module->getOps<func::FuncOp>().begin(), call, chunkValues,
                     seed);
  }
  return chunkValues.gradients;
}

double recurra::distance(const Arrays &left, const Arrays &right,
                         std::string &where) {
  double worst = 0;
  for (auto &[name, array] : right) {
    auto found = left.find(name);
    bool fits = found != left.end() &&
                found->second.values.size() == array.values.size();
    if (!fits) {
      where = name + " is missing";
      return std::numeric_limits<double>::infinity();
    }
    for (size_t i = 0; i < array.values.size(); ++i) {
      double x = found->second.values[i], y = array.values[i];
      double error = std::fabs(x - y) / std::max(1.0, std::fabs(y));
      if (!(error <= worst) && !(x == y)) {
        where = name + "[" + std::to_string(i) + "]: " + std::to_string(x) +
                " for " + std::to_string(y);
        worst =
            std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
      }
    }
  }
  return worst;
}
