// The short causal convolution in front of the recurrence, a filter per
// channel, in several forms to compare.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace recurra {

/// y[b, t, c] = sum_j weight[c, 0, j] x[b, t - (size - 1) + j, c], with zeros
/// before the first token. x [B, T, C] in the dtype of y, weight [C, 1, size],
/// as in a depthwise torch convolution. Forms:
///   "recurrence"  kernels of Recurra, see ConvolutionRecurrence.h; also
///   "auto"; "shifted"     shifted products, elementwise torch ops; "grouped"
///   torch's convolution with a group for every channel.
at::Tensor shortConvolution(const at::Tensor &x, const at::Tensor &weight,
                            const std::string &form = "auto");

} // namespace recurra
