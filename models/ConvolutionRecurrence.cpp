// Two recurrences, the convolution and its gradient, and how they are called.
// SPDX-License-Identifier: Apache-2.0
#include "models/ConvolutionRecurrence.h"

#include "dsl/Text.h"
#include "dsl/dsl.h"
#include "models/Cut.h"
#include "ops/Ops.h"

#include <torch/torch.h>

#include <memory>

namespace recurra {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace {

using namespace recurra::dsl;

/// A value and those of the `size` - 1 tokens before, as states NAME_1, ..
std::vector<Expr> window(const Expr &value, const std::string &name,
                         int64_t size) {
  std::vector<Expr> values = {value};
  for (int64_t ago = 1; ago < size; ++ago) {
    values.push_back(previous(values.back(), name + "_" + std::to_string(ago)));
  }
  return values;
}

std::vector<Expr> declareTaps(Builder &r, const Axis &D, int64_t size) {
  std::vector<Expr> taps;
  for (int64_t j = 0; j < size; ++j) {
    taps.push_back(r.head(Name("w_" + std::to_string(j)), {D}));
  }
  return taps;
}

/// y = sum_ago w[size - 1 - ago] x[ago].
Recurrence convolution(int64_t size) {
  return define("short_convolution", [&](Builder &r) {
    Axis D = r.axis("D");
    Expr x = r.token("x", {D});
    const std::vector<Expr> w = declareTaps(r, D, size);
    const std::vector<Expr> xs = window(x, "x", size);
    Expr y = w[size - 1] * x;
    for (int64_t ago = 1; ago < size; ++ago) {
      y = y + w[size - 1 - ago] * xs[ago];
    }
    r.output("y", y);
  });
}

/// Of y's cotangent dy: x's, late by size - 1 tokens, as the convolution looks
/// that far back; and the taps', whose sums are states.
Recurrence convolutionGradient(int64_t size) {
  return define("short_convolution_gradient", [&](Builder &r) {
    Axis D = r.axis("D");
    Expr x = r.token("x", {D}), dy = r.token("dy", {D});
    const std::vector<Expr> w = declareTaps(r, D, size);
    const std::vector<Expr> xs = window(x, "x", size);
    const std::vector<Expr> dys = window(dy, "dy", size);
    Expr late = w[0] * dy;
    for (int64_t ago = 1; ago < size; ++ago) {
      late = late + w[ago] * dys[ago];
    }
    r.output("dx", late);
    // States must be read by an output; this one is never asked for.
    Expr read = 0;
    for (int64_t j = 0; j < size; ++j) {
      dsl::State sum = r.state(Name("dw_" + std::to_string(j)), {D});
      sum += dy * xs[size - 1 - j];
      read = read + sum;
    }
    r.output("dw", read, optional);
  });
}

/// The text of a definition, printed once for every size.
const std::string &textOf(Recurrence (*definition)(int64_t), int64_t size) {
  static std::map<std::pair<void *, int64_t>, std::string> known;
  std::string &text = known[{reinterpret_cast<void *>(definition), size}];
  if (text.empty()) {
    text = toText(definition(size), Locations::Keep);
  }
  return text;
}

/// How a [B, T, C] tensor is cut: B segments of it by `tokens`, C into heads of
/// `channels`, as many as the lanes of a warp take at once.
struct Cut {
  explicit Cut(const Tensor &x, int64_t size)
      : tokens(largestDivisor(x.size(1), std::max<int64_t>(16, size), 128,
                              x.size(1))),
        channels(largestDivisor(x.size(2), 1, 64, x.size(2))),
        segments(x.size(1) / tokens), heads(x.size(2) / channels) {}

  int64_t tokens, channels, segments, heads;

  Tensor split(const Tensor &x) const {
    return x.reshape({x.size(0) * segments, tokens, heads, channels});
  }

  /// What the segments find before them, 1, .. size - 1 tokens ago: states
  /// [segments of all, heads, channels]. Sequences begin with zeros.
  void addStates(const Tensor &x, int64_t size,
                 std::vector<std::optional<Tensor>> &states) const {
    const int64_t batch = x.size(0), kept = size - 1;
    const Tensor before = at::zeros({batch, segments, kept, heads, channels},
                                    x.options().dtype(at::kFloat));
    if (segments > 1) {
      before.narrow(1, 1, segments - 1)
          .copy_(split(x)
                     .unflatten(0, {batch, segments})
                     .narrow(1, 0, segments - 1)
                     .narrow(2, tokens - kept, kept));
    }
    for (int64_t ago = 1; ago < size; ++ago) {
      states.emplace_back(before.select(2, kept - ago).flatten(0, 1));
    }
  }
};

std::vector<std::optional<Tensor>>
withTaps(std::vector<Tensor> tokens, const Tensor &weight, const Cut &cut) {
  std::vector<std::optional<Tensor>> inputs(tokens.begin(), tokens.end());
  const Tensor taps =
      weight.to(at::kFloat).view({cut.heads, cut.channels, weight.size(2)});
  for (int64_t j = 0; j < weight.size(2); ++j) {
    inputs.emplace_back(taps.select(2, j));
  }
  return inputs;
}

/// The last size - 1 tokens of dx, which the late output does not reach.
Tensor endOfGradient(const Tensor &dy, const Tensor &weight, int64_t size) {
  const int64_t kept = std::min(size - 1, dy.size(1));
  const Tensor end = dy.narrow(1, dy.size(1) - kept, kept).to(at::kFloat);
  const Tensor dx = at::zeros_like(end);
  for (int64_t shift = 0; shift < kept; ++shift) {
    dx.narrow(1, 0, kept - shift)
        .addcmul_(end.narrow(1, shift, kept - shift),
                  weight.select(2, size - 1 - shift).squeeze(1));
  }
  return dx;
}

struct RecurrentConvolution : torch::autograd::Function<RecurrentConvolution> {
  static Tensor forward(AutogradContext *context, const Tensor &x,
                        const Tensor &weight) {
    context->save_for_backward({x, weight});
    const int64_t size = weight.size(2);
    const Cut cut(x, size);
    CallOptions options;
    cut.addStates(x, size, options.initialStates);
    const CallResult result =
        call(textOf(convolution, size), withTaps({cut.split(x)}, weight, cut),
             options);
    return result.outputs[0].view(x.sizes());
  }

  static variable_list backward(AutogradContext *context,
                                const variable_list &gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor &dy = gradients[0], &x = saved[0], &weight = saved[1];
    const int64_t size = weight.size(2), length = x.size(1);
    const Cut cut(x, size);
    CallOptions options;
    options.outputFinalState = true;
    cut.addStates(x, size, options.initialStates);
    cut.addStates(dy, size, options.initialStates);
    options.initialStates.resize(options.initialStates.size() + size);
    const CallResult result =
        call(textOf(convolutionGradient, size),
             withTaps({cut.split(x), cut.split(dy)}, weight, cut), options);
    const Tensor late = result.outputs[0].view(x.sizes());
    const Tensor dx = at::empty(x.sizes(), late.options());
    const int64_t kept = std::min(size - 1, length);
    dx.narrow(1, 0, length - kept).copy_(late.narrow(1, kept, length - kept));
    dx.narrow(1, length - kept, kept).copy_(endOfGradient(dy, weight, size));
    std::vector<Tensor> dtaps;
    for (int64_t j = 0; j < size; ++j) {
      const size_t index = result.finalStates.size() - size_t(size - j);
      dtaps.push_back(result.finalStates[index].sum(0).flatten());
    }
    return {dx, at::stack(dtaps, 1).unsqueeze(1)};
  }
};

} // namespace

Tensor recurrentConvolution(const Tensor &x, const Tensor &weight) {
  return RecurrentConvolution::apply(x, weight);
}

} // namespace recurra
