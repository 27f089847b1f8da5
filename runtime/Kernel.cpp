// Kernel: calls of the C door with its strings owned and its failures thrown.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Kernel.h"

#include "dsl/Text.h"

namespace recurra {
namespace {

std::string take(recurra_string *string) {
  std::string text = recurra_string_data(string);
  recurra_string_free(string);
  return text;
}

/// The message of a call, which is its result if it succeeded.
std::string demand(recurra_status status, recurra_string *message) {
  std::string text = take(message);
  if (status != RECURRA_SUCCESS) {
    throw UserError(text);
  }
  return text;
}

recurra_tensor lower(const TensorView &view) {
  static constexpr recurra_dtype types[] = {RECURRA_F32, RECURRA_F64,
                                            RECURRA_F16, RECURRA_BF16};
  return {view.data, types[static_cast<int>(view.dtype)],
          static_cast<std::int32_t>(view.sizes.size()), view.sizes.data(),
          view.strides.data()};
}

} // namespace

Kernel Kernel::compile(const Recurrence &recurrence, const Spec &spec) {
  Kernel kernel;
  recurra_string *message = nullptr;
  recurra_status status =
      recurra_compile(toText(recurrence, Locations::Keep).c_str(),
                      toText(spec).c_str(), &kernel.handle, &message);
  kernel.remarkText = demand(status, message);
  return kernel;
}

std::string Kernel::object() const {
  const void *data = nullptr;
  std::int64_t bytes = 0;
  recurra_object(handle, &data, &bytes);
  return {static_cast<const char *>(data), static_cast<std::size_t>(bytes)};
}

void Kernel::launch(const std::vector<TensorView> &tensors,
                    const recurra_sizes &sizes,
                    const recurra_host *host) const {
  std::vector<recurra_tensor> lowered;
  for (const TensorView &tensor : tensors) {
    lowered.push_back(lower(tensor));
  }
  recurra_string *message = nullptr;
  recurra_status status = recurra_launch(
      handle, lowered.data(), static_cast<std::int32_t>(lowered.size()), &sizes,
      host, &message);
  demand(status, message);
}

std::string describeKernel(const Recurrence &recurrence, const Spec &spec) {
  recurra_string *json = nullptr;
  recurra_status status = recurra_describe(
      toText(recurrence, Locations::Keep).c_str(), toText(spec).c_str(), &json);
  return demand(status, json);
}

std::string inspectKernel(const Recurrence &recurrence, const Spec &spec,
                          const std::string &stage) {
  recurra_string *result = nullptr;
  recurra_status status =
      recurra_inspect(toText(recurrence, Locations::Keep).c_str(),
                      toText(spec).c_str(), stage.c_str(), &result);
  return demand(status, result);
}

void warmup(const Recurrence &recurrence, const std::vector<Spec> &specs) {
  std::string text = toText(recurrence, Locations::Keep);
  std::vector<std::string> specTexts;
  for (const Spec &spec : specs) {
    specTexts.push_back(toText(spec));
  }
  std::vector<const char *> texts(specs.size(), text.c_str()), pointers;
  for (const std::string &specText : specTexts) {
    pointers.push_back(specText.c_str());
  }
  recurra_string *message = nullptr;
  recurra_status status =
      recurra_warmup(texts.data(), pointers.data(),
                     static_cast<std::int32_t>(specs.size()), &message);
  demand(status, message);
}

} // namespace recurra
