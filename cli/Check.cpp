// recurra check: the kernels against the oracle, values and gradients, over
// sizes, dtypes, packed sequences, groups, states in and out.
// SPDX-License-Identifier: Apache-2.0
#include "cli/CheckCases.h"
#include "cli/Session.h"
#include "cli/Sizes.h"
#include "runtime/ThreadHost.h"
#include "runtime/Trial.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace recurra::cli {
namespace {

struct CheckOptions {
  std::string name, arch = "native", dtype;
  std::vector<std::string> sizes;
  int threads = 2;
};

/// The worst of one tensor over all cases; `share` is error over bound.
struct Worst {
  double share = -1;
  std::string place;
};

/// One tensor's worst, in the order in which the trials name them.
class Findings {
public:
  void add(const CheckCase &trial, const Comparison &comparison) {
    auto [entry, fresh] = places.try_emplace(comparison.what, worst.size());
    if (fresh) {
      worst.emplace_back(comparison.what, Worst());
    }
    double share = comparison.worst.error / comparison.bound;
    Worst &current = worst[entry->second].second;
    if (!(share <= current.share)) {
      current = {share,
                 fmt::format("{} at batch {}, token {}, head {}", trial.label,
                             comparison.worst.batch, comparison.worst.token,
                             comparison.worst.head)};
    }
    good = good && comparison.passed();
  }

  bool passed() const { return good; }

  Json json() const {
    Json result = Json::object();
    for (const auto &[what, value] : worst) {
      result[what] = value.share;
    }
    return result;
  }

  std::string text() const {
    std::string result =
        fmt::format("{:30}{:>12}  {}\n", "", "error/bound", "worst row");
    for (const auto &[what, value] : worst) {
      result += fmt::format("{:30}{:12.3f}  {}{}\n", what, value.share,
                            value.place, value.share <= 1 ? "" : "  TOO FAR");
    }
    return result;
  }

private:
  std::map<std::string, std::size_t> places;
  std::vector<std::pair<std::string, Worst>> worst;
  bool good = true;
};

void check(Session &session, const CheckOptions &options) {
  Recurrence recurrence = session.find(options.name);
  std::vector<CheckCase> cases = checkCases(recurrence, options.sizes);
  Findings findings;
  std::size_t count = 0;
  ThreadHost threads(options.threads);
  recurra_host host = threads.host();
  for (CheckCase &each : cases) {
    if (!options.dtype.empty() && each.trial.dtype != dtypeOf(options.dtype)) {
      continue;
    }
    each.trial.recurrence = &recurrence;
    each.trial.arch = options.arch;
    TrialResult kernels = runKernels(each.trial, &host);
    for (const Comparison &comparison :
         compare(each.trial, kernels, runOracle(each.trial))) {
      findings.add(each, comparison);
    }
    ++count;
  }
  std::string target = "cpu " + options.arch;
  session.status = findings.passed() ? Good : Failed;
  session.answer({{"name", recurrence.name},
                  {"target", target},
                  {"cases", count},
                  {"worst", findings.json()},
                  {"passed", findings.passed()}},
                 findings.text() +
                     fmt::format("{}, {}: {} cases, {}\n", recurrence.name,
                                 target, count,
                                 findings.passed() ? "passed" : "FAILED"));
}

} // namespace

void addCheck(CLI::App &app, Session &session) {
  CLI::App *command = app.add_subcommand(
      "check", "compare a recurrence's kernels with the oracle");
  auto options = std::make_shared<CheckOptions>();
  command->add_option("NAME", options->name, "as `recurra list` shows it")
      ->required();
  command
      ->add_option("--size", options->sizes,
                   "fix the size of an axis, as in --size K=64")
      ->expected(1, -1);
  command->add_option("--dtype", options->dtype,
                      "only f32, f64, f16 or bf16 (default: all)");
  command->add_option("--arch", options->arch, "native, avx512 or avx2")
      ->capture_default_str();
  command->add_option("--threads", options->threads, "")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  command->footer(
      "The oracle walks the definition token by token in double, with\n"
      "gradients by reverse mode. A tensor passes if error/bound is at most 1\n"
      "in its worst row: 16 tokens, or one token's features, of one head.\n"
      "Compared: outputs, final states, the gradient of every input and\n"
      "initial state.");
  command->callback([&session, options] { check(session, *options); });
}

} // namespace recurra::cli
