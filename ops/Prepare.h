// From the arguments of a torch op to a kernel and the tensors it takes: the
// part that the CPU kernels and the Meta kernels share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/Door.h"
#include "ops/Signature.h"

namespace recurra {

/// The arguments of recurra::forward.
struct ForwardRequest {
  std::string text;
  CallTensors tensors;
  std::vector<std::string> outputs; ///< wanted, in the order of the result
  bool finalStates = false, save = false;
};

/// The arguments of recurra::backward. Cotangents: one or nothing per output
/// and per state in declared order. `wanted`: inputs, then initial states.
struct BackwardRequest {
  std::string text;
  CallTensors tensors;
  std::vector<at::Tensor> checkpoints;
  OptionalTensors outputCotangents, finalCotangents;
  std::vector<bool> wanted;
};

/// `arguments` are in the kernel's order; `results` are those that the op
/// returns: forward: outputs, final states, checkpoints; backward: gradients.
struct Prepared {
  OpKernel *kernel = nullptr;
  OpSizes sizes;
  std::vector<at::Tensor> arguments, results;
};

/// Checks, finds the kernel and allocates results (meta tensors for meta
/// inputs). Generates no code. Throws c10::Error.
Prepared prepare(const ForwardRequest &request);
Prepared prepare(const BackwardRequest &request);

/// What the forward kernel of a request is frozen for, and the backward one
/// when every output asked for has a cotangent and every tensor a gradient.
Spec forwardSpec(const ForwardRequest &request, const OpSizes &sizes);
Spec backwardSpec(const ForwardRequest &request, const OpSizes &sizes);

/// The backward kernel that training runs: gradients of what asks for them,
/// cotangents of outputs alone.
Spec expectedBackwardSpec(const ForwardRequest &request, const OpSizes &sizes);

/// dtype of the outputs: that of the first token input given.
at::ScalarType outputType(const Recurrence &recurrence,
                          const CallTensors &tensors);

} // namespace recurra
