// The forms of the short convolution, with their gradients.
// SPDX-License-Identifier: Apache-2.0
#include "models/Convolution.h"

#include "models/ConvolutionRecurrence.h"

#include <torch/torch.h>

#include <algorithm>

namespace recurra {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace {

/// out[:, t] += taps[j] in[:, t - direction shift], shift = size - 1 - j, where
/// that token exists.
void addShifted(const Tensor &in, const Tensor &taps, int64_t direction,
                const Tensor &out) {
  const int64_t size = taps.size(0), length = in.size(1);
  for (int64_t shift = 1; shift < std::min(size, length); ++shift) {
    const int64_t rest = length - shift;
    const Tensor from = in.narrow(1, direction > 0 ? 0 : shift, rest);
    out.narrow(1, direction > 0 ? shift : 0, rest)
        .addcmul_(from, taps[size - 1 - shift]);
  }
}

struct ShiftedConvolution : torch::autograd::Function<ShiftedConvolution> {
  static Tensor forward(AutogradContext *context, const Tensor &x,
                        const Tensor &weight) {
    const Tensor taps = weight.squeeze(1).t().to(x.scalar_type()).contiguous();
    context->save_for_backward({x, taps});
    const Tensor y = x * taps[taps.size(0) - 1];
    addShifted(x, taps, /*direction=*/1, y);
    return y;
  }

  static variable_list backward(AutogradContext *context,
                                const variable_list &gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor &dy = gradients[0], &x = saved[0], &taps = saved[1];
    const int64_t size = taps.size(0), length = x.size(1);
    const Tensor dx = dy * taps[size - 1];
    addShifted(dy, taps, /*direction=*/-1, dx);
    const Tensor dtaps =
        at::zeros(taps.sizes(), taps.options().dtype(at::kFloat));
    for (int64_t shift = 0; shift < std::min(size, length); ++shift) {
      const int64_t rest = length - shift;
      dtaps[size - 1 - shift].copy_(
          (dy.narrow(1, shift, rest) * x.narrow(1, 0, rest))
              .sum(at::IntArrayRef{0, 1}, /*keepdim=*/false, at::kFloat));
    }
    return {dx, dtaps.t().unsqueeze(1)};
  }
};

Tensor groupedConvolution(const Tensor &x, const Tensor &weight) {
  return at::conv1d(x.transpose(1, 2), weight.to(x.scalar_type()), {},
                    /*stride=*/1, /*padding=*/weight.size(2) - 1,
                    /*dilation=*/1, /*groups=*/x.size(2))
      .narrow(2, 0, x.size(1))
      .transpose(1, 2);
}

} // namespace

Tensor shortConvolution(const Tensor &x, const Tensor &weight,
                        const std::string &form) {
  if (form == "grouped") {
    return groupedConvolution(x, weight);
  }
  if (form == "shifted") {
    return ShiftedConvolution::apply(x, weight);
  }
  return recurrentConvolution(x, weight);
}

} // namespace recurra
