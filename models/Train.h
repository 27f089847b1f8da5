// The trainer: one call runs a TOML configuration from start, or from its last
// checkpoint, to its end. The `recurra train` command is a face of this.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace recurra {

struct TrainOptions {
  std::string config;                 ///< path of the TOML file
  std::vector<std::string> overrides; ///< "table.key=value", in order
  std::string output; ///< folder of the run; empty: runs/NAME, NAME from config
  bool resume = false; ///< continue from the newest checkpoint in `output`
  /// Replace an earlier run in `output`; else its folder is renamed to
  /// `output`.1, .2, ..
  bool overwrite = false;
  bool quiet = false; ///< no progress on stderr
  /// The step during which this much time has passed since the start is the
  /// last one; 0: as long as it takes.
  double seconds = 0;
};

/// What the process should exit with.
enum class TrainStatus : int {
  Done = 0,     ///< all steps taken, time over, or the target accuracy reached
  Failed = 1,   ///< the training itself broke: not finite, disk full
  BadInput = 2, ///< the configuration, an override, a file or a folder
  MissedTarget = 3,  ///< the end without the target accuracy
  Interrupted = 130, ///< SIGINT or SIGTERM; a checkpoint was written
};

/// Trains. Writes into the output folder
///   config.toml          every key with its value, as the run used it
///   metrics.jsonl        one JSON object a line, "kind" run | train |
///                        validation | end
///   step-000200/         a checkpoint: model.safetensors (the parameters) and
///                        training.safetensors (what --resume needs besides)
/// Progress and errors go to stderr, one line of summary to `out`. Throws
/// nothing: an error is printed as "error: ..." and becomes the status.
TrainStatus train(const TrainOptions &options, std::ostream &out);

/// Prints the model of a configuration to `out` as one JSON object, without
/// making its parameters: "parameters" (count), "trained" (count), "tensors"
/// (name, shape, decay, frozen). Status and errors as for train().
TrainStatus describeModel(const TrainOptions &options, std::ostream &out);

} // namespace recurra
