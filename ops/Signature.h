// The sizes of a call, deduced from the shapes of its tensors, with an error
// that names the tensor, the rule and the remedy where they do not agree.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/Recurrence.h"

#include <ATen/core/Tensor.h>
#include <c10/core/SymInt.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace recurra {

using OptionalTensors = std::vector<std::optional<at::Tensor>>;

/// Symbolic where torch traces. What a kernel is frozen for is a plain number.
struct OpSizes {
  c10::SymInt batch = 1, tokens = 0, heads = 1, sequences = 1;
  std::int64_t group = 1;
  std::map<std::string, std::int64_t> extents; ///< of the user's axes
  bool packed = false;

  /// The value of a shape symbol of compiler/Artifact.h; `interval` is the
  /// distance of checkpoints ("S").
  c10::SymInt evaluate(const std::string &symbol, std::int64_t interval) const;
};

/// The tensors of a call, in declared order; `initialStates` may be empty.
struct CallTensors {
  OptionalTensors inputs, initialStates;
  std::optional<at::Tensor> cuSeqlens;
};

/// Checks ranks, sizes, dtypes and devices. Throws c10::Error.
OpSizes deduceSizes(const Recurrence &recurrence, const CallTensors &tensors);

/// cu_seqlens as 64-bit numbers on the call's device; undefined if absent. On
/// the CPU they are checked: from 0 to T, never falling.
at::Tensor offsetsOf(const Recurrence &recurrence, const CallTensors &tensors);

/// f64 if every tensor given is, else f32.
at::ScalarType computeType(const CallTensors &tensors);

/// dtype of the tensors of one of the call's states.
at::ScalarType stateType(const State &state, const CallTensors &tensors);

/// The symbols of the dimensions before an input's axes: "B", "T", "H", "Hg".
std::vector<std::string> leadingSymbols(const Input &input);

/// What an absent input stands for: its declared default, expanded to its
/// shape without copies.
at::Tensor defaultOf(const Recurrence &recurrence, const Input &input,
                     const OpSizes &sizes, const at::TensorOptions &options);

} // namespace recurra
