// What learns: a model, its optimiser, and one step of training them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Checkpoint.h"
#include "models/Lm.h"
#include "models/Optimiser.h"
#include "models/Prefetch.h"

#include <memory>

namespace recurra {

/// The model's vocabulary where the configuration leaves it to the data. Throws
/// UserError if the data has more tokens than the model.
void settleVocabulary(TrainConfig &config, int64_t ofData);

/// Means over a validation's targets.
struct Validation {
  double loss, accuracy;
};

class Learner {
public:
  /// Draws the parameters from the run's seed. `config` has a vocabulary.
  Learner(const TrainConfig &config, at::Device device);

  struct Step {
    double learningRate;
    at::Tensor loss; ///< a scalar on the device, as are those of `update`
    AdamW::StepReport update;
  };
  /// Forward and backward of `accumulate` batches, then the update. Waits for
  /// no GPU.
  Step step(int64_t number, Prefetch &batches);

  Validation validate(const DataSet &data);

  /// Views: copying into them restores a checkpoint.
  const NamedTensors &parameters() const { return named; }
  NamedTensors optimiserState() const { return optimiser->state(); }
  at::Device device() const { return place; }

private:
  TrainConfig config;
  at::Device place;
  LanguageModel model;
  NamedTensors named;
  std::unique_ptr<AdamW> optimiser;
};

} // namespace recurra
