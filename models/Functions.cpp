// Functions of the blocks, with their gradients.
// SPDX-License-Identifier: Apache-2.0
#include "models/Functions.h"

#include "models/Timeline.h"

#include <torch/torch.h>

#include <algorithm>

namespace recurra {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace {

/// a * b, rounded to the dtype of `a`.
Tensor scaled(const Tensor &a, const Tensor &b) {
  Tensor product = at::empty_like(a);
  return at::mul_out(product, a, b);
}

struct Normalise : torch::autograd::Function<Normalise> {
  static Tensor forward(AutogradContext *context, const Tensor &x, double scale,
                        double eps) {
    const Tensor inverse = x.square()
                               .sum(-1, /*keepdim=*/true, at::kFloat)
                               .mul_(scale)
                               .add_(eps)
                               .rsqrt_();
    const Tensor y = scaled(x, inverse);
    context->save_for_backward({y, inverse});
    context->saved_data["scale"] = scale;
    return y;
  }

  // With r = 1 / sqrt(scale sum x^2 + eps): dx = r (dy - scale y sum(dy y)).
  static variable_list backward(AutogradContext *context,
                                const variable_list &gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor &dy = gradients[0], &y = saved[0], &inverse = saved[1];
    const Tensor along = (dy * y).sum(-1, /*keepdim=*/true, at::kFloat);
    const double scale = context->saved_data["scale"].toDouble();
    Tensor dx = at::empty_like(dy);
    at::addcmul_out(dx, dy, y, along, -scale).mul_(inverse);
    return {dx, Tensor(), Tensor()};
  }
};

/// Rows of logits that fit into a block.
int64_t blockRows(int64_t vocabulary) {
  constexpr int64_t kEntries = int64_t(1) << 28;
  return std::max<int64_t>(1, kEntries / vocabulary);
}

Tensor product(const Tensor &a, const Tensor &b) {
  const PartScope scope(Part::Matmul);
  return at::mm(a, b);
}

struct HeadLoss : torch::autograd::Function<HeadLoss> {
  /// The sum of the block's losses. `dh` and `dweight` (added to) become those
  /// of the sum.
  static Tensor runBlock(const Tensor &h, const Tensor &weight,
                         const Tensor &targets, const Tensor &dh,
                         const Tensor &dweight) {
    const Tensor logits = product(h, weight.t());
    const Tensor logs = at::log_softmax(logits, -1, at::kFloat);
    const Tensor column = targets.unsqueeze(1);
    const Tensor ofTargets = logs.gather(1, column);
    Tensor slope = logits; // its memory is free now
    at::exp_out(slope, logs);
    slope.scatter_(1, column, (ofTargets.exp() - 1).to(slope.scalar_type()));
    dh.copy_(product(slope, weight));
    dweight.add_(product(slope.t(), h));
    return -ofTargets.sum();
  }

  static Tensor forward(AutogradContext *context, const Tensor &h,
                        const Tensor &weight, const Tensor &targets,
                        at::ScalarType compute) {
    const Tensor narrowH = h.to(compute), narrowWeight = weight.to(compute);
    const Tensor dh = at::empty_like(h), dweight = at::zeros_like(weight);
    const int64_t count = h.size(0), rows = blockRows(weight.size(0));
    Tensor loss = at::zeros({}, h.options().dtype(at::kFloat));
    for (int64_t first = 0; first < count; first += rows) {
      const int64_t size = std::min(rows, count - first);
      const auto part = [&](const Tensor &x) {
        return x.narrow(0, first, size);
      };
      loss += runBlock(part(narrowH), narrowWeight, part(targets), part(dh),
                       dweight);
    }
    context->save_for_backward({dh, dweight});
    context->saved_data["count"] = count;
    return loss / double(count);
  }

  static variable_list backward(AutogradContext *context,
                                const variable_list &gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor share =
        gradients[0] / double(context->saved_data["count"].toInt());
    return {saved[0] * share, saved[1] * share, Tensor(), Tensor()};
  }
};

} // namespace

Tensor normalise(const Tensor &x, double scale, double eps) {
  return Normalise::apply(x, scale, eps);
}

Tensor rmsNorm(const Tensor &x, const Tensor &weight, double eps) {
  // Torch's kernel gives every row a block of threads, too many for the rows
  // of a head.
  constexpr int64_t kWide = 256;
  const Tensor typed = weight.to(x.scalar_type());
  if (x.is_cuda() && x.size(-1) >= kWide) {
    return at::rms_norm(x, x.size(-1), typed, eps);
  }
  return normalise(x, 1.0 / double(x.size(-1)), eps) * typed;
}

Tensor headLoss(const Tensor &h, const Tensor &weight, const Tensor &targets,
                at::ScalarType compute) {
  return HeadLoss::apply(h, weight, targets, compute);
}

} // namespace recurra
