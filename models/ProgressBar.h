// The progress of a run on stderr: a bar that redraws itself on a terminal,
// plain lines elsewhere.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace recurra {

class ProgressBar {
public:
  struct Status {
    int64_t step;
    double loss;
    double accuracy; ///< of the last validation; negative: none yet
    double tokensPerSecond;
    double secondsLeft;
  };

  ProgressBar(int64_t totalSteps, bool quiet);
  ~ProgressBar();
  ProgressBar(const ProgressBar &) = delete;

  /// Shows the status: at once on a terminal, else every few seconds and when
  /// `important`.
  void show(const Status &status, bool important = false);
  /// A line of its own above the bar.
  void note(const std::string &line);
  /// Leaves the bar's line; the destructor does so too.
  void finish();

private:
  std::string render(const Status &status) const;
  using Clock = std::chrono::steady_clock;
  int64_t total;
  bool quiet, terminal, drawn = false;
  Clock::time_point lastShown;
};

} // namespace recurra
