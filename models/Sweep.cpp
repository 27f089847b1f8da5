// Compares mixers over learning rates and seeds.
// SPDX-License-Identifier: Apache-2.0
#include "models/Sweep.h"

#include "dsl/Error.h"
#include "models/Config.h"
#include "models/Device.h"
#include "models/Folder.h"
#include "models/Outcome.h"
#include "models/Processes.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <sstream>

namespace recurra {
namespace {

using Json = nlohmann::ordered_json;

/// One point of the grid.
struct Run {
  std::string mixer, rate; ///< the rate as it is written
  int64_t seed;
  std::string folder;

  std::string name() const {
    return mixer + "-" + rate + "-" + std::to_string(seed);
  }
};

std::string spell(double value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

/// The slowest mixer first, so that the runs end together.
std::vector<Run> listRuns(const SweepOptions &options) {
  std::vector<Run> runs;
  for (const std::string &mixer : options.mixers) {
    for (double rate : options.rates) {
      for (int64_t seed : options.seeds) {
        Run run{mixer, spell(rate), seed, ""};
        run.folder = inFolder(options.output, run.name());
        runs.push_back(run);
      }
    }
  }
  return runs;
}

std::vector<std::string> wordsOf(const Run &run, const SweepOptions &options) {
  std::vector<std::string> words = {options.program, "train",    options.config,
                                    "--output",      run.folder, "--overwrite",
                                    "--quiet"};
  std::vector<std::string> settings = options.overrides;
  settings.push_back("model.mixer=\"" + run.mixer + "\"");
  settings.push_back("optimiser.learning_rate=" + run.rate);
  settings.push_back("run.seed=" + std::to_string(run.seed));
  for (const std::string &setting : settings) {
    words.emplace_back("--set");
    words.push_back(setting);
  }
  return words;
}

/// The validations of a finished run.
Json curveOf(const Run &run) {
  Json curve = {{"mixer", run.mixer},
                {"learning_rate", std::stod(run.rate)},
                {"seed", run.seed}};
  Json steps = Json::array(), accuracy = Json::array(), loss = Json::array();
  std::istringstream lines(readFile(inFolder(run.folder, "metrics.jsonl")));
  for (std::string text; std::getline(lines, text);) {
    const Json line = Json::parse(text);
    if (line["kind"] == "validation") {
      steps.push_back(line["step"]);
      accuracy.push_back(line["accuracy"]);
      loss.push_back(line["loss"]);
    } else if (line["kind"] == "end") {
      curve["reason"] = line["reason"];
      curve["seconds"] = line["seconds"];
    }
  }
  curve["steps"] = steps;
  curve["accuracy"] = accuracy;
  curve["loss"] = loss;
  return curve;
}

double lastAccuracy(const Json &curve) {
  return curve["accuracy"].empty() ? 0 : curve["accuracy"].back().get<double>();
}

/// For each mixer and seed the rate that ended best, and means over seeds.
Json bestOf(const Json &curves, const SweepOptions &options) {
  Json best = Json::array();
  for (const std::string &mixer : options.mixers) {
    std::map<int64_t, Json> bySeed;
    for (const Json &curve : curves) {
      const auto seed = curve["seed"].get<int64_t>();
      if (curve["mixer"] == mixer &&
          (!bySeed.count(seed) ||
           lastAccuracy(curve) > bySeed[seed]["accuracy"].get<double>())) {
        bySeed[seed] = {{"seed", seed},
                        {"learning_rate", curve["learning_rate"]},
                        {"accuracy", lastAccuracy(curve)}};
      }
    }
    Json seeds = Json::array();
    double sum = 0;
    for (const auto &[seed, entry] : bySeed) {
      seeds.push_back(entry);
      sum += entry["accuracy"].get<double>();
    }
    best.push_back({{"mixer", mixer},
                    {"mean_accuracy", seeds.empty() ? 0 : sum / seeds.size()},
                    {"seeds", seeds}});
  }
  return best;
}

std::string asText(const Json &result) {
  std::string text;
  char line[160];
  std::snprintf(line, sizeof line, "%-12s %8s %5s %8s %9s %8s\n", "mixer",
                "rate", "seed", "steps", "accuracy", "seconds");
  text += line;
  for (const Json &run : result["runs"]) {
    std::snprintf(line, sizeof line, "%-12s %8.2e %5lld %8lld %8.2f%% %8.1f\n",
                  run["mixer"].get<std::string>().c_str(),
                  run["learning_rate"].get<double>(),
                  (long long)run["seed"].get<int64_t>(),
                  run["steps"].empty()
                      ? 0LL
                      : (long long)run["steps"].back().get<int64_t>(),
                  100 * lastAccuracy(run), run.value("seconds", 0.0));
    text += line;
  }
  for (const Json &mixer : result["best"]) {
    std::snprintf(line, sizeof line, "\n%-12s best rate of each seed: %6.2f%%",
                  mixer["mixer"].get<std::string>().c_str(),
                  100 * mixer["mean_accuracy"].get<double>());
    text += line;
    for (const Json &seed : mixer["seeds"]) {
      std::snprintf(line, sizeof line, "  %.2f%% (%.2e)",
                    100 * seed["accuracy"].get<double>(),
                    seed["learning_rate"].get<double>());
      text += line;
    }
  }
  text += "\n";
  for (const Json &name : result["not_started"]) {
    text += "not started for want of time: " + name.get<std::string>() + "\n";
  }
  return text;
}

/// The runs in progress, and what is known of those that ended.
class Sweep {
public:
  explicit Sweep(const SweepOptions &options)
      : options(options), config(loadConfig(options.config, options.overrides)),
        runs(listRuns(options)), gpus(options.gpus) {
    if (gpus.empty() && config.run.device == "cuda") {
      gpus = visibleGpus();
    }
    makeFolders(options.output);
  }

  TrainStatus run(std::ostream &out) {
    runCommands(
        runs.size(), options.parallel,
        [this](size_t index, int64_t lane) { return make(index, lane); },
        [this](size_t index, int status) { note(runs[index], status); });
    out << write() << std::flush;
    if (!failed.empty()) {
      throw std::runtime_error("of " + std::to_string(runs.size()) +
                               " runs these failed: " + failed);
    }
    return TrainStatus::Done;
  }

private:
  std::optional<Command> make(size_t index, int64_t lane) {
    std::vector<std::string> words = wordsOf(runs[index], options);
    if (options.seconds > 0) {
      const std::chrono::duration<double> passed = Clock::now() - started;
      const double left = options.seconds - passed.count();
      if (left <= 0) {
        notStarted.push_back(runs[index].name());
        return std::nullopt;
      }
      words.insert(words.end(), {"--seconds", spell(left)});
    }
    Command command{words};
    if (gpus.size() > 1) {
      command.environment.push_back("CUDA_VISIBLE_DEVICES=" +
                                    gpus[size_t(lane) % gpus.size()]);
    }
    return command;
  }

  void note(const Run &run, int status) {
    if (status == int(TrainStatus::Done) ||
        status == int(TrainStatus::MissedTarget)) {
      curves.push_back(curveOf(run));
      write();
    } else {
      failed += (failed.empty() ? "" : ", ") + run.name() + " (status " +
                std::to_string(status) + ")";
    }
  }

  /// Writes both files; the text of sweep.txt.
  std::string write() {
    std::sort(curves.begin(), curves.end(), [](const Json &a, const Json &b) {
      const auto key = [](const Json &run) {
        return std::make_tuple(run["mixer"].get<std::string>(),
                               run["learning_rate"].get<double>(),
                               run["seed"].get<int64_t>());
      };
      return key(a) < key(b);
    });
    const Json result = {{"config", listKeys(config)},
                         {"runs", curves},
                         {"best", bestOf(curves, options)},
                         {"not_started", notStarted}};
    const std::string text = asText(result);
    std::ofstream(inFolder(options.output, "sweep.json"))
        << result.dump(1) << "\n";
    std::ofstream(inFolder(options.output, "sweep.txt")) << text;
    return text;
  }

  using Clock = std::chrono::steady_clock;
  const Clock::time_point started = Clock::now();
  const SweepOptions &options;
  const TrainConfig config;
  const std::vector<Run> runs;
  std::vector<std::string> gpus;
  Json curves = Json::array(), notStarted = Json::array();
  std::string failed;
};

} // namespace

TrainStatus sweep(const SweepOptions &options, std::ostream &out) {
  return guarded([&] { return Sweep(options).run(out); });
}

} // namespace recurra
