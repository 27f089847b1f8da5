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
  std::vector<double> rates = {1e-3, 4.64e-3};
  std::vector<int64_t> seeds = {1, 2, 3};
  int64_t parallel =
      1; ///< runs at a time, each a process; they may share a GPU
  /// A run is this command, "train" and its options behind it.
  std::string program = "/proc/self/exe";
};

/// Runs them all into `output`/MIXER-RATE-SEED and writes
///   sweep.json   "runs": mixer, rate, seed, reason, seconds and the curve of
///                validations ("steps", "accuracy", "loss"); "best": for each
///                mixer the accuracy of the best rate by seed, and their mean;
///   sweep.txt    the same as a table, also printed to `out`.
/// The best rate of a seed is that of the highest last validation accuracy.
/// Status and errors as for train(); a run that fails leaves the others be.
TrainStatus sweep(const SweepOptions &options, std::ostream &out);

} // namespace recurra
