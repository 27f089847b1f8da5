// AdamW on torch's fused kernels. Nothing here waits for a GPU.
// SPDX-License-Identifier: Apache-2.0
#include "models/Optimiser.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace recurra {

using at::Tensor;

bool decays(const std::string &name) {
  const size_t dot = name.rfind('.');
  const std::string last = name.substr(dot == std::string::npos ? 0 : dot + 1);
  for (const char *scalar : {"A_log", "dt_bias", "D", "b_scale", "Ip_log"}) {
    if (last == scalar) {
      return false;
    }
  }
  return last != "bias" && name.find("norm.weight") == std::string::npos;
}

double learningRate(const OptimiserConfig &config, int64_t step) {
  if (step < config.warmup) {
    return config.learningRate * double(step) / double(config.warmup);
  }
  const double span =
      double(std::max<int64_t>(1, config.steps - config.warmup));
  const double progress = std::min(1.0, double(step - config.warmup) / span);
  const double cosine = 0.5 * (1 + std::cos(std::numbers::pi * progress));
  return config.learningRate *
         (config.finalFraction + (1 - config.finalFraction) * cosine);
}

AdamW::AdamW(const OptimiserConfig &config, const Parameters &trained)
    : config(config) {
  const at::TensorOptions options = trained.front().second.options();
  updates = at::zeros({}, options.requires_grad(false));
  skippedInARow = at::zeros_like(updates);
  groups[0].weightDecay = config.weightDecay;
  for (const auto &[name, parameter] : trained) {
    Group &group = groups[decays(name) ? 0 : 1];
    group.names.push_back(name);
    group.parameters.push_back(parameter);
    group.averages.push_back(at::zeros_like(parameter).detach());
    group.squares.push_back(at::zeros_like(parameter).detach());
  }
}

Tensor AdamW::gradientNorm() const {
  std::vector<Tensor> gradients;
  for (const Group &group : groups) {
    for (const Tensor &parameter : group.parameters) {
      if (parameter.grad().defined()) {
        gradients.push_back(parameter.grad());
      }
    }
  }
  return at::stack(at::_foreach_norm(gradients)).norm();
}

void AdamW::update(Group &group, double rate,
                   const std::optional<Tensor> &divisor,
                   const Tensor &notFinite) {
  std::vector<Tensor> parameters, gradients, averages, squares;
  for (size_t i = 0; i < group.parameters.size(); ++i) {
    Tensor &gradient = group.parameters[i].mutable_grad();
    if (gradient.defined()) {
      parameters.push_back(group.parameters[i]);
      gradients.push_back(gradient);
      averages.push_back(group.averages[i]);
      squares.push_back(group.squares[i]);
    }
    gradient = Tensor();
  }
  if (!parameters.empty()) {
    const std::vector<Tensor> steps(parameters.size(), updates);
    at::_fused_adamw_(parameters, gradients, averages, squares, {}, steps, rate,
                      config.beta1, config.beta2, group.weightDecay, config.eps,
                      /*amsgrad=*/false, /*maximize=*/false, divisor,
                      notFinite);
  }
}

AdamW::StepReport AdamW::step(double rate) {
  at::NoGradGuard noGrad;
  const Tensor norm = gradientNorm();
  const Tensor notFinite = norm.isfinite().logical_not().to(at::kFloat);
  std::optional<Tensor> divisor;
  if (config.clip > 0) {
    divisor = (norm / config.clip).clamp_min(1);
  }
  updates.add_(1 - notFinite);
  skippedInARow.add_(1).mul_(notFinite);
  for (Group &group : groups) {
    update(group, rate, divisor, notFinite);
  }
  return {norm, skippedInARow};
}

std::map<std::string, Tensor> AdamW::state() const {
  std::map<std::string, Tensor> tensors{{"steps", updates}};
  for (const Group &group : groups) {
    for (size_t i = 0; i < group.names.size(); ++i) {
      tensors["exp_avg." + group.names[i]] = group.averages[i];
      tensors["exp_avg_sq." + group.names[i]] = group.squares[i];
    }
  }
  return tensors;
}

} // namespace recurra
