// Draws the sequences of multi-query associative recall.
// SPDX-License-Identifier: Apache-2.0
#include "models/Recall.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

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

/// `count` of 1 .. size without repeat, each drawn with weight i^(powerA - 1)
/// of those that are left. An exponential clock with its weight for a rate runs
/// in every slot; the order in which they ring is that of such draws.
std::vector<int64_t> drawWeighted(int64_t size, double powerA, int64_t count,
                                  Random &random) {
  std::vector<std::pair<double, int64_t>> rings(size);
  for (int64_t i = 0; i < size; ++i) {
    const double wait = -std::log1p(-random.uniform());
    rings[i] = {wait * std::pow(double(i + 1), 1 - powerA), i + 1};
  }
  std::partial_sort(rings.begin(), rings.begin() + count, rings.end());
  std::vector<int64_t> slots;
  for (int64_t i = 0; i < count; ++i) {
    slots.push_back(rings[i].second);
  }
  return slots;
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
  const std::vector<int64_t> slots = drawWeighted(
      shape.length / 2 - shape.pairs, shape.powerA, shape.pairs, random);
  for (int64_t i = 0; i < shape.pairs; ++i) {
    const int64_t position = 2 * (shape.pairs + slots[i] - 1);
    sequence.tokens[position] = keys[i];
    sequence.tokens[position + 1] = sequence.tokens[2 * i + 1];
    sequence.queries.push_back(position);
  }
  return sequence;
}

} // namespace recurra
