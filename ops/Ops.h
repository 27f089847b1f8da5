// Recurrences as differentiable functions on at::Tensor: the C++ face of the
// torch ops recurra::forward and recurra::backward, for models and for users.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/Recurrence.h"

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <vector>

namespace recurra {

/// What a call may ask for beyond its inputs.
struct CallOptions {
  /// Empty, or one per state in declared order; nothing: the state's declared
  /// initial value. [N, H, axes..], N = sequences (the batch without offsets).
  std::vector<std::optional<at::Tensor>> initialStates;
  bool outputFinalState = false;
  /// Packed sequences: int32 or int64 offsets [N + 1]; the batch is then 1.
  std::optional<at::Tensor> cuSeqlens;
  /// Names, in the order wanted; empty: every output that is not optional.
  std::vector<std::string> outputs;
};

struct CallResult {
  std::vector<at::Tensor> outputs;     ///< [B, T, H, axes..], as asked for
  std::vector<at::Tensor> finalStates; ///< [N, H, axes..] in declared order, or
                                       ///< empty if not asked for
};

/// Runs `recurrence` on its inputs in declared order; nothing stands for a
/// declared default. Differentiable in every floating input and initial state.
/// Outputs have the dtype of the first token input, states the one that their
/// definition says, f32 unless said (f64 if every input is). Throws c10::Error
/// naming the tensor, the rule, the remedy.
CallResult call(const Recurrence &recurrence,
                at::ArrayRef<std::optional<at::Tensor>> inputs,
                const CallOptions &options = {});

/// The same for the canonical text, which saves printing it at every call.
CallResult call(const std::string &text,
                at::ArrayRef<std::optional<at::Tensor>> inputs,
                const CallOptions &options = {});

/// The catalogue's palimpsa; q, k [B, T, Hg, K], v, beta [B, T, H, V], g
/// [B, T, H] (log gate), prior [H] (default 1), scale a number (K^-0.5).
CallResult palimpsa(const at::Tensor &q, const at::Tensor &k,
                    const at::Tensor &v, const at::Tensor &g,
                    const at::Tensor &beta,
                    const std::optional<at::Tensor> &prior = std::nullopt,
                    const std::optional<at::Tensor> &scale = std::nullopt,
                    const CallOptions &options = {});

/// An entry of the catalogue by name; throws c10::Error if there is none.
CallResult callCatalogue(const std::string &name,
                         at::ArrayRef<std::optional<at::Tensor>> inputs,
                         const CallOptions &options = {});

} // namespace recurra
