// The language model around the mixer.
// SPDX-License-Identifier: Apache-2.0
#include "models/Lm.h"

#include "models/Elementwise.h"
#include "models/Functions.h"
#include "models/Timeline.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/autocast_mode.h>
#include <torch/torch.h>

#include <cmath>

namespace recurra {

using at::Tensor;

int64_t mlpWidth(int64_t width) { return (width * 8 / 3 + 255) / 256 * 256; }

Block::Block(const ModelConfig &config, const at::TensorOptions &options)
    : normEps(config.normEps), mixes(config.mixer != "none"),
      fused(config.fused) {
  const auto weight = [&](auto &parent, const char *name,
                          at::IntArrayRef shape) {
    return parent
        .register_module(name, std::make_shared<WeightModule>(shape, options))
        ->weight;
  };
  const int64_t width = config.width;
  mixerNorm = weight(*this, "attn_norm", {width});
  mixer =
      register_module("attn", std::make_shared<PalimpsaMixer>(config, options));
  if (config.mlp) {
    const int64_t inner = mlpWidth(width);
    mlpNorm = weight(*this, "mlp_norm", {width});
    auto mlp = register_module("mlp", std::make_shared<torch::nn::Module>());
    gateProj = weight(*mlp, "gate_proj", {inner, width});
    upProj = weight(*mlp, "up_proj", {inner, width});
    downProj = weight(*mlp, "down_proj", {width, inner});
  }
}

namespace {

Tensor normed(const Tensor &x, const Tensor &weight, double eps) {
  return timed(Part::Norm, {x}, [&](const std::vector<Tensor> &in) {
    return rmsNorm(in[0], weight, eps);
  });
}

} // namespace

Tensor Block::forward(const Tensor &x_BTC) {
  Tensor x = x_BTC;
  if (mixes) {
    x = x + mixer->forward(normed(x, mixerNorm, normEps));
  }
  if (gateProj.defined()) {
    const Tensor h = normed(x, mlpNorm, normEps);
    const Tensor inner =
        timed(Part::Gates, {linearMap(h, gateProj), linearMap(h, upProj)},
              [&](const std::vector<Tensor> &in) {
                return swiglu(in[0], in[1], fused);
              });
    x = x + linearMap(inner, downProj);
  }
  return x;
}

LanguageModel::LanguageModel(const ModelConfig &config,
                             const at::TensorOptions &options)
    : config(config) {
  auto model = register_module("model", std::make_shared<torch::nn::Module>());
  embedding =
      model
          ->register_module(
              "embeddings",
              std::make_shared<WeightModule>(
                  at::IntArrayRef{config.vocabulary, config.width}, options))
          ->weight;
  auto layers =
      model->register_module("layers", std::make_shared<torch::nn::Module>());
  for (int64_t i = 0; i < config.layers; ++i) {
    blocks.push_back(layers->register_module(
        std::to_string(i), std::make_shared<Block>(config, options)));
  }
  finalNorm =
      model
          ->register_module("norm", std::make_shared<WeightModule>(
                                        at::IntArrayRef{config.width}, options))
          ->weight;
}

at::ScalarType LanguageModel::computeType() const {
  const at::DeviceType device = embedding.device().type();
  return at::autocast::is_autocast_enabled(device)
             ? at::autocast::get_autocast_dtype(device)
             : embedding.scalar_type();
}

Tensor LanguageModel::hidden(const Tensor &tokens_BT, const Tensor &positions) {
  // Under autocast the residual stream has its dtype, as in the reference's
  // recipe: half the bytes for everything between two products.
  Tensor x = at::embedding(embedding, tokens_BT).to(computeType());
  for (const auto &block : blocks) {
    x = block->forward(x);
  }
  x = x.flatten(0, 1);
  if (positions.defined()) {
    x = x.index_select(0, positions);
  }
  return normed(x, finalNorm, config.normEps);
}

Tensor LanguageModel::forward(const Tensor &tokens_BT,
                              const Tensor &positions) {
  return linearMap(hidden(tokens_BT, positions), embedding);
}

Tensor LanguageModel::loss(const Tensor &tokens_BT, const Tensor &targets,
                           const Tensor &positions) {
  return timed(Part::Loss, {hidden(tokens_BT, positions)},
               [&](const std::vector<Tensor> &in) {
                 return headLoss(in[0], embedding, targets, computeType());
               });
}

namespace {

bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// Decay rates A and time steps dt of the heads at the start.
struct Gates {
  Tensor a, dt;
};

/// Windows 1 / (A dt) that grow from head to head: both end in long memory.
Gates rampGates(double first, double last, int64_t heads,
                const at::TensorOptions &options) {
  return {at::linspace(first, last, heads, options),
          at::logspace(-1, -3, heads, 10, options)};
}

Gates drawGates(const std::string &kind, int64_t heads,
                const at::TensorOptions &options, at::Generator &generator) {
  if (kind == "normal") {
    return rampGates(1, 16, heads, options);
  }
  if (kind == "small") {
    return rampGates(0.01, 0.16, heads, options);
  }
  if (kind == "very_small") {
    return rampGates(0.001, 0.016, heads, options);
  }
  // A below this floor would have a log of -inf if the draw is exactly 0.
  const Tensor a =
      at::rand({heads}, generator, options).mul(16).clamp_min(1e-6);
  const Tensor logDt = at::rand({heads}, generator, options)
                           .mul(std::log(0.1) - std::log(0.001))
                           .add(std::log(0.001));
  return {a, logDt.exp().clamp_min(1e-4)};
}

} // namespace

Tensor LanguageModel::initialValue(const std::string &name,
                                   const Tensor &parameter,
                                   at::Generator &generator) const {
  // Drawn on the CPU, so that a seed means the same on every device.
  const at::TensorOptions options =
      parameter.options().device(at::kCPU).requires_grad(false);
  const auto draw = [&] { return at::empty(parameter.sizes(), options); };
  if (endsWith(name, "norm.weight") || endsWith(name, ".D") ||
      endsWith(name, ".b_scale")) {
    return at::ones_like(parameter);
  }
  if (endsWith(name, ".Ip_log")) {
    return at::zeros_like(parameter);
  }
  if (endsWith(name, ".A_log")) {
    return drawGates(config.gates, config.heads, options, generator).a.log();
  }
  if (endsWith(name, ".dt_bias")) {
    const Tensor dt =
        drawGates(config.gates, config.heads, options, generator).dt;
    return dt + at::log(-at::expm1(-dt)); // the inverse of softplus
  }
  if (endsWith(name, ".b_proj.weight")) {
    const double bound = 1 / std::sqrt(double(config.betaRank));
    return draw().uniform_(-bound, bound, generator);
  }
  return draw().normal_(0, config.initStd, generator);
}

void LanguageModel::initialise(uint64_t seed) {
  at::NoGradGuard noGrad;
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  for (auto &item : named_parameters()) {
    item.value().copy_(initialValue(item.key(), item.value(), generator));
  }
}

} // namespace recurra
