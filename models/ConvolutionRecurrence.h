// The short convolution as a recurrence whose states are the last tokens: one
// pass over memory forward and one backward, where elementwise ops take ten.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace recurra {

/// shortConvolution by Recurra's own kernels. Sequences are cut into segments
/// that run in parallel, each with the tokens before it as initial states.
at::Tensor recurrentConvolution(const at::Tensor &x, const at::Tensor &weight);

} // namespace recurra
