// The forms of the short convolution, with their gradients.
// SPDX-License-Identifier: Apache-2.0
#include "models/Convolution.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <algorithm>

namespace recurra {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace {

/// A [B, T, C] tensor whose channels are neighbours in memory.
template <typename Scalar>
struct Rows {
  explicit Rows(const Tensor &x)
      : data(x.data_ptr<Scalar>()), batch(x.stride(0)), token(x.stride(1)) {}
  Scalar *at(int64_t b, int64_t t) const {
    return data + b * batch + t * token;
  }
  Scalar *data;
  int64_t batch, token;
};

Tensor withDenseChannels(const Tensor &x) {
  return x.stride(2) == 1 || x.size(2) == 1 ? x : x.contiguous();
}

/// out[b, t] = sum_j taps[j] in[b, t + direction (size - 1 - j)], where that
/// token exists. taps [size, C].
template <typename Scalar>
void convolve(const Tensor &in, const Tensor &taps, int64_t direction,
              const Tensor &out) {
  const Rows<Scalar> from(in), to(out);
  const Scalar *weights = taps.data_ptr<Scalar>();
  const int64_t size = taps.size(0), length = in.size(1), width = in.size(2);
  at::parallel_for(0, in.size(0), 1, [&](int64_t first, int64_t last) {
    for (int64_t b = first; b < last; ++b) {
      for (int64_t t = 0; t < length; ++t) {
        Scalar *y = to.at(b, t);
        std::fill(y, y + width, Scalar(0));
        for (int64_t j = 0; j < size; ++j) {
          const int64_t source = t + direction * (size - 1 - j);
          if (source < 0 || source >= length) {
            continue;
          }
          const Scalar *x = from.at(b, source), *w = weights + j * width;
          for (int64_t c = 0; c < width; ++c) {
            y[c] += w[c] * x[c];
          }
        }
      }
    }
  });
}

/// The gradient of the taps for every batch row: [B, size, C]. One sum over B,
/// in torch's fixed order, remains.
template <typename Scalar>
Tensor convolveTaps(const Tensor &x, const Tensor &dy, int64_t size) {
  const int64_t length = x.size(1), width = x.size(2);
  const Tensor partial = at::zeros({x.size(0), size, width}, x.options());
  const Rows<Scalar> inputs(x), gradients(dy), sums(partial);
  at::parallel_for(0, x.size(0), 1, [&](int64_t first, int64_t last) {
    for (int64_t b = first; b < last; ++b) {
      for (int64_t t = 0; t < length; ++t) {
        const Scalar *g = gradients.at(b, t);
        for (int64_t j = std::max<int64_t>(0, size - 1 - t); j < size; ++j) {
          const Scalar *in = inputs.at(b, t - (size - 1 - j));
          Scalar *sum = sums.at(b, j);
          for (int64_t c = 0; c < width; ++c) {
            sum[c] += g[c] * in[c];
          }
        }
      }
    }
  });
  return partial;
}

// A plain loop: at::conv1d with a group per channel takes five times as long
// on a CPU, and shifted products in torch ten passes over memory.
struct LoopConvolution : torch::autograd::Function<LoopConvolution> {
  static Tensor forward(AutogradContext *context, const Tensor &given,
                        const Tensor &weight) {
    const Tensor x = withDenseChannels(given);
    const Tensor taps = weight.squeeze(1).t().contiguous();
    context->save_for_backward({x, taps});
    const Tensor y = at::empty(x.sizes(), x.options());
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "shortConvolution", [&] {
      convolve<scalar_t>(x, taps, /*direction=*/-1, y);
    });
    return y;
  }

  static variable_list backward(AutogradContext *context,
                                const variable_list &gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor dy = withDenseChannels(gradients[0]);
    const Tensor &x = saved[0], &taps = saved[1];
    const Tensor dx = at::empty(x.sizes(), x.options());
    Tensor partial;
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "shortConvolution", [&] {
      convolve<scalar_t>(dy, taps, /*direction=*/1, dx);
      partial = convolveTaps<scalar_t>(x, dy, taps.size(0));
    });
    return {dx, partial.sum(0).t().unsqueeze(1)};
  }
};

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
  const bool loops = form == "loop" || (form == "auto" && x.is_cpu());
  if (form == "grouped") {
    return groupedConvolution(x, weight);
  }
  if (!loops) {
    return ShiftedConvolution::apply(x, weight);
  }
  TORCH_CHECK(x.is_cpu(), "the convolution's form 'loop' runs on the CPU; set "
                          "'model.convolution_form' to 'auto'");
  // The loop sums in the type that it reads.
  const Tensor wide = x.to(weight.scalar_type());
  return LoopConvolution::apply(wide, weight).to(x.scalar_type());
}

} // namespace recurra
