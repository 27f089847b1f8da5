// The definitions without states, and how a batch is cut for them.
// SPDX-License-Identifier: Apache-2.0
#include "models/Elementwise.h"

#include "dsl/Text.h"
#include "dsl/dsl.h"
#include "models/Cut.h"
#include "models/Functions.h"
#include "ops/Ops.h"

#include <torch/torch.h>

namespace recurra {

using at::Tensor;

namespace {

using namespace recurra::dsl;

constexpr double kUnitEps = 1e-12;

Recurrence unitOfSiluDefinition() {
  return define("unit_of_silu", [](Builder &r) {
    Axis K = r.axis("K");
    Expr x = silu(r.token("z", {K}));
    r.output("unit", x * rsqrt(sum(square(x), K) + kUnitEps));
  });
}

Recurrence writtenValueDefinition() {
  return define("written_value", [](Builder &r) {
    Axis V = r.axis("V");
    Expr z = r.token("z", {V}), step = r.token("step", {});
    r.output("v", step * silu(z));
  });
}

Recurrence writtenCertaintyDefinition() {
  return define("written_certainty", [](Builder &r) {
    Axis V = r.axis("V");
    Expr b = r.token("b", {V}), factor = r.token("factor", {});
    r.output("beta", factor * sigmoid(b));
  });
}

Recurrence gatedNormDefinition(double eps) {
  return define("gated_norm", [eps](Builder &r) {
    Axis V = r.axis("V");
    Expr y = r.token("y", {V}), z = r.token("z", {V});
    Expr skip = r.token("skip", {}), gate = r.token("gate", {V});
    Expr sum = y + skip * silu(z);
    r.output("o", sum * rsqrt(mean(square(sum), V) + eps) * silu(gate));
  });
}

Recurrence swigluDefinition() {
  return define("swiglu", [](Builder &r) {
    Axis D = r.axis("D");
    Expr gate = r.token("gate", {D}), up = r.token("up", {D});
    r.output("inner", silu(gate) * up);
  });
}

/// Calls a definition without states. No token knows of another, so the tokens
/// become many short rows, which run in parallel.
Tensor callPerToken(const std::string &text,
                    const std::vector<Tensor> &tokens) {
  const int64_t batch = tokens[0].size(0), length = tokens[0].size(1);
  const int64_t row = largestDivisor(length, 1, 32, 1);
  std::vector<std::optional<Tensor>> inputs;
  for (const Tensor &x : tokens) {
    std::vector<int64_t> shape = x.sizes().vec();
    shape[0] = batch * (length / row);
    shape[1] = row;
    inputs.emplace_back(x.reshape(shape));
  }
  const Tensor output = call(text, inputs).outputs[0];
  std::vector<int64_t> shape = output.sizes().vec();
  shape[0] = batch;
  shape[1] = length;
  return output.view(shape);
}

} // namespace

Tensor unitOfSilu(const Tensor &z, bool fused) {
  if (fused) {
    static const std::string text = toText(unitOfSiluDefinition());
    return callPerToken(text, {z});
  }
  return normalise(at::silu(z), /*scale=*/1, kUnitEps);
}

Tensor writtenValue(const Tensor &z, const Tensor &step, bool fused) {
  if (fused) {
    static const std::string text = toText(writtenValueDefinition());
    return callPerToken(text, {z, step});
  }
  return step.unsqueeze(-1).to(z.scalar_type()) * at::silu(z);
}

Tensor writtenCertainty(const Tensor &b, const Tensor &factor, bool fused) {
  if (fused) {
    static const std::string text = toText(writtenCertaintyDefinition());
    return callPerToken(text, {b, factor});
  }
  return factor.unsqueeze(-1).to(b.scalar_type()) * at::sigmoid(b);
}

Tensor gatedNorm(const Tensor &y, const Tensor &z, const Tensor &skip,
                 const Tensor &gate, double eps, bool fused) {
  if (fused && y.defined()) {
    static std::map<double, std::string> texts;
    std::string &text = texts[eps];
    if (text.empty()) {
      text = toText(gatedNormDefinition(eps));
    }
    return callPerToken(
        text, {y, z, skip.expand({z.size(0), z.size(1), z.size(2)}), gate});
  }
  Tensor sum = skip.unsqueeze(-1).to(z.scalar_type()) * at::silu(z);
  if (y.defined()) {
    sum = sum + y;
  }
  return normalise(sum, 1.0 / double(sum.size(-1)), eps) * at::silu(gate);
}

Tensor swiglu(const Tensor &gate, const Tensor &up, bool fused) {
  if (fused) {
    static const std::string text = toText(swigluDefinition());
    const int64_t channels = largestDivisor(gate.size(-1), 1, 64, 1);
    const auto heads = [&](const Tensor &x) {
      return x.unflatten(-1, {x.size(-1) / channels, channels});
    };
    return callPerToken(text, {heads(gate), heads(up)}).flatten(2);
  }
  return at::silu(gate) * up;
}

} // namespace recurra
