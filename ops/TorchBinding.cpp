// Registers recurra::forward and recurra::backward: schemas, kernels, and Meta
// kernels that only compute shapes. Autograd.cpp adds the derivative.
// SPDX-License-Identifier: Apache-2.0
#include "ops/TorchBinding.h"

#include "ops/Check.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

namespace recurra {
namespace {

OptionalTensorList toList(const OptionalTensors &values) {
  OptionalTensorList list;
  list.reserve(values.size());
  for (const std::optional<at::Tensor> &value : values) {
    list.push_back(value);
  }
  return list;
}

void launch(const std::string &text, const CallTensors &tensors,
            Prepared &prepared) {
  recurra_sizes sizes = {};
  sizes.batch = prepared.sizes.batch.expect_int();
  sizes.tokens = prepared.sizes.tokens.expect_int();
  sizes.heads = prepared.sizes.heads.expect_int();
  sizes.sequences = prepared.sizes.sequences.expect_int();
  prepared.kernel->launch(prepared.arguments, sizes,
                          offsetsOf(parsed(text), tensors));
}

/// A forward that is to be differentiated has its backward compiled along with
/// it: the first step takes the longer of the two, not both.
void compileFirst(const ForwardRequest &request, const Prepared &prepared) {
  if (request.save && !prepared.kernel->isCompiled()) {
    prepared.kernel->compileWith(expectedBackwardSpec(request, prepared.sizes));
  }
}

void compileFirst(const BackwardRequest &, const Prepared &) {}

/// `Request` is one of the two; the checks of RECURRA_CHECK=1 wrap the launch.
template <typename Request>
std::vector<at::Tensor> run(const Request &request) {
  Prepared prepared = prepare(request);
  compileFirst(request, prepared);
  bool checking = checksEnabled();
  if (checking) {
    checkGiven(parsed(request.text), prepared);
  }
  launch(request.text, request.tensors, prepared);
  if (checking) {
    checkComputed(parsed(request.text), prepared);
  }
  return std::move(prepared.results);
}

std::vector<at::Tensor>
forwardOnDevice(std::string text, const OptionalTensorList &inputs,
                const OptionalTensorList &initialStates,
                const std::optional<at::Tensor> &cuSeqlens,
                const c10::List<std::string> &outputs, bool finalStates,
                bool save) {
  return run(makeRequest(std::move(text), inputs, initialStates, cuSeqlens,
                         outputs, finalStates, save));
}

std::vector<at::Tensor> forwardMeta(std::string text,
                                    const OptionalTensorList &inputs,
                                    const OptionalTensorList &initialStates,
                                    const std::optional<at::Tensor> &cuSeqlens,
                                    const c10::List<std::string> &outputs,
                                    bool finalStates, bool save) {
  return prepare(makeRequest(std::move(text), inputs, initialStates, cuSeqlens,
                             outputs, finalStates, save))
      .results;
}

std::vector<at::Tensor> backwardOnDevice(
    std::string text, const OptionalTensorList &inputs,
    const OptionalTensorList &initialStates,
    const std::optional<at::Tensor> &cuSeqlens, at::TensorList checkpoints,
    const OptionalTensorList &outputCotangents,
    const OptionalTensorList &finalCotangents, const c10::List<bool> &wanted) {
  return run(makeRequest(std::move(text), inputs, initialStates, cuSeqlens,
                         checkpoints, outputCotangents, finalCotangents,
                         wanted));
}

std::vector<at::Tensor> backwardMeta(std::string text,
                                     const OptionalTensorList &inputs,
                                     const OptionalTensorList &initialStates,
                                     const std::optional<at::Tensor> &cuSeqlens,
                                     at::TensorList checkpoints,
                                     const OptionalTensorList &outputCotangents,
                                     const OptionalTensorList &finalCotangents,
                                     const c10::List<bool> &wanted) {
  return prepare(makeRequest(std::move(text), inputs, initialStates, cuSeqlens,
                             checkpoints, outputCotangents, finalCotangents,
                             wanted))
      .results;
}

} // namespace

std::vector<at::Tensor> callForward(const ForwardRequest &request) {
  static auto op = c10::Dispatcher::singleton()
                       .findSchemaOrThrow("recurra::forward", "")
                       .typed<ForwardSignature>();
  c10::List<std::string> outputs;
  for (const std::string &name : request.outputs) {
    outputs.push_back(name);
  }
  return op.call(request.text, toList(request.tensors.inputs),
                 toList(request.tensors.initialStates),
                 request.tensors.cuSeqlens, outputs, request.finalStates,
                 request.save);
}

std::vector<at::Tensor> callBackward(const BackwardRequest &request) {
  static auto op = c10::Dispatcher::singleton()
                       .findSchemaOrThrow("recurra::backward", "")
                       .typed<BackwardSignature>();
  c10::List<bool> wanted;
  for (bool want : request.wanted) {
    wanted.push_back(want);
  }
  return op.call(request.text, toList(request.tensors.inputs),
                 toList(request.tensors.initialStates),
                 request.tensors.cuSeqlens, request.checkpoints,
                 toList(request.outputCotangents),
                 toList(request.finalCotangents), wanted);
}

OptionalTensors toVector(const OptionalTensorList &list) {
  OptionalTensors result;
  result.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    std::optional<at::Tensor> value = list.get(i);
    result.push_back(value && value->defined() ? value : std::nullopt);
  }
  return result;
}

ForwardRequest makeRequest(std::string text, const OptionalTensorList &inputs,
                           const OptionalTensorList &initialStates,
                           const std::optional<at::Tensor> &cuSeqlens,
                           const c10::List<std::string> &outputs,
                           bool finalStates, bool save) {
  ForwardRequest request;
  request.text = std::move(text);
  request.tensors = {toVector(inputs), toVector(initialStates), cuSeqlens};
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    request.outputs.push_back(outputs.get(i));
  }
  request.finalStates = finalStates;
  request.save = save;
  return request;
}

BackwardRequest makeRequest(std::string text, const OptionalTensorList &inputs,
                            const OptionalTensorList &initialStates,
                            const std::optional<at::Tensor> &cuSeqlens,
                            at::TensorList checkpoints,
                            const OptionalTensorList &outputCotangents,
                            const OptionalTensorList &finalCotangents,
                            const c10::List<bool> &wanted) {
  BackwardRequest request;
  request.text = std::move(text);
  request.tensors = {toVector(inputs), toVector(initialStates), cuSeqlens};
  request.checkpoints = checkpoints.vec();
  request.outputCotangents = toVector(outputCotangents);
  request.finalCotangents = toVector(finalCotangents);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    request.wanted.push_back(wanted.get(i));
  }
  return request;
}

} // namespace recurra

TORCH_LIBRARY_FRAGMENT(recurra, library) {
  library.def("forward(str text, Tensor?[] inputs, Tensor?[] initial_states, "
              "Tensor? cu_seqlens, str[] outputs, bool final_states, "
              "bool save) -> Tensor[]",
              {at::Tag::pt2_compliant_tag});
  library.def("backward(str text, Tensor?[] inputs, Tensor?[] initial_states, "
              "Tensor? cu_seqlens, Tensor[] checkpoints, "
              "Tensor?[] output_gradients, Tensor?[] final_gradients, "
              "bool[] wanted) -> Tensor[]",
              {at::Tag::pt2_compliant_tag});
}

TORCH_LIBRARY_IMPL(recurra, CPU, library) {
  library.impl("forward", &recurra::forwardOnDevice);
  library.impl("backward", &recurra::backwardOnDevice);
}

TORCH_LIBRARY_IMPL(recurra, CUDA, library) {
  library.impl("forward", &recurra::forwardOnDevice);
  library.impl("backward", &recurra::backwardOnDevice);
}

TORCH_LIBRARY_IMPL(recurra, Meta, library) {
  library.impl("forward", &recurra::forwardMeta);
  library.impl("backward", &recurra::backwardMeta);
}
