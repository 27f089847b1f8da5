// Values of inputs that a call leaves out: numbers computed from numbers and
// the sizes of axes.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Signature.h"

#include <ATen/ops/full.h>
#include <c10/util/Exception.h>

#include <cmath>

namespace recurra {
namespace {

double applyBinary(const Node &node, double a, double b) {
  switch (node.op) {
  case Op::Add:
    return a + b;
  case Op::Sub:
    return a - b;
  case Op::Mul:
    return a * b;
  case Op::Div:
    return a / b;
  default:
    TORCH_CHECK(false, "a default may use numbers, sizes of axes, + - * /, "
                       "sqrt, rsqrt, exp and log only");
  }
}

double applyUnary(const Node &node, double a) {
  switch (node.op) {
  case Op::Neg:
    return -a;
  case Op::Sqrt:
    return std::sqrt(a);
  case Op::Rsqrt:
    return 1 / std::sqrt(a);
  case Op::Exp:
    return std::exp(a);
  case Op::Log:
    return std::log(a);
  case Op::Square:
    return a * a;
  default:
    return applyBinary(node, a, 0);
  }
}

double evaluateDefault(const Node &node, const OpSizes &sizes) {
  if (node.op == Op::Constant) {
    return node.value;
  }
  if (node.op == Op::Extent) {
    return static_cast<double>(sizes.extents.at(node.axis));
  }
  if (node.operands.size() == 1) {
    return applyUnary(node, evaluateDefault(*node.operands[0], sizes));
  }
  TORCH_CHECK(node.operands.size() == 2,
              "a default must be a number computed from numbers and sizes");
  return applyBinary(node, evaluateDefault(*node.operands[0], sizes),
                     evaluateDefault(*node.operands[1], sizes));
}

} // namespace

at::Tensor defaultOf(const Recurrence &recurrence, const Input &input,
                     const OpSizes &sizes, const at::TensorOptions &options) {
  std::vector<c10::SymInt> shape;
  for (const std::string &symbol : leadingSymbols(input)) {
    shape.push_back(sizes.evaluate(symbol, 1));
  }
  for (const std::string &axis : input.axes) {
    shape.emplace_back(sizes.extents.at(axis));
  }
  TORCH_CHECK(input.fallback, recurrence.name, ": '", input.name,
              "' is missing");
  double value = evaluateDefault(*input.fallback, sizes);
  return at::full({}, value, options).expand_symint(shape);
}

} // namespace recurra
