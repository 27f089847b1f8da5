// Spec from shapes and wishes; then one tensor per argument of the kernel,
// given or allocated.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Prepare.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <map>

namespace recurra {
namespace {

bool isOnGpu(const CallTensors &tensors) {
  return std::any_of(
      tensors.inputs.begin(), tensors.inputs.end(),
      [](const auto &value) { return value && value->is_cuda(); });
}

Spec commonSpec(const Recurrence &recurrence, const CallTensors &tensors,
                const OpSizes &sizes) {
  Spec spec;
  spec.extents = sizes.extents;
  spec.group = sizes.group;
  spec.packed = sizes.packed;
  spec.target = isOnGpu(tensors) ? "cuda" : "cpu";
  DType type = fromTorch(computeType(tensors));
  for (std::size_t i = 0; i < recurrence.inputs.size(); ++i) {
    const std::optional<at::Tensor> &value = tensors.inputs[i];
    spec.dtypes[recurrence.inputs[i].name] =
        value ? fromTorch(value->scalar_type()) : type;
  }
  DType outputs = fromTorch(outputType(recurrence, tensors));
  for (const Output &output : recurrence.outputs) {
    spec.dtypes[output.name] = outputs;
  }
  for (std::size_t i = 0; i < tensors.initialStates.size(); ++i) {
    if (tensors.initialStates[i]) {
      spec.initialStates.push_back(recurrence.states[i].name);
    }
  }
  return spec;
}

/// The tensors of a call by what they are to the kernel.
class Binding {
public:
  using Key = std::pair<Argument::Kind, std::string>;

  Binding(const Recurrence &recurrence, const CallTensors &tensors,
          const OpSizes &sizes)
      : recurrence(recurrence), sizes(sizes) {
    for (const std::optional<at::Tensor> &value : tensors.inputs) {
      if (value) {
        options = value->options();
      }
    }
    for (std::size_t i = 0; i < tensors.initialStates.size(); ++i) {
      add(Argument::InitialState, recurrence.states[i].name,
          tensors.initialStates[i]);
    }
    for (std::size_t i = 0; i < recurrence.inputs.size(); ++i) {
      add(Argument::Input, recurrence.inputs[i].name, tensors.inputs[i]);
    }
  }

  void add(Argument::Kind kind, const std::string &name,
           const std::optional<at::Tensor> &value) {
    if (value) {
      given[{kind, name}] = *value;
    }
  }

  bool has(Argument::Kind kind, const std::string &name) const {
    return given.contains({kind, name});
  }

  const at::Tensor &at(Argument::Kind kind, const std::string &name) const {
    return given.at({kind, name});
  }

  /// Given, or a default, or newly allocated.
  at::Tensor resolve(const Argument &argument, std::int64_t interval) {
    Key key{argument.kind, argument.name};
    if (auto place = given.find(key); place != given.end()) {
      return place->second;
    }
    at::TensorOptions typed = options.dtype(toTorch(argument.dtype));
    if (argument.kind == Argument::Input) {
      const Input *input = recurrence.findInput(argument.name);
      return given[key] = defaultOf(recurrence, *input, sizes, typed);
    }
    std::vector<c10::SymInt> shape;
    for (const std::string &symbol : argument.shape) {
      shape.push_back(sizes.evaluate(symbol, interval));
    }
    return given[key] = at::empty_symint(shape, typed);
  }

private:
  const Recurrence &recurrence;
  const OpSizes &sizes;
  at::TensorOptions options;
  std::map<Key, at::Tensor> given;
};

void bindArguments(Prepared &prepared, Binding &binding) {
  for (const Argument &argument : prepared.kernel->arguments()) {
    prepared.arguments.push_back(
        binding.resolve(argument, prepared.kernel->checkpointInterval()));
  }
}

void checkOutputs(const Recurrence &recurrence, const ForwardRequest &request) {
  for (const std::string &name : request.outputs) {
    std::string known;
    for (const Output &output : recurrence.outputs) {
      known += (known.empty() ? "" : ", ") + output.name;
    }
    TORCH_CHECK_VALUE(recurrence.findOutput(name), recurrence.name,
                      ": there is no output '", name, "'; the outputs are ",
                      known, "; name one of them");
    TORCH_CHECK_VALUE(
        std::count(request.outputs.begin(), request.outputs.end(), name) == 1,
        recurrence.name, ": output '", name,
        "' is asked for twice; name it once");
  }
}

/// One optional tensor per declared thing; shorter lists are mistakes.
void addCotangents(const Recurrence &recurrence, const BackwardRequest &request,
                   Binding &binding, Spec &spec) {
  TORCH_CHECK(request.outputCotangents.size() == recurrence.outputs.size() &&
                  request.finalCotangents.size() == recurrence.states.size() &&
                  request.wanted.size() ==
                      recurrence.inputs.size() + recurrence.states.size(),
              recurrence.name,
              ": recurra::backward takes a gradient or None "
              "for each output and each state, and a flag for "
              "each input and each state");
  for (std::size_t i = 0; i < recurrence.outputs.size(); ++i) {
    const std::string &name = recurrence.outputs[i].name;
    binding.add(Argument::OutputCotangent, name, request.outputCotangents[i]);
    if (request.outputCotangents[i]) {
      spec.outputs.push_back(name);
    }
  }
  for (std::size_t i = 0; i < recurrence.states.size(); ++i) {
    const std::string &name = recurrence.states[i].name;
    binding.add(Argument::FinalStateCotangent, name,
                request.finalCotangents[i]);
    if (request.finalCotangents[i]) {
      spec.finalStates.push_back(name);
    }
  }
}

void addWanted(const Recurrence &recurrence, const BackwardRequest &request,
               const Binding &binding, Spec &spec) {
  std::size_t place = 0;
  for (const Input &input : recurrence.inputs) {
    if (request.wanted[place++]) {
      TORCH_CHECK(binding.has(Argument::Input, input.name), recurrence.name,
                  ": a gradient of '", input.name,
                  "' is wanted, but it was not given; give it");
      spec.gradients.push_back(input.name);
    }
  }
  for (const State &state : recurrence.states) {
    if (request.wanted[place++]) {
      TORCH_CHECK(binding.has(Argument::InitialState, state.name),
                  recurrence.name, ": a gradient of initial_state ", state.name,
                  " is wanted, but it was not given; give it");
      spec.gradients.push_back(state.name);
    }
  }
}

/// The forward kernel says which states it saved, in the same order.
void addCheckpoints(const BackwardRequest &request, const OpKernel &kernel,
                    Binding &binding) {
  std::size_t next = 0;
  for (const Argument &argument : kernel.arguments()) {
    if (argument.kind == Argument::Checkpoint) {
      TORCH_CHECK(next < request.checkpoints.size(),
                  "recurra::backward: too few checkpoints; pass those that "
                  "recurra::forward returned with save = True");
      // Dense as they were saved, whatever a hook on saved tensors made of
      // them.
      binding.add(Argument::Checkpoint, argument.name,
                  request.checkpoints[next++].contiguous());
    }
  }
}

} // namespace

at::ScalarType outputType(const Recurrence &recurrence,
                          const CallTensors &tensors) {
  for (std::size_t i = 0; i < recurrence.inputs.size(); ++i) {
    if (tensors.inputs[i] && recurrence.inputs[i].role == Role::Token) {
      return tensors.inputs[i]->scalar_type();
    }
  }
  return computeType(tensors);
}

Spec forwardSpec(const ForwardRequest &request, const OpSizes &sizes) {
  const Recurrence &recurrence = parsed(request.text);
  checkOutputs(recurrence, request);
  Spec spec = commonSpec(recurrence, request.tensors, sizes);
  spec.direction = Direction::Forward;
  spec.saveCheckpoints = request.save;
  spec.outputs = request.outputs;
  if (request.finalStates) {
    for (const State &state : recurrence.states) {
      spec.finalStates.push_back(state.name);
    }
  }
  return spec;
}

Spec backwardSpec(const ForwardRequest &request, const OpSizes &sizes) {
  Spec spec = forwardSpec(request, sizes);
  spec.direction = Direction::Backward;
  spec.saveCheckpoints = false;
  const Recurrence &recurrence = parsed(request.text);
  for (std::size_t i = 0; i < recurrence.inputs.size(); ++i) {
    if (request.tensors.inputs[i]) {
      spec.gradients.push_back(recurrence.inputs[i].name);
    }
  }
  spec.gradients.insert(spec.gradients.end(), spec.initialStates.begin(),
                        spec.initialStates.end());
  return spec;
}

Spec expectedBackwardSpec(const ForwardRequest &request, const OpSizes &sizes) {
  const Recurrence &recurrence = parsed(request.text);
  Spec spec = backwardSpec(request, sizes);
  spec.finalStates.clear();
  spec.gradients.clear();
  auto add = [&](const auto &declared, const OptionalTensors &given) {
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (given[i] && given[i]->requires_grad()) {
        spec.gradients.push_back(declared[i].name);
      }
    }
  };
  add(recurrence.inputs, request.tensors.inputs);
  add(recurrence.states, request.tensors.initialStates);
  return spec;
}

Prepared prepare(const ForwardRequest &request) {
  const Recurrence &recurrence = parsed(request.text);
  Prepared prepared;
  prepared.sizes = deduceSizes(recurrence, request.tensors);
  Spec spec = forwardSpec(request, prepared.sizes);
  prepared.kernel = &findKernel(request.text, spec);
  Binding binding(recurrence, request.tensors, prepared.sizes);
  bindArguments(prepared, binding);
  for (const std::string &name : request.outputs) {
    prepared.results.push_back(binding.at(Argument::Output, name));
  }
  for (std::size_t i = 0; i < prepared.arguments.size(); ++i) {
    Argument::Kind kind = prepared.kernel->arguments()[i].kind;
    if (kind == Argument::FinalState || kind == Argument::Checkpoint) {
      prepared.results.push_back(prepared.arguments[i]);
    }
  }
  return prepared;
}

Prepared prepare(const BackwardRequest &request) {
  const Recurrence &recurrence = parsed(request.text);
  Prepared prepared;
  prepared.sizes = deduceSizes(recurrence, request.tensors);
  Spec spec = commonSpec(recurrence, request.tensors, prepared.sizes);
  spec.direction = Direction::Backward;
  Binding binding(recurrence, request.tensors, prepared.sizes);
  addCotangents(recurrence, request, binding, spec);
  addWanted(recurrence, request, binding, spec);
  prepared.kernel = &findKernel(request.text, spec);
  addCheckpoints(request, *prepared.kernel, binding);
  bindArguments(prepared, binding);
  for (std::size_t i = 0; i < prepared.arguments.size(); ++i) {
    Argument::Kind kind = prepared.kernel->arguments()[i].kind;
    if (kind == Argument::InputGradient ||
        kind == Argument::InitialStateGradient) {
      prepared.results.push_back(prepared.arguments[i]);
    }
  }
  return prepared;
}

} // namespace recurra
