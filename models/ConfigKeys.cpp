// The table of keys, and the search for the key that was meant.
// SPDX-License-Identifier: Apache-2.0
#include "models/ConfigKeys.h"

#include <algorithm>
#include <numeric>

namespace recurra {

std::vector<Field> fieldsOf(TrainConfig &c) {
  return {
      {"data.kind", &c.data.kind, 0, 0, {"recall", "text", "random"}},
      {"data.path", &c.data.path},
      {"data.length", &c.data.length, 1},
      {"data.batch", &c.data.batch, 1},
      {"data.validation", &c.data.validation, 1},
      {"data.pairs", &c.data.pairs, 1},
      {"data.pairs_mixture", &c.data.pairsMixture, 1},
      {"data.vocabulary", &c.data.vocabulary, 4},
      {"data.power_a", &c.data.powerA},
      {"model.mixer",
       &c.model.mixer,
       0,
       0,
       {"palimpsa", "simple_gla", "convolution", "none"}},
      {"model.vocabulary", &c.model.vocabulary, 0},
      {"model.layers", &c.model.layers, 1},
      {"model.width", &c.model.width, 1},
      {"model.heads", &c.model.heads, 1},
      {"model.key_size", &c.model.keySize, 1},
      {"model.value_size", &c.model.valueSize, 1},
      {"model.beta_rank", &c.model.betaRank, 1},
      {"model.convolution", &c.model.convolution, 1},
      {"model.convolution_form",
       &c.model.convolutionForm,
       0,
       0,
       {"auto", "recurrence", "shifted", "grouped"}},
      {"model.fused", &c.model.fused},
      {"model.mlp", &c.model.mlp},
      {"model.norm_eps", &c.model.normEps, 0},
      {"model.init_std", &c.model.initStd, 0},
      {"model.gates",
       &c.model.gates,
       0,
       0,
       {"random", "normal", "small", "very_small"}},
      {"optimiser.learning_rate", &c.optimiser.learningRate, 0},
      {"optimiser.beta1", &c.optimiser.beta1, 0, 1},
      {"optimiser.beta2", &c.optimiser.beta2, 0, 1},
      {"optimiser.eps", &c.optimiser.eps, 0},
      {"optimiser.weight_decay", &c.optimiser.weightDecay, 0},
      {"optimiser.clip", &c.optimiser.clip, 0},
      {"optimiser.accumulate", &c.optimiser.accumulate, 1},
      {"optimiser.warmup", &c.optimiser.warmup, 0},
      {"optimiser.steps", &c.optimiser.steps, 1},
      {"optimiser.final_fraction", &c.optimiser.finalFraction, 0, 1},
      {"run.name", &c.run.name},
      {"run.seed", &c.run.seed, 0},
      {"run.device", &c.run.device, 0, 0, {"cpu", "cuda"}},
      {"run.precision", &c.run.precision, 0, 0, {"float32", "bfloat16"}},
      {"run.threads", &c.run.threads, 0},
      {"run.log_every", &c.run.logEvery, 1},
      {"run.validate_every", &c.run.validateEvery, 1},
      {"run.checkpoint_every", &c.run.checkpointEvery, 1},
      {"run.keep_checkpoints", &c.run.keepCheckpoints, 1},
      {"run.target_accuracy", &c.run.targetAccuracy, 0, 1},
      {"run.stop_at_target", &c.run.stopAtTarget},
  };
}

namespace {

/// Levenshtein's distance.
size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1,
                         diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

} // namespace

std::string nearestKey(const std::vector<Field> &fields,
                       const std::string &key) {
  const auto last = [](const std::string &k) {
    return k.substr(k.rfind('.') + 1);
  };
  const auto distance = [&](const Field &field) {
    return std::min(editDistance(field.key, key),
                    editDistance(last(field.key), last(key)) + 1);
  };
  return std::min_element(fields.begin(), fields.end(),
                          [&](const Field &a, const Field &b) {
                            return distance(a) < distance(b);
                          })
      ->key;
}

} // namespace recurra
