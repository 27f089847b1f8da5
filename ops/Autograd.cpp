// The derivative of every recurrence: one autograd function over the two torch
// ops. What backward needs is saved only when some tensor asks for a gradient.
// SPDX-License-Identifier: Apache-2.0
#include "ops/TorchBinding.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <algorithm>

namespace recurra {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Every defined tensor of a call that could carry a gradient, in order:
/// inputs, then initial states. `places` says where each came from.
struct Differentiable {
  std::vector<at::Tensor> tensors;
  std::vector<std::size_t> places;

  explicit Differentiable(const CallTensors &call) {
    add(call.inputs, 0);
    add(call.initialStates, call.inputs.size());
  }

  bool any() const {
    return std::any_of(tensors.begin(), tensors.end(),
                       [](const at::Tensor &x) { return x.requires_grad(); });
  }

private:
  void add(const OptionalTensors &values, std::size_t first) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i]) {
        tensors.push_back(*values[i]);
        places.push_back(first + i);
      }
    }
  }
};

c10::List<bool> presence(const OptionalTensors &values) {
  c10::List<bool> list;
  for (const std::optional<at::Tensor> &value : values) {
    list.push_back(value.has_value());
  }
  return list;
}

OptionalTensors restore(const c10::List<bool> &present,
                        const variable_list &saved, std::size_t &next) {
  OptionalTensors values;
  for (std::size_t i = 0; i < present.size(); ++i) {
    values.push_back(present.get(i) ? std::optional(saved[next++])
                                    : std::nullopt);
  }
  return values;
}

/// Saved tensors: those given, cu_seqlens if any, checkpoints.
void save(AutogradContext *context, const ForwardRequest &request,
          variable_list checkpoints) {
  variable_list saved = Differentiable(request.tensors).tensors;
  if (request.tensors.cuSeqlens) {
    saved.push_back(*request.tensors.cuSeqlens);
  }
  saved.insert(saved.end(), checkpoints.begin(), checkpoints.end());
  context->save_for_backward(std::move(saved));
  c10::List<std::string> outputs;
  for (const std::string &name : request.outputs) {
    outputs.push_back(name);
  }
  context->saved_data["text"] = request.text;
  context->saved_data["inputs"] = presence(request.tensors.inputs);
  context->saved_data["states"] = presence(request.tensors.initialStates);
  context->saved_data["packed"] = request.tensors.cuSeqlens.has_value();
  context->saved_data["outputs"] = outputs;
  context->saved_data["final_states"] = request.finalStates;
}

BackwardRequest restore(AutogradContext *context) {
  BackwardRequest request;
  variable_list saved = context->get_saved_variables();
  std::size_t next = 0;
  auto &data = context->saved_data;
  request.text = data["text"].toStringRef();
  request.tensors.inputs = restore(data["inputs"].toBoolList(), saved, next);
  request.tensors.initialStates =
      restore(data["states"].toBoolList(), saved, next);
  if (data["packed"].toBool()) {
    request.tensors.cuSeqlens = saved[next++];
  }
  request.checkpoints.assign(saved.begin() + static_cast<std::ptrdiff_t>(next),
                             saved.end());
  return request;
}

std::optional<at::Tensor> optional(const at::Tensor &value) {
  return value.defined() ? std::optional(value) : std::nullopt;
}

/// Cotangents come in the order of the forward's results.
void addCotangents(AutogradContext *context, const variable_list &gradients,
                   BackwardRequest &request) {
  const Recurrence &recurrence = parsed(request.text);
  request.outputCotangents.resize(recurrence.outputs.size());
  request.finalCotangents.resize(recurrence.states.size());
  std::size_t next = 0;
  c10::List<c10::IValue> names = context->saved_data["outputs"].toList();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Output *output = recurrence.findOutput(names.get(i).toStringRef());
    request.outputCotangents[output - recurrence.outputs.data()] =
        optional(gradients[next++]);
  }
  if (context->saved_data["final_states"].toBool()) {
    for (std::optional<at::Tensor> &value : request.finalCotangents) {
      value = optional(gradients[next++]);
    }
  }
}

struct RecurrenceFunction
    : public torch::autograd::Function<RecurrenceFunction> {
  static variable_list forward(AutogradContext *context,
                               const ForwardRequest &request,
                               at::TensorList /*differentiable*/) {
    at::AutoDispatchBelowADInplaceOrView guard;
    ForwardRequest saving = request;
    saving.save = true;
    variable_list results = callForward(saving);
    std::size_t kept = request.outputs.size();
    if (request.finalStates) {
      kept += parsed(request.text).states.size();
    }
    auto boundary = results.begin() + static_cast<std::ptrdiff_t>(kept);
    variable_list checkpoints(boundary, results.end());
    save(context, request, checkpoints);
    context->set_materialize_grads(false);
    if (request.save) {
      context->mark_non_differentiable(checkpoints);
    } else {
      results.erase(boundary, results.end());
    }
    return results;
  }

  static variable_list backward(AutogradContext *context,
                                const variable_list &gradients) {
    BackwardRequest request = restore(context);
    addCotangents(context, gradients, request);
    Differentiable inputs(request.tensors);
    request.wanted.assign(request.outputCotangents.size(), false);
    const Recurrence &recurrence = parsed(request.text);
    request.wanted.assign(recurrence.inputs.size() + recurrence.states.size(),
                          false);
    for (std::size_t i = 0; i < inputs.places.size(); ++i) {
      request.wanted[inputs.places[i]] = context->needs_input_grad(i);
    }
    // The first result belongs to `request`, which is no tensor.
    variable_list results(1 + inputs.places.size());
    bool anyCotangent = std::any_of(gradients.begin(), gradients.end(),
                                    [](auto &x) { return x.defined(); });
    if (!anyCotangent) {
      return results;
    }
    std::vector<at::Tensor> computed = callBackward(request);
    std::size_t next = 0;
    for (std::size_t i = 0; i < inputs.places.size(); ++i) {
      if (request.wanted[inputs.places[i]]) {
        results[1 + i] = computed[next++];
      }
    }
    return results;
  }
};

/// Lets backward run with create_graph, and refuses the second derivative.
struct GradientFunction : public torch::autograd::Function<GradientFunction> {
  static variable_list forward(AutogradContext *context,
                               const BackwardRequest &request,
                               at::TensorList /*differentiable*/) {
    at::AutoDispatchBelowADInplaceOrView guard;
    context->saved_data["name"] = parsed(request.text).name;
    return callBackward(request);
  }

  static variable_list backward(AutogradContext *context,
                                const variable_list & /*gradients*/) {
    TORCH_CHECK_NOT_IMPLEMENTED(
        false, context->saved_data["name"].toStringRef(),
        ": the second derivative of a recurrence is not implemented; its "
        "first derivative is a constant to autograd; detach it, or "
        "call backward without create_graph");
  }
};

std::vector<at::Tensor>
forwardAutograd(std::string text, const OptionalTensorList &inputs,
                const OptionalTensorList &initialStates,
                const std::optional<at::Tensor> &cuSeqlens,
                const c10::List<std::string> &outputs, bool finalStates,
                bool save) {
  ForwardRequest request = makeRequest(std::move(text), inputs, initialStates,
                                       cuSeqlens, outputs, finalStates, save);
  Differentiable differentiable(request.tensors);
  if (c10::GradMode::is_enabled() && differentiable.any()) {
    return RecurrenceFunction::apply(request,
                                     at::TensorList(differentiable.tensors));
  }
  at::AutoDispatchBelowADInplaceOrView guard;
  return callForward(request);
}

std::vector<at::Tensor> backwardAutograd(
    std::string text, const OptionalTensorList &inputs,
    const OptionalTensorList &initialStates,
    const std::optional<at::Tensor> &cuSeqlens, at::TensorList checkpoints,
    const OptionalTensorList &outputCotangents,
    const OptionalTensorList &finalCotangents, const c10::List<bool> &wanted) {
  BackwardRequest request =
      makeRequest(std::move(text), inputs, initialStates, cuSeqlens,
                  checkpoints, outputCotangents, finalCotangents, wanted);
  CallTensors all = request.tensors;
  all.inputs.insert(all.inputs.end(), request.outputCotangents.begin(),
                    request.outputCotangents.end());
  all.inputs.insert(all.inputs.end(), request.finalCotangents.begin(),
                    request.finalCotangents.end());
  Differentiable differentiable(all);
  if (c10::GradMode::is_enabled() && differentiable.any()) {
    return GradientFunction::apply(request,
                                   at::TensorList(differentiable.tensors));
  }
  at::AutoDispatchBelowADInplaceOrView guard;
  return callBackward(request);
}

} // namespace
} // namespace recurra

TORCH_LIBRARY_IMPL(recurra, Autograd, library) {
  library.impl("forward", &recurra::forwardAutograd);
  library.impl("backward", &recurra::backwardAutograd);
}
