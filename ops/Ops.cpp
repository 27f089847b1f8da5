// The C++ face: fills in what a caller left out and calls recurra::forward.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Ops.h"

#include "dsl/Text.h"
#include "ops/TorchBinding.h"
#include "ops/catalogue/Catalogue.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <unordered_map>

namespace recurra {
namespace {

/// States of another dtype are converted here, where autograd sees it: their
/// gradient comes back in the caller's dtype, accumulated in the kernel's.
void convertStates(const Recurrence &recurrence, CallTensors &tensors) {
  std::size_t count =
      std::min(tensors.initialStates.size(), recurrence.states.size());
  for (std::size_t i = 0; i < count; ++i) {
    std::optional<at::Tensor> &state = tensors.initialStates[i];
    at::ScalarType type = stateType(recurrence.states[i], tensors);
    if (state && state->scalar_type() != type) {
      state = state->to(type);
    }
  }
}

const std::string &textOfEntry(const std::string &name) {
  static const auto texts = [] {
    std::unordered_map<std::string, std::string> all;
    for (const Recurrence &recurrence : catalogue()) {
      all[recurrence.name] = toText(recurrence, Locations::Keep);
    }
    return all;
  }();
  auto place = texts.find(name);
  TORCH_CHECK(place != texts.end(), "the catalogue has no entry '", name,
              "'; `recurra list` names those it has");
  return place->second;
}

} // namespace

CallResult call(const std::string &text,
                at::ArrayRef<std::optional<at::Tensor>> inputs,
                const CallOptions &options) {
  const Recurrence &recurrence = parsed(text);
  ForwardRequest request;
  request.text = text;
  request.tensors.inputs = inputs.vec();
  request.tensors.initialStates = options.initialStates;
  request.tensors.cuSeqlens = options.cuSeqlens;
  convertStates(recurrence, request.tensors);
  request.finalStates = options.outputFinalState;
  request.outputs = options.outputs;
  if (request.outputs.empty()) {
    for (const Output &output : recurrence.outputs) {
      if (!output.optional) {
        request.outputs.push_back(output.name);
      }
    }
  }
  std::vector<at::Tensor> results = callForward(request);
  auto boundary =
      results.begin() + static_cast<std::ptrdiff_t>(request.outputs.size());
  return {{results.begin(), boundary}, {boundary, results.end()}};
}

CallResult call(const Recurrence &recurrence,
                at::ArrayRef<std::optional<at::Tensor>> inputs,
                const CallOptions &options) {
  return call(toText(recurrence, Locations::Keep), inputs, options);
}

CallResult callCatalogue(const std::string &name,
                         at::ArrayRef<std::optional<at::Tensor>> inputs,
                         const CallOptions &options) {
  return call(textOfEntry(name), inputs, options);
}

CallResult palimpsa(const at::Tensor &q, const at::Tensor &k,
                    const at::Tensor &v, const at::Tensor &g,
                    const at::Tensor &beta,
                    const std::optional<at::Tensor> &prior,
                    const std::optional<at::Tensor> &scale,
                    const CallOptions &options) {
  return callCatalogue("palimpsa", {q, k, v, g, beta, prior, scale}, options);
}

} // namespace recurra
