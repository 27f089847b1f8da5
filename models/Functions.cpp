// Functions of the blocks, with their gradients.
// SPDX-License-Identifier: Apache-2.0
#include "models/Functions.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <algorithm>

namespace recurra {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace {

struct Normalise : torch::autograd::Function<Normalise> {
  static Tensor forward(AutogradContext *context, const Tensor &x, double scale,
                        double eps) {
    const Tensor inverse =
        x.square().sum(-1, /*keepdim=*/true).mul_(scale).add_(eps).rsqrt_();
    const Tensor y = x * inverse;
    context->save_for_backward({y, inverse});
    context->saved_data["scale"] = scale;
    return y;
  }

  // With r = 1 / sqrt(scale sum x^2 + eps): dx = r (dy - scale y sum(dy y)).
  static variable_list backward(AutogradContext *context,
                                const variable_list &gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor &dy = gradients[0], &y = saved[0], &inverse = saved[1];
    const Tensor along = (dy * y).sum(-1, /*keepdim=*/true);
    const double scale = context->saved_data["scale"].toDouble();
    Tensor dx = at::addcmul(dy, y, along, -scale).mul_(inverse);
    return {dx, Tensor(), Tensor()};
  }
};

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
struct ShortConvolution : torch::autograd::Function<ShortConvolution> {
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

} // namespace

Tensor normalise(const Tensor &x, double scale, double eps) {
  return Normalise::apply(x, scale, eps);
}

Tensor rmsNorm(const Tensor &x, const Tensor &weight, double eps) {
  return normalise(x, 1.0 / double(x.size(-1)), eps) * weight;
}

Tensor shortConvolution(const Tensor &x, const Tensor &weight) {
  TORCH_CHECK(x.is_cpu() && weight.is_cpu() &&
                  x.scalar_type() == weight.scalar_type(),
              "shortConvolution takes CPU tensors of one floating type");
  return ShortConvolution::apply(x, weight);
}

} // namespace recurra
