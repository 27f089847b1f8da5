// Functions of the blocks whose gradient, written by hand, saves most of the
// passes over memory that torch's own composition would take.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace recurra {

/// x / sqrt(scale sum x^2 + eps), the sum over the last axis in float32. Unlike
/// a division by max(|x|, eps) it has a bounded gradient on a row of zeros.
at::Tensor normalise(const at::Tensor &x, double scale, double eps);

/// x / sqrt(mean x^2 + eps) * weight over the last axis, in the dtype of x.
at::Tensor rmsNorm(const at::Tensor &x, const at::Tensor &weight, double eps);

/// The mean over rows of -log softmax(h weight^T)[target]: h [N, C], weight
/// [vocabulary, C], targets [N]. Makes the logits a block of rows at a time and
/// their gradient along with them, so that no more than a block is ever held.
/// Products are of `compute`'s dtype, sums of float32.
at::Tensor headLoss(const at::Tensor &h, const at::Tensor &weight,
                    const at::Tensor &targets, at::ScalarType compute);

} // namespace recurra
