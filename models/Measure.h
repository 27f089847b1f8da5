// How fast a configuration trains, and which parts of the model the time of a
// step goes to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Train.h"

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace recurra {

struct MeasureOptions {
  std::string config;                 ///< path of the TOML file
  std::vector<std::string> overrides; ///< "table.key=value", in order
  std::string output;                 ///< writes `output`.json and .txt
  int64_t warmup = 5;                 ///< steps before any is timed
  int64_t steps = 20;                 ///< timed whole; then
  int64_t split = 5;                  ///< so many are timed by part, and
  int64_t kernels = 20; ///< the longest of these, of one more step; 0: none
};

/// Trains for a few steps and prints to `out` a table of
///   tokens a second, from the median of the whole steps;
///   milliseconds of each part, forward and backward, of the split steps, whose
///   marks take some time of their own;
///   peak memory of the device's allocator;
///   the GPU's kernels by the profiler (on the CPU torch's ops, each with those
///   that it calls).
/// A configuration of text is measured on random tokens: it needs no file.
/// Status and errors as for train().
TrainStatus measureTraining(const MeasureOptions &options, std::ostream &out);

} // namespace recurra
