// AdamW with groups, gradient clipping and the learning rate's schedule.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Config.h"

#include <ATen/core/Tensor.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace recurra {

/// Whether weight decay applies to a parameter: not to gates and per-head
/// scalars (A_log, dt_bias, D, b_scale, Ip_log), biases and norms.
bool decays(const std::string &name);

/// Linear from 0 to the full rate over the warm-up, then a cosine that reaches
/// finalFraction of it at config.steps. `step` counts from 1.
double learningRate(const OptimiserConfig &config, int64_t step);

class AdamW {
public:
  using Parameters = std::vector<std::pair<std::string, at::Tensor>>;
  AdamW(const OptimiserConfig &config, const Parameters &trained);

  /// Scalars on the parameters' device.
  struct StepReport {
    at::Tensor gradientNorm;  ///< before clipping
    at::Tensor skippedInARow; ///< steps up to this one without an update, as
                              ///< their gradient was not finite
  };
  /// Clips, updates the parameters, drops their gradients.
  StepReport step(double rate);

  /// Views on the state, to be saved or copied into: "exp_avg.NAME",
  /// "exp_avg_sq.NAME", and "steps", the number of updates.
  std::map<std::string, at::Tensor> state() const;

private:
  struct Group {
    double weightDecay = 0;
    std::vector<std::string> names;
    std::vector<at::Tensor> parameters, averages, squares;
  };
  at::Tensor gradientNorm() const;
  void update(Group &group, double rate,
              const std::optional<at::Tensor> &divisor,
              const at::Tensor &notFinite);

  OptimiserConfig config;
  Group groups[2];
  at::Tensor updates; ///< a scalar, shared by all parameters of both groups
  at::Tensor skippedInARow;
};

} // namespace recurra
