// Measures the speed of training.
// SPDX-License-Identifier: Apache-2.0
#include "models/Measure.h"

#include "dsl/Error.h"
#include "models/Device.h"
#include "models/KernelTimes.h"
#include "models/Learner.h"
#include "models/Moment.h"
#include "models/Outcome.h"
#include "models/Timeline.h"

#include <ATen/DeviceAccelerator.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

namespace recurra {
namespace {

using Json = nlohmann::ordered_json;

/// A text's words do not matter for speed, so its file is not read.
TrainConfig configToMeasure(const MeasureOptions &options) {
  TrainConfig config = loadConfig(options.config, options.overrides);
  if (config.data.kind == "text") {
    config.data.kind = "random";
    if (config.model.vocabulary > 0) {
      config.data.vocabulary = config.model.vocabulary;
    }
  }
  settleVocabulary(config, config.data.vocabulary);
  return config;
}

/// A model under training whose steps are timed.
class Bench {
public:
  explicit Bench(const TrainConfig &config)
      : device(findDevice(config.run.device)),
        data(makeDataSet(config.data, uint64_t(config.run.seed))),
        learner(config, device), batches(*data, device, 1) {}

  void step() { learner.step(++number, batches); }

  /// Milliseconds of each of `count` steps, one queued behind the other.
  std::vector<double> timeWhole(int64_t count);
  /// Means over `count` steps.
  Timeline::Times timeParts(int64_t count);

  at::Device device;

private:
  std::unique_ptr<DataSet> data;
  Learner learner;
  Prefetch batches;
  int64_t number = 0;
};

std::vector<double> Bench::timeWhole(int64_t count) {
  std::vector<Moment> moments;
  moments.emplace_back(device);
  for (int64_t i = 0; i < count; ++i) {
    step();
    moments.emplace_back(device);
  }
  moments.back().wait();
  std::vector<double> times;
  for (int64_t i = 0; i < count; ++i) {
    times.push_back(moments[i].until(moments[i + 1]));
  }
  return times;
}

Timeline::Times Bench::timeParts(int64_t count) {
  Timeline::Times mean;
  for (int64_t i = 0; i < count; ++i) {
    Timeline timeline(device);
    step();
    const Timeline::Times times = timeline.finish();
    for (size_t part = 0; part < kPartNames.size(); ++part) {
      mean.forward[part] += times.forward[part] / double(count);
      mean.backward[part] += times.backward[part] / double(count);
    }
  }
  return mean;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Json partsAsJson(const Timeline::Times &times) {
  double sum = 0;
  for (size_t part = 0; part < kPartNames.size(); ++part) {
    sum += times.forward[part] + times.backward[part];
  }
  Json parts = Json::array();
  for (size_t part = 0; part < kPartNames.size(); ++part) {
    const double forward = times.forward[part], backward = times.backward[part];
    parts.push_back({{"part", kPartNames[part]},
                     {"forward_ms", forward},
                     {"backward_ms", backward},
                     {"share", (forward + backward) / sum}});
  }
  return parts;
}

Json kernelsAsJson(const std::vector<KernelTime> &kernels, int64_t count) {
  Json list = Json::array();
  for (const KernelTime &kernel : kernels) {
    if (int64_t(list.size()) == count) {
      break;
    }
    list.push_back({{"name", kernel.name},
                    {"calls", kernel.calls},
                    {"ms", kernel.milliseconds}});
  }
  return list;
}

int64_t peakBytes(at::Device device) {
  return device.is_cpu() ? 0
                         : at::accelerator::getDeviceStats(device.index())
                               .allocated_bytes[0]
                               .peak;
}

Json measure(const TrainConfig &config, const MeasureOptions &options) {
  Bench bench(config);
  for (int64_t i = 0; i < options.warmup; ++i) {
    bench.step();
  }
  const std::vector<double> times = bench.timeWhole(options.steps);
  const int64_t tokens =
      config.data.batch * config.data.length * config.optimiser.accumulate;
  Json result = {{"model", config.run.name},
                 {"mixer", config.model.mixer},
                 {"convolution_form", config.model.convolutionForm},
                 {"device", config.run.device},
                 {"precision", config.run.precision},
                 {"batch", config.data.batch},
                 {"length", config.data.length},
                 {"accumulate", config.optimiser.accumulate},
                 {"tokens", tokens},
                 {"layers", config.model.layers},
                 {"heads", config.model.heads},
                 {"key_size", config.model.keySize},
                 {"value_size", config.model.valueSize},
                 {"ms", median(times)},
                 {"tokens_per_second", 1e3 * double(tokens) / median(times)},
                 {"peak_bytes", peakBytes(bench.device)},
                 {"ms_of_steps", times}};
  result["parts"] = partsAsJson(bench.timeParts(options.split));
  if (options.kernels > 0) {
    result["kernels"] = kernelsAsJson(
        profileKernels(bench.device, [&] { bench.step(); }), options.kernels);
  }
  result["config"] = listKeys(config);
  return result;
}

/// Appends a line as printf would write it.
template <typename... Values>
void addLine(std::string &text, const char *format, const Values &...values) {
  char line[512];
  std::snprintf(line, sizeof line, format, values...);
  text += std::string(line) + "\n";
}

std::string asText(const Json &result) {
  const auto word = [&](const char *key) {
    return result[key].get<std::string>();
  };
  std::string text;
  addLine(text, "%s, mixer %s, on %s, %s, convolution %s",
          word("model").c_str(), word("mixer").c_str(), word("device").c_str(),
          word("precision").c_str(), word("convolution_form").c_str());
  addLine(text, "a step of %lld tokens: %.2f ms, %.0f tokens/s, peak %.2f GiB",
          (long long)result["tokens"].get<int64_t>(),
          result["ms"].get<double>(), result["tokens_per_second"].get<double>(),
          result["peak_bytes"].get<double>() / double(1 << 30));
  addLine(text, "\n%-12s %12s %12s %8s", "part", "forward ms", "backward ms",
          "share");
  for (const Json &part : result["parts"]) {
    addLine(text, "%-12s %12.3f %12.3f %7.1f%%",
            part["part"].get<std::string>().c_str(),
            part["forward_ms"].get<double>(), part["backward_ms"].get<double>(),
            100 * part["share"].get<double>());
  }
  const Json &mixer = result["parts"][size_t(Part::Mixer)];
  const double calls =
      result["layers"].get<double>() * result["accumulate"].get<double>();
  addLine(text,
          "a mixer, K %lld, V %lld, %lld heads, %lld sequences of %lld tokens: "
          "%.3f ms forward, %.3f backward",
          (long long)result["key_size"].get<int64_t>(),
          (long long)result["value_size"].get<int64_t>(),
          (long long)result["heads"].get<int64_t>(),
          (long long)result["batch"].get<int64_t>(),
          (long long)result["length"].get<int64_t>(),
          mixer["forward_ms"].get<double>() / calls,
          mixer["backward_ms"].get<double>() / calls);
  if (result.contains("kernels")) {
    addLine(text, "\n%10s %6s  %s", "ms a step", "calls", "kernel");
    for (const Json &kernel : result["kernels"]) {
      addLine(text, "%10.3f %6lld  %.120s", kernel["ms"].get<double>(),
              (long long)kernel["calls"].get<int64_t>(),
              kernel["name"].get<std::string>().c_str());
    }
  }
  return text;
}

void writeFile(const std::string &path, const std::string &text) {
  std::ofstream file(path);
  if (!(file << text << std::flush)) {
    throw UserError("cannot write " + path +
                    "; name a path in a folder that exists with --output");
  }
}

} // namespace

TrainStatus measureTraining(const MeasureOptions &options, std::ostream &out) {
  return guarded([&] {
    const TrainConfig config = configToMeasure(options);
    if (config.run.threads > 0) {
      at::set_num_threads(int(config.run.threads));
    }
    const Json result = measure(config, options);
    const std::string text = asText(result);
    if (!options.output.empty()) {
      writeFile(options.output + ".json", result.dump(1) + "\n");
      writeFile(options.output + ".txt", text);
    }
    out << text << std::flush;
    return TrainStatus::Done;
  });
}

} // namespace recurra
