// Values of inputs that a call leaves out.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/Evaluate.h"
#include "ops/Signature.h"

#include <ATen/ops/full.h>
#include <c10/util/Exception.h>

namespace recurra {

at::Tensor defaultOf(const Recurrence &recurrence, const Input &input,
                     const OpSizes &sizes, const at::TensorOptions &options) {
  TORCH_CHECK_VALUE(input.fallback, recurrence.name, ": '", input.name,
                    "' is missing; it has no default; pass it");
  std::vector<c10::SymInt> shape;
  for (const std::string &symbol : leadingSymbols(input)) {
    shape.push_back(sizes.evaluate(symbol, 1));
  }
  for (const std::string &axis : input.axes) {
    shape.emplace_back(sizes.extents.at(axis));
  }
  double value = evaluateDefault(input, sizes.extents);
  return at::full({}, value, options).expand_symint(shape);
}

} // namespace recurra
