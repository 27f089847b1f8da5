// The two torch ops as C++ sees them: their argument types and typed handles.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/Prepare.h"

#include <ATen/core/List.h>

namespace recurra {

using OptionalTensorList = c10::List<std::optional<at::Tensor>>;

/// recurra::forward(str text, Tensor?[] inputs, Tensor?[] initial_states,
/// Tensor? cu_seqlens, str[] outputs, bool final_states, bool save) -> Tensor[]
using ForwardSignature = std::vector<at::Tensor>(
    std::string text, const OptionalTensorList &inputs,
    const OptionalTensorList &initialStates,
    const std::optional<at::Tensor> &cuSeqlens,
    const c10::List<std::string> &outputs, bool finalStates, bool save);

/// recurra::backward(str text, Tensor?[] inputs, Tensor?[] initial_states,
/// Tensor? cu_seqlens, Tensor[] checkpoints, Tensor?[] output_gradients,
/// Tensor?[] final_gradients, bool[] wanted) -> Tensor[]
using BackwardSignature = std::vector<at::Tensor>(
    std::string text, const OptionalTensorList &inputs,
    const OptionalTensorList &initialStates,
    const std::optional<at::Tensor> &cuSeqlens, at::TensorList checkpoints,
    const OptionalTensorList &outputCotangents,
    const OptionalTensorList &finalCotangents, const c10::List<bool> &wanted);

/// Through torch's dispatcher, as every caller does.
std::vector<at::Tensor> callForward(const ForwardRequest &request);
std::vector<at::Tensor> callBackward(const BackwardRequest &request);

/// Lists of the dispatcher to plain ones; undefined tensors count as nothing.
OptionalTensors toVector(const OptionalTensorList &list);

ForwardRequest makeRequest(std::string text, const OptionalTensorList &inputs,
                           const OptionalTensorList &initialStates,
                           const std::optional<at::Tensor> &cuSeqlens,
                           const c10::List<std::string> &outputs,
                           bool finalStates, bool save);
BackwardRequest makeRequest(std::string text, const OptionalTensorList &inputs,
                            const OptionalTensorList &initialStates,
                            const std::optional<at::Tensor> &cuSeqlens,
                            at::TensorList checkpoints,
                            const OptionalTensorList &outputCotangents,
                            const OptionalTensorList &finalCotangents,
                            const c10::List<bool> &wanted);

} // namespace recurra
