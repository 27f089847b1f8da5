// Functions of the blocks whose gradient, written by hand, saves most of the
// passes over memory that torch's own composition would take.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace recurra {

/// x / sqrt(scale sum x^2 + eps), the sum over the last axis. Unlike a division
/// by max(|x|, eps) it has a bounded gradient on a row of zeros.
at::Tensor normalise(const at::Tensor &x, double scale, double eps);

/// x / sqrt(mean x^2 + eps) * weight over the last axis.
at::Tensor rmsNorm(const at::Tensor &x, const at::Tensor &weight, double eps);

/// y[b, t, c] = sum_j weight[c, 0, j] x[b, t - (size - 1) + j, c], with zeros
/// before the first token. x [B, T, C], weight [C, 1, size], as in a depthwise
/// torch convolution.
at::Tensor shortConvolution(const at::Tensor &x, const at::Tensor &weight);

} // namespace recurra
