// The trainer as a command of its own, with what measures and compares, and
// what the tests of models/ look into: the data generator, a model's loss and
// gradients.
// SPDX-License-Identifier: Apache-2.0
#include "models/Checkpoint.h"
#include "models/Data.h"
#include "models/Device.h"
#include "models/Lm.h"
#include "models/Measure.h"
#include "models/Optimiser.h"
#include "models/Recall.h"
#include "models/Sweep.h"
#include "models/Train.h"

#include <torch/torch.h>

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace recurra;

namespace {

/// The words behind a command: its configuration, and options that may have a
/// value.
class Words {
public:
  Words(int count, char **words) : words(words + 2, words + count) {}

  std::string config() const { return words.empty() ? "" : words[0]; }
  bool has(const std::string &option) const {
    return std::find(words.begin(), words.end(), option) != words.end();
  }
  std::vector<std::string> all(const std::string &option) const {
    std::vector<std::string> values;
    for (size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] == option) {
        values.push_back(words[i + 1]);
      }
    }
    return values;
  }
  std::string last(const std::string &option,
                   const std::string &otherwise) const {
    const std::vector<std::string> values = all(option);
    return values.empty() ? otherwise : values.back();
  }
  int64_t number(const std::string &option, int64_t otherwise) const {
    return std::stoll(last(option, std::to_string(otherwise)));
  }
  /// The parts between commas, if the option is there.
  template <typename Value, typename Parse>
  void list(const std::string &option, std::vector<Value> &values,
            const Parse &parse) const {
    if (!has(option)) {
      return;
    }
    values.clear();
    std::istringstream parts(last(option, ""));
    for (std::string part; std::getline(parts, part, ',');) {
      values.push_back(parse(part));
    }
  }

private:
  std::vector<std::string> words;
};

/// train|describe CONFIG [--set KEY=VALUE].. [--output DIR] [--resume]
/// [--overwrite] [--quiet] [--seconds N]
TrainOptions parseTrain(const Words &words) {
  return {words.config(),
          words.all("--set"),
          words.last("--output", ""),
          words.has("--resume"),
          words.has("--overwrite"),
          words.has("--quiet"),
          std::stod(words.last("--seconds", "0"))};
}

/// measure CONFIG [--set KEY=VALUE].. [--output STEM] [--warmup N] [--steps N]
/// [--split N] [--kernels N]
MeasureOptions parseMeasure(const Words &words) {
  const MeasureOptions usual;
  return {words.config(),
          words.all("--set"),
          words.last("--output", ""),
          words.number("--warmup", usual.warmup),
          words.number("--steps", usual.steps),
          words.number("--split", usual.split),
          words.number("--kernels", usual.kernels)};
}

/// mqar CONFIG [--set KEY=VALUE].. --output DIR [--mixers A,B] [--rates X,Y]
/// [--seeds M,N] [--parallel N] [--seconds N] [--gpus A,B] [--program PATH]
SweepOptions parseSweep(const Words &words) {
  SweepOptions options;
  options.config = words.config();
  options.overrides = words.all("--set");
  options.output = words.last("--output", "runs/mqar");
  options.parallel = words.number("--parallel", options.parallel);
  options.seconds = std::stod(words.last("--seconds", "0"));
  options.program = words.last("--program", options.program);
  words.list("--gpus", options.gpus, [](auto &text) { return text; });
  words.list("--mixers", options.mixers, [](auto &text) { return text; });
  words.list("--rates", options.rates,
             [](auto &text) { return std::stod(text); });
  words.list("--seeds", options.seeds,
             [](auto &text) { return std::stoll(text); });
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

/// batches CONFIG FIRST COUNT: training batches as JSON lines, and behind them
/// the first one of a validation.
int printBatches(char **words) {
  const TrainConfig config = loadConfig(words[2], {});
  const auto data = makeDataSet(config.data, uint64_t(config.run.seed));
  const auto print = [](const Batch &batch) {
    const auto list = [](const at::Tensor &tensor) {
      const int64_t *first = tensor.data_ptr<int64_t>();
      return std::vector<int64_t>(first, first + tensor.numel());
    };
    std::cout << nlohmann::json{{"shape", batch.tokens.sizes().vec()},
                                {"tokens", list(batch.tokens)},
                                {"targets", list(batch.targets)},
                                {"positions", list(batch.positions)}}
              << "\n";
  };
  const int64_t first = std::stoll(words[3]), count = std::stoll(words[4]);
  for (int64_t index = first; index < first + count; ++index) {
    print(data->trainBatch(index));
  }
  print(data->validationBatch(0));
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
    return int(train(parseTrain({count, words}), std::cout));
  }
  if (command == "describe") {
    return int(describeModel(parseTrain({count, words}), std::cout));
  }
  if (command == "measure") {
    return int(measureTraining(parseMeasure({count, words}), std::cout));
  }
  if (command == "mqar") {
    return int(sweep(parseSweep({count, words}), std::cout));
  }
  if (command == "recall" && count == 8) {
    return printRecall(words);
  }
  if (command == "batches" && count == 5) {
    return printBatches(words);
  }
  if (command == "gradient" && (count == 5 || count == 6)) {
    return writeGradient(count, words);
  }
  if (command == "rates" && count == 3) {
    return printRates(words);
  }
  std::cerr << "usage: models-driver train|describe|measure|mqar CONFIG ..\n"
               "       models-driver recall|batches|gradient|rates ..\n";
  return 2;
}
