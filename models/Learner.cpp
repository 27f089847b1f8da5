// One step of training, and a validation.
// SPDX-License-Identifier: Apache-2.0
#include "models/Learner.h"

#include "dsl/Error.h"
#include "models/Device.h"
#include "models/Timeline.h"

#include <torch/torch.h>

namespace recurra {

using at::Tensor;

void settleVocabulary(TrainConfig &config, int64_t ofData) {
  int64_t &ofModel = config.model.vocabulary;
  if (ofModel == 0) {
    ofModel = ofData;
  }
  if (ofModel < ofData) {
    throw UserError("'model.vocabulary' is " + std::to_string(ofModel) +
                    " and the data has " + std::to_string(ofData) +
                    " tokens; raise it, or set it to 0 to follow the data");
  }
}

Learner::Learner(const TrainConfig &config, at::Device device)
    : config(config), place(device),
      model(config.model, at::TensorOptions(at::kFloat).device(device)) {
  model.initialise(uint64_t(config.run.seed));
  AdamW::Parameters trained;
  for (const auto &item : model.named_parameters()) {
    named[item.key()] = item.value();
    if (item.value().requires_grad()) {
      trained.emplace_back(item.key(), item.value());
    }
  }
  optimiser = std::make_unique<AdamW>(config.optimiser, trained);
}

namespace {

void markBackward(bool value) {
  if (Timeline *timeline = Timeline::active()) {
    timeline->setBackward(value);
  }
}

} // namespace

Learner::Step Learner::step(int64_t number, Prefetch &batches) {
  const int64_t count = config.optimiser.accumulate;
  Step result;
  for (int64_t i = 0; i < count; ++i) {
    const Batch batch = batches.next();
    Tensor loss;
    {
      const Autocast autocast(place, config.run.precision);
      loss = model.loss(batch.tokens, batch.targets, batch.positions);
    }
    markBackward(true);
    loss.backward(at::full_like(loss, 1.0 / double(count)));
    markBackward(false);
    const Tensor share = loss.detach() / double(count);
    result.loss = i == 0 ? share : result.loss + share;
  }
  const PartScope scope(Part::Optimiser);
  result.learningRate = learningRate(config.optimiser, number);
  result.update = optimiser->step(result.learningRate);
  return result;
}

Validation Learner::validate(const DataSet &data) {
  const at::NoGradGuard noGrad;
  const Autocast autocast(place, config.run.precision);
  double loss = 0, right = 0, count = 0;
  for (int64_t i = 0; i < data.validationBatches(); ++i) {
    const Batch batch = moveBatch(data.validationBatch(i), place);
    const Tensor logits = model.forward(batch.tokens, batch.positions);
    const auto size = double(batch.targets.numel());
    loss += size * at::cross_entropy_loss(logits, batch.targets).item<double>();
    right += logits.argmax(-1).eq(batch.targets).sum().item<double>();
    count += size;
  }
  return {loss / count, right / count};
}

} // namespace recurra
