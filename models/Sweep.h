// A comparison of mixers: every mixer, learning rate and seed is a run of its
// own, some at a time, and the runs become one file of curves.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Train.h"

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace recurra {

struct SweepOptions {
  std::string config;                 ///< path of the TOML file
  std::vector<std::string> overrides; ///< "table.key=value", for every run
  std::string output;                 ///< folder of the runs and of sweep.json
  std::vector<std::string> mixers = {"palimpsa", "simple_gla"};
  std::vector<double> rates = {3e-3, 6e-3};
  std::vector<int64_t> seeds = {1, 2, 3};
  /// Runs at a time, each a process; they may share a GPU.
  int64_t parallel = 1;
  /// For all runs together: a run ends with it, and none starts after it; 0:
  /// as long as they take.
  double seconds = 0;
  /// As CUDA_VISIBLE_DEVICES names them, for the runs in turn; empty: all that
  /// torch sees, if the runs are to use a GPU.
  std::vector<std::string> gpus;
  /// A run is this command, "train" and its options behind it.
  std::string program = "/proc/self/exe";
};

/// Runs them all into `output`/MIXER-RATE-SEED and writes
///   sweep.json   "runs": mixer, rate, seed, reason, seconds and the curve of
///                validations ("steps", "accuracy", "loss"); "best": for each
///                mixer the accuracy of the best rate by seed, and their mean;
///                "not_started": names of the runs that no time was left for;
///   sweep.txt    the same as a table, also printed to `out`.
/// Both are written anew whenever a run ends. The best rate of a seed is that
/// of the highest last validation accuracy.
/// Status and errors as for train(); a run that fails leaves the others be.
TrainStatus sweep(const SweepOptions &options, std::ostream &out);

} // namespace recurra
