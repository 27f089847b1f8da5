// Any sizes: the cookbook's C1 (tokens), C2 (keys and values, NaN all around)
// and C8 (packed sequences), grouped heads, no tokens at all.
// SPDX-License-Identifier: Apache-2.0
#include "Cases.h"
#include "runtime/Draw.h"

namespace recurra {
namespace {

class SizesTest : public Entry {};

TEST_P(SizesTest, C1AnyNumberOfTokensInDouble) {
  for (std::int64_t tokens :
       sampled<std::int64_t>({1, 17, 64, 65}, {1, 2, 15, 16, 17, 31, 32, 33, 63,
                                               64, 65, 127, 128, 129})) {
    SCOPED_TRACE(tokens);
    expectOracle(makeTrial(recurrence(), {.tokens = tokens}, DType::F64));
  }
}

TEST_P(SizesTest, C1AnyNumberOfTokensInSingle) {
  for (std::int64_t tokens :
       sampled<std::int64_t>({2, 63, 129}, {1, 2, 15, 16, 17, 31, 32, 33, 63,
                                            64, 65, 127, 128, 129})) {
    SCOPED_TRACE(tokens);
    expectOracle(makeTrial(recurrence(), {.tokens = tokens}));
  }
}

TEST_P(SizesTest, C2AnyKeysAndValuesAmidNan) {
  using Pair = std::pair<std::int64_t, std::int64_t>;
  std::vector<Pair> all; // each size twice as keys and twice as values
  std::vector<std::int64_t> extents = {8,  16,  31,  48,  60,  64, 65,
                                       96, 100, 128, 192, 256, 320};
  for (std::size_t i = 0; i < extents.size(); ++i) {
    all.emplace_back(extents[i], extents[(i + 1) % extents.size()]);
    all.emplace_back(extents[i], extents[(i + 6) % extents.size()]);
  }
  for (auto [keys, values] : sampled<Pair>({{31, 65}, {100, 8}, {1, 3}}, all)) {
    SCOPED_TRACE(testing::Message() << keys << " x " << values);
    Trial trial = makeTrial(
        recurrence(),
        {.batch = 1, .tokens = 70, .heads = 2, .keys = keys, .values = values});
    trial.gap = 19;
    expectOracle(trial);
  }
}

/// States that fit no cache: scratch comes from the caller, tiles from the
/// plan.
TEST_P(SizesTest, AThousandKeysOrValues) {
  for (auto [keys, values] :
       {std::pair<std::int64_t, std::int64_t>(1000, 7), {7, 1000}}) {
    SCOPED_TRACE(testing::Message() << keys << " x " << values);
    expectOracle(makeTrial(
        recurrence(),
        {.batch = 1, .tokens = 5, .heads = 1, .keys = keys, .values = values}));
  }
}

TEST_P(SizesTest, C8PackedSequences) {
  using Offsets = std::vector<std::int64_t>;
  for (const Offsets &offsets : sampled<Offsets>({{0, 5, 5, 5, 70}, {0, 0, 0}},
                                                 {{0, 0, 16},
                                                  {0, 16, 16},
                                                  {0, 5, 5, 5, 70},
                                                  {0, 0, 0},
                                                  {0, 1, 2, 3, 67},
                                                  {0, 63, 64, 128, 193}})) {
    SCOPED_TRACE(testing::PrintToString(offsets));
    expectOracle(makeTrial(recurrence(),
                           {.batch = 1,
                            .tokens = offsets.back(),
                            .keys = 36,
                            .values = 40,
                            .offsets = offsets},
                           DType::F64));
  }
}

TEST_P(SizesTest, GroupedHeads) {
  expectOracle(makeTrial(
      recurrence(),
      {.tokens = 20, .heads = 6, .group = 3, .keys = 36, .values = 40},
      DType::F64));
}

TEST_P(SizesTest, NoTokensNoBatch) {
  for (Sizes sizes : {Sizes{.tokens = 0}, Sizes{.batch = 0}}) {
    sizes.keys = 12;
    sizes.values = 20;
    expectOracle(makeTrial(recurrence(), sizes, DType::F64));
  }
}

TEST_P(SizesTest, NoHeads) { // which the oracle refuses
  Trial trial = makeTrial(recurrence(), {.keys = 12, .values = 20});
  trial.call.heads = 0;
  drawInputs(recurrence(), trial.call, 1);
  trial.cotangents = drawCotangents(recurrence(), trial.call, 2);
  for (const auto &[name, output] : runKernels(trial).values.outputs) {
    EXPECT_TRUE(output.values.empty()) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, SizesTest, testing::ValuesIn(entryNames()),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace recurra
