// The ops' side of the C door: kernels found by (text, spec), described at
// once, compiled when first launched, kept until the process ends.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Artifact.h"
#include "compiler/Spec.h"
#include "dsl/Recurrence.h"
#include "runtime/recurra.h"

#include <ATen/core/Tensor.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace recurra {

/// One direction of one recurrence, frozen for one Spec.
class OpKernel {
public:
  /// Describes; generates no code. Throws c10::Error on a bad definition.
  OpKernel(std::string text, const Spec &spec);

  const std::vector<Argument> &arguments() const { return argumentList; }
  std::int64_t checkpointInterval() const { return interval; }
  Direction direction() const { return way; }

  bool isCompiled();
  /// Compiles, and at the same time the kernel of another spec of the same
  /// text, which on a GPU may still be under way on return. If that one fails,
  /// it says so when it is wanted.
  void compileWith(const Spec &other);

  /// Compiles if need be, then runs with memory from torch's allocator over
  /// torch's threads, or on the current stream of the tensors' GPU. `tensors`
  /// follow `arguments()`; `offsets` (int64, same device) may be undefined.
  void launch(const std::vector<at::Tensor> &tensors, recurra_sizes sizes,
              const at::Tensor &offsets);

private:
  const recurra_kernel *compiled();

  std::string text, spec;
  std::vector<Argument> argumentList;
  std::int64_t interval = 1;
  Direction way;
  std::mutex mutex;
  recurra_kernel *kernel = nullptr;
};

/// The kernel of (text, spec), the same object at every call.
OpKernel &findKernel(const std::string &text, const Spec &spec);

/// The parsed text, the same object at every call. Throws c10::Error.
const Recurrence &parsed(const std::string &text);

/// Takes a string of the door and frees it.
std::string takeString(recurra_string *string);

at::ScalarType toTorch(DType type);
DType fromTorch(at::ScalarType type);

} // namespace recurra
