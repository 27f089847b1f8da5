// What the tests of models/ run: the trainer, the data generator and a model's
// loss and gradients as one command, without the rest of the command line.
// SPDX-License-Identifier: Apache-2.0
#include "models/Checkpoint.h"
#include "models/Data.h"
#include "models/Device.h"
#include "models/Lm.h"
#include "models/Optimiser.h"
#include "models/Recall.h"
#include "models/Train.h"

#include <torch/torch.h>

#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

using namespace recurra;

namespace {

/// train|describe CONFIG [--set KEY=VALUE].. [--output DIR] [--resume]
/// [--overwrite] [--quiet]
TrainOptions parseTrain(int count, char **words) {
  TrainOptions options;
  options.config = count > 2 ? words[2] : "";
  for (int i = 3; i < count; ++i) {
    const std::string word = words[i];
    const bool hasValue = i + 1 < count;
    if (word == "--set" && hasValue) {
      options.overrides.push_back(words[++i]);
    } else if (word == "--output" && hasValue) {
      options.output = words[++i];
    } else {
      options.resume |= word == "--resume";
      options.overwrite |= word == "--overwrite";
      options.quiet |= word == "--quiet";
    }
  }
  return options;
}

/// recall COUNT SEED LENGTH PAIRS VOCABULARY POWER_A: sequences as JSON lines.
int printRecall(char **words) {
  const RecallShape shape{std::stoll(words[4]), std::stoll(words[5]),
                          std::stoll(words[6]), std::stod(words[7])};
  Random random(std::stoull(words[3]), Random::Purpose::Train, 1);
  for (int64_t i = 0; i < std::stoll(words[2]); ++i) {
    const RecallSequence sequence = drawRecall(shape, random);
    std::cout << nlohmann::json{{"tokens", sequence.tokens},
                                {"queries", sequence.queries}}
              << "\n";
  }
  return 0;
}

NamedTensors parametersOf(const LanguageModel &model) {
  NamedTensors tensors;
  for (const auto &item : model.named_parameters()) {
    tensors[item.key()] = item.value();
  }
  return tensors;
}

/// gradient CONFIG MODEL OUT [INDEX]: the model of a checkpoint on a training
/// batch, the first unless another is named; "tokens", "targets", "logits",
/// "loss" and "gradient.NAME" go into a checkpoint OUT.
int writeGradient(int count, char **words) {
  TrainConfig config = loadConfig(words[2], {});
  const at::Device device = findDevice(config.run.device);
  const auto data = makeDataSet(config.data, uint64_t(config.run.seed));
  config.model.vocabulary = data->vocabulary();
  LanguageModel model(config.model,
                      at::TensorOptions(at::kFloat).device(device));
  loadTensors(SafetensorsFile(words[3]), parametersOf(model));
  const Batch batch =
      moveBatch(data->trainBatch(count > 5 ? std::stoll(words[5]) : 1), device);
  at::Tensor logits, loss;
  {
    const Autocast autocast(device, config.run.precision);
    logits = model.forward(batch.tokens, batch.positions);
    loss = model.loss(batch.tokens, batch.targets, batch.positions);
  }
  loss.backward();
  TrainingState result;
  result.parameters = {{"tokens", batch.tokens},
                       {"targets", batch.targets},
                       {"logits", logits.to(at::kFloat)},
                       {"loss", loss}};
  for (const auto &[name, parameter] : parametersOf(model)) {
    if (parameter.grad().defined()) {
      result.parameters["gradient." + name] = parameter.grad();
    }
  }
  saveCheckpoint(words[4], result, 1);
  return 0;
}

/// rates CONFIG: the learning rate of every step, a line each.
int printRates(char **words) {
  const OptimiserConfig config = loadConfig(words[2], {}).optimiser;
  std::cout << std::setprecision(17);
  for (int64_t step = 1; step <= config.steps; ++step) {
    std::cout << learningRate(config, step) << "\n";
  }
  return 0;
}

} // namespace

int main(int count, char **words) {
  const std::string command = count > 1 ? words[1] : "";
  if (command == "train") {
    return int(train(parseTrain(count, words), std::cout));
  }
  if (command == "describe") {
    return int(describeModel(parseTrain(count, words), std::cout));
  }
  if (command == "recall" && count == 8) {
    return printRecall(words);
  }
  if (command == "gradient" && (count == 5 || count == 6)) {
    return writeGradient(count, words);
  }
  if (command == "rates" && count == 3) {
    return printRates(words);
  }
  std::cerr << "usage: models-driver train|describe|recall|gradient|rates ..\n";
  return 2;
}
