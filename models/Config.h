// The configuration of a training run, as a TOML file spells it. Each member is
// a key of the same name in snake_case, in the table named by its struct.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace recurra {

struct DataConfig {
  /// "recall"; "text"; "random": tokens without sense, to measure speed with.
  std::string kind = "recall";
  std::string path;         ///< text: a file, one token per distinct byte
  int64_t length = 64;      ///< tokens of a sequence
  int64_t batch = 64;       ///< sequences of a forward and backward
  int64_t validation = 512; ///< sequences of a validation
  int64_t pairs = 8;        ///< recall only
  /// recall: the pairs of a training batch are one of these, drawn for it, and
  /// its sequences shorter and more by the same factor; empty: always `pairs`.
  std::vector<int64_t> pairsMixture;
  int64_t vocabulary = 256; ///< recall and random
  double powerA = 0.1;      ///< recall only
};

struct ModelConfig {
  /// "palimpsa"; "simple_gla": the same block without metaplasticity;
  /// "convolution": the recurrence's output is zero; "none": the whole mixer's
  /// output is zero.
  std::string mixer = "palimpsa";
  int64_t vocabulary = 0; ///< 0: as many tokens as the data has
  int64_t layers = 2;
  int64_t width = 64;
  int64_t heads = 4;
  int64_t keySize = 16;
  int64_t valueSize = 16;
  int64_t betaRank = 16;
  int64_t convolution = 4; ///< tokens that the short convolution sees
  /// How it is computed: see Convolution.h.
  std::string convolutionForm = "auto";
  bool fused = true; ///< gates, head norms and activations: see Elementwise.h
  bool mlp = true;   ///< a SwiGLU behind every mixer
  double normEps = 1e-6;
  double initStd = 0.02;
  /// "random": as for language models; "normal", "small", "very_small": a ramp
  /// of decays over the heads.
  std::string gates = "random";
};

struct OptimiserConfig {
  double learningRate = 3e-3;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-15;
  double weightDecay = 0.1;
  double clip = 1.0;          ///< largest norm of the gradient; 0: no clipping
  int64_t accumulate = 1;     ///< batches of a step, their gradients averaged
  int64_t warmup = 100;       ///< steps of linear warm-up
  int64_t steps = 3000;       ///< the cosine ends here, and so does the run
  double finalFraction = 0.1; ///< of the learning rate, at the end
};

struct RunConfig {
  std::string name = "run"; ///< the output folder is runs/NAME unless given
  int64_t seed = 1;
  std::string device = "cpu"; ///< or "cuda"
  /// "bfloat16": torch's autocast; parameters and their updates stay float32.
  std::string precision = "float32";
  int64_t threads = 0; ///< 0: as many as torch finds
  int64_t logEvery = 10;
  int64_t validateEvery = 100;
  int64_t checkpointEvery = 500;
  int64_t keepCheckpoints = 2; ///< older ones are removed
  double targetAccuracy = 0;   ///< of a validation; 0: no target
  bool stopAtTarget = true;
};

struct TrainConfig {
  DataConfig data;
  ModelConfig model;
  OptimiserConfig optimiser;
  RunConfig run;
};

/// Reads a file and applies "table.key=value" overrides in order. Throws
/// UserError for a syntax error, an unknown key (naming the nearest one), a
/// value of the wrong type or out of range, each with file and line.
TrainConfig loadConfig(const std::string &path,
                       const std::vector<std::string> &overrides);

/// Every key as "table.key" with its value as TOML spells it.
std::map<std::string, std::string> listKeys(const TrainConfig &config);

/// The same as a TOML document that loadConfig reads back to equal values.
std::string toToml(const TrainConfig &config);

} // namespace recurra
