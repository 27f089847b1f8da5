// The training loop.
// SPDX-License-Identifier: Apache-2.0
#include "models/Train.h"

#include "dsl/Error.h"
#include "models/Checkpoint.h"
#include "models/Data.h"
#include "models/Folder.h"
#include "models/Lm.h"
#include "models/Metrics.h"
#include "models/Optimiser.h"
#include "models/ProgressBar.h"

#include <torch/torch.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <malloc.h>
#include <nlohmann/json.hpp>

namespace recurra {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t interrupted = 0;

/// While it lives, SIGINT and SIGTERM ask the loop to stop after its step; a
/// second one ends the process.
class InterruptGuard {
public:
  InterruptGuard() {
    interrupted = 0;
    struct sigaction action = {};
    action.sa_handler = [](int) { interrupted = 1; };
    action.sa_flags = int(SA_RESETHAND);
    sigaction(SIGINT, &action, &oldInterrupt);
    sigaction(SIGTERM, &action, &oldTerminate);
  }
  ~InterruptGuard() {
    sigaction(SIGINT, &oldInterrupt, nullptr);
    sigaction(SIGTERM, &oldTerminate, nullptr);
  }
  InterruptGuard(const InterruptGuard &) = delete;

private:
  struct sigaction oldInterrupt, oldTerminate;
};

struct Validation {
  double loss, accuracy;
};

class Trainer {
public:
  Trainer(TrainConfig config, const TrainOptions &options);
  TrainStatus run(std::ostream &out);

private:
  void resume();
  void startAnew(bool overwrite);
  double takeStep(Json &line);
  void logStep(Json line);
  Validation validate();
  void logValidation();
  void checkpoint();
  TrainStatus finish(TrainStatus status, std::ostream &out);
  double secondsTraining() const;
  bool reachedTarget() const;
  ProgressBar::Status status(double loss) const;

  TrainConfig config;
  std::string output;
  std::unique_ptr<DataSet> data;
  std::shared_ptr<LanguageModel> model;
  std::unique_ptr<AdamW> optimiser;
  std::unique_ptr<MetricsLog> metrics;
  ProgressBar bar;
  TrainingState state;
  Validation last{0, -1}; ///< accuracy -1: none yet
  int64_t firstStep = 0, skippedInARow = 0;
  Clock::time_point started, lastLogged;
  int64_t lastLoggedStep = 0;
  double tokensPerSecond = 0;
};

std::string outputFolder(const TrainConfig &config,
                         const TrainOptions &options) {
  return options.output.empty() ? "runs/" + config.run.name : options.output;
}

/// The model's vocabulary where the configuration leaves it to the data.
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

/// Keeps freed memory in the process: torch asks for the same large blocks at
/// every step, and fresh pages from the system cost a tenth of it.
void keepFreedMemory() {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

Trainer::Trainer(TrainConfig given, const TrainOptions &options)
    : config(std::move(given)), output(outputFolder(config, options)),
      bar(config.optimiser.steps, options.quiet) {
  keepFreedMemory();
  if (config.run.threads > 0) {
    at::set_num_threads(int(config.run.threads));
  }
  data = makeDataSet(config.data, uint64_t(config.run.seed));
  settleVocabulary(config, data->vocabulary());
  model = std::make_shared<LanguageModel>(config.model, at::kFloat);
  model->initialise(uint64_t(config.run.seed));
  AdamW::Parameters trained;
  for (const auto &item : model->named_parameters()) {
    state.parameters[item.key()] = item.value();
    if (item.value().requires_grad()) {
      trained.emplace_back(item.key(), item.value());
    }
  }
  optimiser = std::make_unique<AdamW>(config.optimiser, trained);
  state.optimiser = optimiser->state();
  state.config = listKeys(config);
  if (options.resume) {
    resume();
  } else {
    startAnew(options.overwrite);
  }
  std::ofstream(output + "/config.toml") << toToml(config);
  firstStep = lastLoggedStep = state.step;
  started = lastLogged = Clock::now();
}

void Trainer::resume() {
  const std::optional<std::string> folder = newestCheckpoint(output);
  if (!folder) {
    throw UserError("no checkpoint to resume in " + output +
                    "; leave out --resume to start, or name the folder of the "
                    "run with --output");
  }
  loadCheckpoint(*folder, state);
  metrics = std::make_unique<MetricsLog>(output + "/metrics.jsonl", state.step);
  bar.note("resuming " + *folder);
}

/// Renames a folder to the first free one of folder.1, folder.2, ..
std::string moveAside(const std::string &folder) {
  int number = 1;
  while (pathExists(folder + "." + std::to_string(number))) {
    ++number;
  }
  const std::string aside = folder + "." + std::to_string(number);
  renamePath(folder, aside);
  return aside;
}

void Trainer::startAnew(bool overwrite) {
  const std::string path = output + "/metrics.jsonl";
  const bool used = pathExists(path) || newestCheckpoint(output);
  if (used && !overwrite) {
    bar.note("the earlier run in " + output + " is now " + moveAside(output));
  }
  makeFolders(output);
  while (const auto old = newestCheckpoint(output)) {
    removeFolder(*old);
  }
  metrics = std::make_unique<MetricsLog>(path);
  int64_t count = 0;
  for (const auto &[name, tensor] : state.parameters) {
    count += tensor.numel();
  }
  metrics->write({{"kind", "run"},
                  {"step", 0},
                  {"config", listKeys(config)},
                  {"parameters", count},
                  {"threads", at::get_num_threads()}});
}

double Trainer::secondsTraining() const {
  return state.seconds +
         std::chrono::duration<double>(Clock::now() - started).count();
}

bool Trainer::reachedTarget() const {
  return config.run.targetAccuracy > 0 &&
         last.accuracy >= config.run.targetAccuracy;
}

ProgressBar::Status Trainer::status(double loss) const {
  const double elapsed = secondsTraining() - state.seconds;
  const double perStep = elapsed / double(state.step - firstStep);
  const double left = double(config.optimiser.steps - state.step);
  return {state.step, loss, last.accuracy, tokensPerSecond, left * perStep};
}

double Trainer::takeStep(Json &line) {
  const Batch batch = data->trainBatch(state.step);
  const at::Tensor logits = model->forward(batch.tokens, batch.positions);
  const at::Tensor loss = at::cross_entropy_loss(logits, batch.targets);
  loss.backward();
  const double rate = learningRate(config.optimiser, state.step);
  const AdamW::StepReport report = optimiser->step(rate);
  skippedInARow = report.taken ? 0 : skippedInARow + 1;
  const double value = loss.item<double>();
  line = {{"kind", "train"},
          {"step", state.step},
          {"loss", value},
          {"learning_rate", rate},
          {"gradient_norm", report.gradientNorm}};
  if (!report.taken) {
    line["skipped"] = true;
  }
  constexpr int64_t kPatience = 10;
  if (skippedInARow >= kPatience) {
    throw std::runtime_error(
        "the gradient has not been finite for " + std::to_string(kPatience) +
        " steps, up to step " + std::to_string(state.step) +
        "; lower 'optimiser.learning_rate', or look for the first bad tensor "
        "with RECURRA_CHECK=1");
  }
  return value;
}

void Trainer::logStep(Json line) {
  const Clock::time_point now = Clock::now();
  const double seconds =
      std::chrono::duration<double>(now - lastLogged).count();
  const int64_t steps = state.step - lastLoggedStep;
  tokensPerSecond =
      double(steps * config.data.batch * config.data.length) / seconds;
  lastLogged = now;
  lastLoggedStep = state.step;
  line["tokens_per_second"] = tokensPerSecond;
  line["seconds"] = secondsTraining();
  metrics->write(line);
}

Validation Trainer::validate() {
  at::NoGradGuard noGrad;
  double loss = 0, right = 0, count = 0;
  for (int64_t i = 0; i < data->validationBatches(); ++i) {
    const Batch batch = data->validationBatch(i);
    const at::Tensor logits = model->forward(batch.tokens, batch.positions);
    const auto size = double(batch.targets.numel());
    loss += size * at::cross_entropy_loss(logits, batch.targets).item<double>();
    right += logits.argmax(-1).eq(batch.targets).sum().item<double>();
    count += size;
  }
  return {loss / count, right / count};
}

void Trainer::logValidation() {
  last = validate();
  metrics->write({{"kind", "validation"},
                  {"step", state.step},
                  {"loss", last.loss},
                  {"accuracy", last.accuracy},
                  {"seconds", secondsTraining()}});
  // A validation is not part of the speed of training.
  lastLogged = Clock::now();
  lastLoggedStep = state.step;
}

void Trainer::checkpoint() {
  TrainingState now = state;
  now.seconds = secondsTraining();
  saveCheckpoint(output, now, config.run.keepCheckpoints);
}

TrainStatus Trainer::run(std::ostream &out) {
  const InterruptGuard guard;
  const RunConfig &every = config.run;
  TrainStatus result = TrainStatus::Done;
  bool saved = true, done = state.step >= config.optimiser.steps;
  if (done) {
    last = validate();
  }
  while (!done) {
    ++state.step;
    const bool final = state.step == config.optimiser.steps;
    Json line;
    const double loss = takeStep(line);
    if (state.step % every.logEvery == 0 || final) {
      logStep(std::move(line));
    }
    const bool validated = state.step % every.validateEvery == 0 || final;
    if (validated) {
      logValidation();
    }
    if (tokensPerSecond > 0) { // known from the first logged step on
      bar.show(status(loss), /*important=*/validated);
    }
    done = final || (validated && every.stopAtTarget && reachedTarget());
    if (interrupted && !done) {
      result = TrainStatus::Interrupted;
      done = true;
    }
    saved = state.step % every.checkpointEvery == 0 || done;
    if (saved) {
      checkpoint();
    }
  }
  return finish(result, out);
}

TrainStatus Trainer::finish(TrainStatus status, std::ostream &out) {
  if (status == TrainStatus::Done && config.run.targetAccuracy > 0 &&
      !reachedTarget()) {
    status = TrainStatus::MissedTarget;
  }
  const char *reason = status == TrainStatus::Interrupted    ? "interrupted"
                       : status == TrainStatus::MissedTarget ? "missed target"
                       : reachedTarget()                     ? "target"
                                                             : "steps";
  metrics->write({{"kind", "end"},
                  {"step", state.step},
                  {"reason", reason},
                  {"seconds", secondsTraining()}});
  bar.finish();
  char text[160];
  std::snprintf(text, sizeof text, "%s after %lld steps and %.1f s",
                status == TrainStatus::Interrupted    ? "interrupted"
                : status == TrainStatus::MissedTarget ? "target missed"
                : reachedTarget()                     ? "target reached"
                                                      : "done",
                (long long)state.step, secondsTraining());
  out << text;
  if (last.accuracy >= 0) {
    std::snprintf(text, sizeof text, ": validation accuracy %.2f%%, loss %.4f",
                  100 * last.accuracy, last.loss);
    out << text;
  }
  out << "; see " << output << "/metrics.jsonl" << std::endl;
  return status;
}

Json describe(const LanguageModel &model) {
  int64_t count = 0, trained = 0;
  Json tensors = Json::array();
  for (const auto &item : model.named_parameters()) {
    const at::Tensor &tensor = item.value();
    count += tensor.numel();
    trained += tensor.requires_grad() ? tensor.numel() : 0;
    tensors.push_back({{"name", item.key()},
                       {"shape", tensor.sizes().vec()},
                       {"decay", decays(item.key())},
                       {"frozen", !tensor.requires_grad()}});
  }
  return {{"parameters", count}, {"trained", trained}, {"tensors", tensors}};
}

/// Runs `body`, printing what it throws.
template <typename Body>
TrainStatus guarded(const Body &body) {
  try {
    return body();
  } catch (const UserError &error) {
    std::cerr << "error: " << error.what() << std::endl;
    return TrainStatus::BadInput;
  } catch (const c10::Error &error) {
    std::cerr << "error: " << error.what_without_backtrace() << std::endl;
  } catch (const std::exception &error) {
    std::cerr << "error: " << error.what() << std::endl;
  }
  return TrainStatus::Failed;
}

} // namespace

TrainStatus train(const TrainOptions &options, std::ostream &out) {
  return guarded([&] {
    return Trainer(loadConfig(options.config, options.overrides), options)
        .run(out);
  });
}

TrainStatus describeModel(const TrainOptions &options, std::ostream &out) {
  return guarded([&] {
    TrainConfig config = loadConfig(options.config, options.overrides);
    if (config.model.vocabulary == 0) {
      const auto data = makeDataSet(config.data, uint64_t(config.run.seed));
      settleVocabulary(config, data->vocabulary());
    }
    const LanguageModel model(config.model,
                              at::TensorOptions(at::kFloat).device(at::kMeta));
    out << describe(model).dump(2) << std::endl;
    return TrainStatus::Done;
  });
}

} // namespace recurra
