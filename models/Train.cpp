// The training loop.
// SPDX-License-Identifier: Apache-2.0
#include "models/Train.h"

#include "models/Device.h"
#include "models/Interrupt.h"
#include "models/Learner.h"
#include "models/Outcome.h"
#include "models/ProgressBar.h"
#include "models/RunFolder.h"

#include <torch/torch.h>

#include <chrono>
#include <cstdio>
#include <malloc.h>
#include <nlohmann/json.hpp>
#include <ostream>

namespace recurra {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Trainer {
public:
  Trainer(TrainConfig config, const TrainOptions &options);
  TrainStatus run(std::ostream &out);

private:
  void resume();
  void startAnew(bool overwrite);
  void takeStep(bool isFinal);
  void logStep(const Learner::Step &step);
  void logValidation();
  void checkpoint();
  TrainStatus finish(TrainStatus status, std::ostream &out);
  double secondsTraining() const {
    return state.seconds + secondsSince(started);
  }
  bool timeIsUp() const { return limit > 0 && secondsSince(made) >= limit; }
  bool reachedTarget() const;
  const char *reason(TrainStatus status) const;
  ProgressBar::Status status() const;

  TrainConfig config;
  std::string output;
  std::unique_ptr<DataSet> data;
  std::unique_ptr<Learner> learner;
  std::unique_ptr<Prefetch> batches;
  std::unique_ptr<MetricsLog> metrics;
  ProgressBar bar;
  TrainingState state;
  Validation last{0, -1}; ///< accuracy -1: none yet
  double lastLoss = 0;    ///< as far as it was read
  int64_t firstStep = 0, lastLoggedStep = 0;
  const Clock::time_point made = Clock::now();
  double limit; ///< in seconds since `made`; 0: none
  Clock::time_point started, lastLogged;
  double tokensPerSecond = 0;
};

/// Keeps freed memory in the process: torch asks for the same large blocks at
/// every step, and fresh pages from the system cost a tenth of it.
void keepFreedMemory() {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

Trainer::Trainer(TrainConfig given, const TrainOptions &options)
    : config(std::move(given)), output(outputFolder(config, options)),
      bar(config.optimiser.steps, options.quiet), limit(options.seconds) {
  keepFreedMemory();
  if (config.run.threads > 0) {
    at::set_num_threads(int(config.run.threads));
  }
  const at::Device device = findDevice(config.run.device);
  data = makeDataSet(config.data, uint64_t(config.run.seed));
  settleVocabulary(config, data->vocabulary());
  learner = std::make_unique<Learner>(config, device);
  state.parameters = learner->parameters();
  state.optimiser = learner->optimiserState();
  state.config = listKeys(config);
  if (options.resume) {
    resume();
  } else {
    startAnew(options.overwrite);
  }
  writeConfig(output, config);
  batches = std::make_unique<Prefetch>(
      *data, device, state.step * config.optimiser.accumulate + 1);
  firstStep = lastLoggedStep = state.step;
  started = lastLogged = Clock::now();
}

void Trainer::resume() {
  const std::string folder = checkpointToResume(output);
  loadCheckpoint(folder, state);
  metrics = std::make_unique<MetricsLog>(metricsPath(output), state.step);
  bar.note("resuming " + folder);
}

void Trainer::startAnew(bool overwrite) {
  if (const auto aside = prepareFolder(output, overwrite)) {
    bar.note("the earlier run in " + output + " is now " + *aside);
  }
  metrics = std::make_unique<MetricsLog>(metricsPath(output));
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

bool Trainer::reachedTarget() const {
  return config.run.targetAccuracy > 0 &&
         last.accuracy >= config.run.targetAccuracy;
}

ProgressBar::Status Trainer::status() const {
  const double perStep = secondsSince(started) / double(state.step - firstStep);
  const double left = double(config.optimiser.steps - state.step);
  return {state.step, lastLoss, last.accuracy, tokensPerSecond, left * perStep};
}

void Trainer::takeStep(bool isFinal) {
  const Learner::Step step = learner->step(state.step, *batches);
  const bool logs = state.step % config.run.logEvery == 0 || isFinal;
  if (!logs && !learner->device().is_cpu()) {
    return; // reading a number of it would make the GPU wait
  }
  lastLoss = step.loss.item<double>();
  const auto skipped = step.update.skippedInARow.item<int64_t>();
  constexpr int64_t kPatience = 10;
  if (skipped >= kPatience) {
    throw std::runtime_error(
        "the gradient has not been finite for " + std::to_string(skipped) +
        " steps, up to step " + std::to_string(state.step) +
        "; lower 'optimiser.learning_rate', or look for the first bad tensor "
        "with RECURRA_CHECK=1");
  }
  if (logs) {
    logStep(step);
  }
}

void Trainer::logStep(const Learner::Step &step) {
  const int64_t steps = state.step - lastLoggedStep;
  tokensPerSecond = double(steps * config.optimiser.accumulate *
                           config.data.batch * config.data.length) /
                    secondsSince(lastLogged);
  lastLogged = Clock::now();
  lastLoggedStep = state.step;
  Json line = {{"kind", "train"},
               {"step", state.step},
               {"loss", lastLoss},
               {"learning_rate", step.learningRate},
               {"gradient_norm", step.update.gradientNorm.item<double>()},
               {"tokens_per_second", tokensPerSecond},
               {"seconds", secondsTraining()}};
  if (step.update.skippedInARow.item<int64_t>() > 0) {
    line["skipped"] = true;
  }
  metrics->write(line);
}

void Trainer::logValidation() {
  last = learner->validate(*data);
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
  bool done = state.step >= config.optimiser.steps;
  if (done) {
    last = learner->validate(*data);
  }
  while (!done) {
    ++state.step;
    const bool isFinal = state.step == config.optimiser.steps || timeIsUp();
    takeStep(isFinal);
    const bool validated = state.step % every.validateEvery == 0 || isFinal;
    if (validated) {
      logValidation();
    }
    if (tokensPerSecond > 0) { // known from the first logged step on
      bar.show(status(), /*important=*/validated);
    }
    done = isFinal || (validated && every.stopAtTarget && reachedTarget());
    if (guard.requested() && !done) {
      result = TrainStatus::Interrupted;
      done = true;
    }
    if (state.step % every.checkpointEvery == 0 || done) {
      checkpoint();
    }
  }
  return finish(result, out);
}

const char *Trainer::reason(TrainStatus status) const {
  if (status == TrainStatus::Interrupted) {
    return "interrupted";
  }
  if (reachedTarget()) {
    return "target";
  }
  if (state.step < config.optimiser.steps) {
    return "time";
  }
  return status == TrainStatus::MissedTarget ? "missed target" : "steps";
}

TrainStatus Trainer::finish(TrainStatus status, std::ostream &out) {
  if (status == TrainStatus::Done && config.run.targetAccuracy > 0 &&
      !reachedTarget()) {
    status = TrainStatus::MissedTarget;
  }
  metrics->write({{"kind", "end"},
                  {"step", state.step},
                  {"reason", reason(status)},
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
  out << "; see " << metricsPath(output) << std::endl;
  return status;
}

} // namespace

TrainStatus train(const TrainOptions &options, std::ostream &out) {
  return guarded([&] {
    return Trainer(loadConfig(options.config, options.overrides), options)
        .run(out);
  });
}

} // namespace recurra
