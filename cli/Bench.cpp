// recurra bench: times a recurrence's kernels, forward and with backward.
// SPDX-License-Identifier: Apache-2.0
#include "cli/FmaPeak.h"
#include "cli/Operations.h"
#include "cli/Session.h"
#include "cli/Sizes.h"
#include "cli/TimedCall.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fmt/format.h>

namespace recurra::cli {
namespace {

struct BenchOptions {
  std::string name;
  SpecOptions spec;
  std::int64_t batch = 2, tokens = 1024, heads = 4;
  int threads = 2, rounds = 15;
};

double millisecondsOf(const std::function<void()> &run) {
  auto start = std::chrono::steady_clock::now();
  run();
  std::chrono::duration<double, std::milli> time =
      std::chrono::steady_clock::now() - start;
  return time.count();
}

double median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Call callOf(const Recurrence &recurrence, const BenchOptions &options) {
  Call call;
  call.batch = options.batch;
  call.tokens = options.tokens;
  call.heads = options.heads;
  call.extents = extentsOf(recurrence, options.spec.sizes, 64);
  return call;
}

/// An axis's size, or null where the recurrence has no such axis.
Json extentOf(const Call &call, const std::string &axis) {
  auto found = call.extents.find(axis);
  return found == call.extents.end() ? Json() : Json(found->second);
}

void bench(const Session &session, const BenchOptions &options) {
  Recurrence recurrence = session.find(options.name);
  Call call = callOf(recurrence, options);
  SpecOptions spec = options.spec;
  TimedCall forward(recurrence, call, spec, false, options.threads);
  TimedCall both(recurrence, call, spec, true, options.threads);
  forward.run();
  both.run();
  std::vector<double> forwardTimes, bothTimes;
  for (int round = 0; round < options.rounds; ++round) {
    forwardTimes.push_back(millisecondsOf([&] { forward.run(); }));
    bothTimes.push_back(millisecondsOf([&] { both.run(); }));
  }
  double peak = recurra_fma_peak(options.threads);
  double operations =
      operationsPerToken(recurrence, call.extents) *
      static_cast<double>(call.batch * call.tokens * call.heads);
  double forwardTime = median(forwardTimes), bothTime = median(bothTimes);
  double share = operations / (forwardTime * 1e-3) / peak;
  Json extents = Json::object();
  for (const auto &[axis, size] : call.extents) {
    extents[axis] = size;
  }
  session.answer(
      {{"name", recurrence.name},
       {"B", call.batch},
       {"T", call.tokens},
       {"H", call.heads},
       {"K", extentOf(call, "K")},
       {"V", extentOf(call, "V")},
       {"extents", extents},
       {"dtype", options.spec.dtype},
       {"threads", options.threads},
       {"forward_ms", forwardTime},
       {"forward_backward_ms", bothTime},
       {"fma_share", share},
       {"peak_bytes", both.peakBytes()}},
      fmt::format("{}: B={} T={} H={} sizes {} {}, {} threads\n"
                  "forward              {:9.3f} ms, {:.1f} % of the FMA peak "
                  "of {:.0f} Gflop/s\n"
                  "forward and backward {:9.3f} ms, {:.1f} MiB at the peak\n",
                  recurrence.name, call.batch, call.tokens, call.heads,
                  extents.dump(), options.spec.dtype, options.threads,
                  forwardTime, 100 * share, peak / 1e9, bothTime,
                  static_cast<double>(both.peakBytes()) / (1 << 20)));
}

} // namespace

void addBench(CLI::App &app, Session &session) {
  CLI::App *command =
      app.add_subcommand("bench", "time a recurrence's kernels");
  auto options = std::make_shared<BenchOptions>();
  command->add_option("NAME", options->name, "as `recurra list` shows it")
      ->required();
  auto positive = CLI::Range(std::int64_t(1), std::int64_t(1) << 40);
  command->add_option("-B,--batch", options->batch, "sequences")
      ->capture_default_str()
      ->check(positive);
  command->add_option("-T,--tokens", options->tokens, "of each sequence")
      ->capture_default_str()
      ->check(positive);
  command->add_option("-H,--heads", options->heads, "")
      ->capture_default_str()
      ->check(positive);
  command->add_option("--threads", options->threads, "")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  command->add_option("--rounds", options->rounds, "the median is shown")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  options->spec.add(*command);
  command->footer(
      "fma_share: the operations of the forward step as written (one for each\n"
      "operator and element, a division as one) over the time, as a share of\n"
      "the host's peak of fused multiply-adds, measured in the same run.\n"
      "peak_bytes: results, saved states and workspaces of a forward and a\n"
      "backward call, beside the inputs.");
  command->callback([&session, options] { bench(session, *options); });
}

} // namespace recurra::cli
