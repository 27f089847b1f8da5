// AdamW on torch's fused CPU kernel.
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
    : config(config), updates(at::zeros({}, at::kFloat)) {
  groups[0].weightDecay = config.weightDecay;
  for (const auto &[name, parameter] : trained) {
    Group &group = groups[decays(name) ? 0 : 1];
    group.names.push_back(name);
    group.parameters.push_back(parameter);
    group.averages.push_back(at::zeros_like(parameter).detach());
    group.squares.push_back(at::zeros_like(parameter).detach());
    group.steps.push_back(updates);
  }
}

double AdamW::clipGradients() {
  std::vector<Tensor> gradients;
  for (Group &group : groups) {
    for (Tensor &parameter : group.parameters) {
      if (parameter.grad().defined()) {
        gradients.push_back(parameter.grad());
      }
    }
  }
  const double norm =
      at::stack(at::_foreach_norm(gradients)).norm().item<double>();
  if (config.clip > 0 && norm > config.clip) {
    at::_foreach_mul_(gradients, config.clip / norm);
  }
  return norm;
}

AdamW::StepReport AdamW::step(double rate) {
  at::NoGradGuard noGrad;
  const double norm = clipGradients();
  const bool taken = std::isfinite(norm);
  if (taken) {
    updates.add_(1);
  }
  for (Group &group : groups) {
    std::vector<Tensor> parameters, gradients, averages, squares, steps;
    for (size_t i = 0; i < group.parameters.size(); ++i) {
      Tensor &gradient = group.parameters[i].mutable_grad();
      if (gradient.defined() && taken) {
        parameters.push_back(group.parameters[i]);
        gradients.push_back(gradient);
        averages.push_back(group.averages[i]);
        squares.push_back(group.squares[i]);
        steps.push_back(group.steps[i]);
      }
      gradient = Tensor();
    }
    if (!parameters.empty()) {
      at::_fused_adamw_(parameters, gradients, averages, squares, {}, steps,
                        rate, config.beta1, config.beta2, group.weightDecay,
                        config.eps, /*amsgrad=*/false, /*maximize=*/false);
    }
  }
  return {norm, taken};
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
