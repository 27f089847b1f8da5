// Draws the sequences of multi-query associative recall.
// SPDX-License-Identifier: Apache-2.0
#include "models/Recall.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace recurra {
namespace {

/// `count` of first .. first + size - 1, without repeat.
std::vector<int64_t> drawDistinct(int64_t first, int64_t size, int64_t count,
                                  Random &random) {
  std::vector<int64_t> pool(size);
  std::iota(pool.begin(), pool.end(), first);
  for (int64_t i = 0; i < count; ++i) {
    std::swap(pool[i], pool[i + random.below(size - i)]);
  }
  pool.resize(count);
  return pool;
}

/// Takes an index at random with the given weights and sets its weight to 0.
int64_t takeWeighted(std::vector<double> &weights, Random &random) {
  double rest =
      random.uniform() * std::accumulate(weights.begin(), weights.end(), 0.0);
  int64_t chosen = -1;
  for (int64_t i = 0; i < int64_t(weights.size()); ++i) {
    if (weights[i] == 0) {
      continue;
    }
    chosen = i;
    rest -= weights[i];
    if (rest < 0) {
      break;
    }
  }
  weights[chosen] = 0;
  return chosen;
}

} // namespace

RecallSequence drawRecall(const RecallShape &shape, Random &random) {
  const int64_t half = shape.vocabulary / 2;
  RecallSequence sequence;
  sequence.tokens.assign(shape.length, 0);
  const std::vector<int64_t> keys =
      drawDistinct(1, half - 1, shape.pairs, random);
  for (int64_t i = 0; i < shape.pairs; ++i) {
    sequence.tokens[2 * i] = keys[i];
    sequence.tokens[2 * i + 1] = half + random.below(half);
  }
  std::vector<double> weights((shape.length - 2 * shape.pairs) / 2);
  for (size_t i = 0; i < weights.size(); ++i) {
    weights[i] = std::pow(double(i + 1), shape.powerA - 1);
  }
  for (int64_t i = 0; i < shape.pairs; ++i) {
    const int64_t position = 2 * (shape.pairs + takeWeighted(weights, random));
    sequence.tokens[position] = keys[i];
    sequence.tokens[position + 1] = sequence.tokens[2 * i + 1];
    sequence.queries.push_back(position);
  }
  return sequence;
}

} // namespace recurra
