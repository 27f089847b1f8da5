// What Python asks of librecurra beside the two ops: counters, options, the
// text of a stage. Strings in, strings out, through torch's dispatcher, so that
// the package needs no binding of its own.
// SPDX-License-Identifier: Apache-2.0
#include "ops/TorchBinding.h"

#include <torch/library.h>

namespace recurra {
namespace {

std::string counters() { return takeString(recurra_counters()); }

std::string about() { return takeString(recurra_about()); }

void setOption(std::string name, std::string value) {
  recurra_string *message = nullptr;
  recurra_status status =
      recurra_set_option(name.c_str(), value.c_str(), &message);
  std::string text = takeString(message);
  TORCH_CHECK(status == RECURRA_SUCCESS, text);
}

/// The stage of the kernel that this call, or its backward, would run.
std::string inspect(std::string stage, bool backward, std::string text,
                    const OptionalTensorList &inputs,
                    const OptionalTensorList &initialStates,
                    const std::optional<at::Tensor> &cuSeqlens,
                    const c10::List<std::string> &outputs, bool finalStates) {
  ForwardRequest request = makeRequest(std::move(text), inputs, initialStates,
                                       cuSeqlens, outputs, finalStates, false);
  OpSizes sizes = deduceSizes(parsed(request.text), request.tensors);
  Spec spec =
      backward ? backwardSpec(request, sizes) : forwardSpec(request, sizes);
  recurra_string *result = nullptr;
  recurra_status status = recurra_inspect(
      request.text.c_str(), toText(spec).c_str(), stage.c_str(), &result);
  std::string shown = takeString(result);
  TORCH_CHECK(status == RECURRA_SUCCESS, shown);
  return shown;
}

} // namespace
} // namespace recurra

TORCH_LIBRARY_FRAGMENT(recurra, library) {
  library.def("counters() -> str", &recurra::counters);
  library.def("about() -> str", &recurra::about);
  library.def("set_option(str name, str value) -> ()", &recurra::setOption);
  library.def("inspect(str stage, bool backward, str text, Tensor?[] inputs, "
              "Tensor?[] initial_states, Tensor? cu_seqlens, str[] outputs, "
              "bool final_states) -> str",
              &recurra::inspect);
}
