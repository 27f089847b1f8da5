// TensorRules: the checks, and the words for the user.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/TensorRules.h"

namespace recurra {
namespace {

Status invalid(const std::string &message) {
  return {RECURRA_INVALID_ARGUMENT, message};
}

bool isWritten(Argument::Kind kind, Direction direction) {
  switch (kind) {
  case Argument::Output:
  case Argument::FinalState:
  case Argument::InputGradient:
  case Argument::InitialStateGradient:
    return true;
  case Argument::Checkpoint:
    return direction == Direction::Forward;
  default:
    return false;
  }
}

/// "input 'q'": how messages name an argument.
std::string titleOf(const Argument &argument) {
  static constexpr const char *kinds[] = {"input",
                                          "initial state",
                                          "checkpoints of state",
                                          "cotangent of output",
                                          "cotangent of final state",
                                          "output",
                                          "final state",
                                          "gradient of input",
                                          "gradient of initial state"};
  return std::string(kinds[argument.kind]) + " '" + argument.name + "'";
}

/// "[B, T, H, 64] = [2, 16, 3, 64]"
std::string shapeOf(const Argument &argument, const CallSizes &sizes) {
  std::string symbols = "[", numbers = "[";
  for (const std::string &symbol : argument.shape) {
    const char *comma = symbols.size() > 1 ? ", " : "";
    symbols += comma + symbol;
    numbers += comma + std::to_string(sizes.value(symbol));
  }
  return symbols + "] = " + numbers + "]";
}

DType dtypeOf(recurra_dtype type) {
  switch (type) {
  case RECURRA_F64:
    return DType::F64;
  case RECURRA_F16:
    return DType::F16;
  case RECURRA_BF16:
    return DType::BF16;
  default:
    return DType::F32;
  }
}

/// Whether elements lie row by row, without gaps, each pair from a multiple of
/// its size on.
bool isDense(const recurra_tensor &tensor) {
  constexpr std::uintptr_t pair = 2 * sizeof(float);
  std::int64_t stride = 1;
  for (std::int32_t i = tensor.rank; i-- > 0;) {
    if (tensor.sizes[i] > 1 && tensor.strides[i] != stride) {
      return false;
    }
    stride *= tensor.sizes[i];
  }
  return reinterpret_cast<std::uintptr_t>(tensor.data) % pair == 0;
}

/// What a tensor's elements must be, if it has any.
Status checkElements(const Argument &argument, const recurra_tensor &tensor,
                     bool written) {
  for (std::int32_t i = 0; written && i < tensor.rank; ++i) {
    if (tensor.sizes[i] > 1 && tensor.strides[i] == 0) {
      return invalid(titleOf(argument) + " has stride 0 in dimension " +
                     std::to_string(i) +
                     ", so its elements overlap; a tensor that is written "
                     "needs memory for each element");
    }
  }
  if (!tensor.data) {
    return invalid(titleOf(argument) +
                   " has no data; only a tensor with a size of 0 may be null");
  }
  if (argument.kind == Argument::Checkpoint && !isDense(tensor)) {
    return invalid(titleOf(argument) +
                   " have gaps between their elements, or do not begin at a "
                   "multiple of 8 bytes; pass dense memory, the same to the "
                   "forward and to the backward");
  }
  return {};
}

Status checkTensor(const Argument &argument, const recurra_tensor &tensor,
                   const CallSizes &sizes, bool written) {
  auto rank = static_cast<std::int32_t>(argument.shape.size());
  auto title = [&] { return titleOf(argument); };
  if (dtypeOf(tensor.dtype) != argument.dtype) {
    return invalid(title() + " is " + std::string(name(dtypeOf(tensor.dtype))) +
                   " but the kernel was compiled for " +
                   std::string(name(argument.dtype)) +
                   "; convert it, or compile for its dtype");
  }
  if (tensor.rank != rank) {
    return invalid(title() + " has " + std::to_string(tensor.rank) +
                   " dimensions but its shape is " + shapeOf(argument, sizes) +
                   "; pass " + std::to_string(rank) + " dimensions");
  }
  bool empty = false;
  for (std::int32_t i = 0; i < rank; ++i) {
    std::int64_t expected = sizes.value(argument.shape[i]);
    empty = empty || expected == 0;
    if (tensor.sizes[i] != expected) {
      return invalid(title() + " has size " + std::to_string(tensor.sizes[i]) +
                     " in dimension " + std::to_string(i) +
                     " but its shape is " + shapeOf(argument, sizes) +
                     "; pass size " + std::to_string(expected));
    }
  }
  return empty ? Status() : checkElements(argument, tensor, written);
}

} // namespace

Status checkTensors(const recurra_kernel &kernel, const recurra_tensor *tensors,
                    std::int64_t count, const CallSizes &sizes) {
  const std::vector<Argument> &arguments = kernel.artifact.arguments;
  if (count != static_cast<std::int64_t>(arguments.size())) {
    std::string names;
    for (const Argument &argument : arguments) {
      names += (names.empty() ? "" : ", ") + titleOf(argument);
    }
    return invalid("the call has " + std::to_string(count) +
                   " tensors but the kernel takes " +
                   std::to_string(arguments.size()) + ": " + names);
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    bool written = isWritten(arguments[i].kind, kernel.spec.direction);
    Status status = checkTensor(arguments[i], tensors[i], sizes, written);
    if (!status.ok()) {
      return status;
    }
  }
  return {};
}

} // namespace recurra
