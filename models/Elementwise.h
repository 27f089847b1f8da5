// The work around the recurrence that goes over every token by itself: gates,
// norms of a head, activations. Each comes in two forms: as kernels of Recurra,
// from recurrences without states, one pass over memory forward and one back;
// and as torch's ops, which take four times as many.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace recurra {

// Tensors are [B, T, H, K or V] or, of one value per head, [B, T, H].

/// silu(z), scaled to unit norm over the last axis.
at::Tensor unitOfSilu(const at::Tensor &z, bool fused);

/// step silu(z): what a token writes.
at::Tensor writtenValue(const at::Tensor &z, const at::Tensor &step,
                        bool fused);

/// factor sigmoid(b): how sure it is of that.
at::Tensor writtenCertainty(const at::Tensor &b, const at::Tensor &factor,
                            bool fused);

/// r / sqrt(mean r^2 + eps) silu(gate) with r = y + skip silu(z), skip [H]. `y`
/// may be undefined, for zeros.
at::Tensor gatedNorm(const at::Tensor &y, const at::Tensor &z,
                     const at::Tensor &skip, const at::Tensor &gate, double eps,
                     bool fused);

/// silu(gate) up, [B, T, C].
at::Tensor swiglu(const at::Tensor &gate, const at::Tensor &up, bool fused);

} // namespace recurra
