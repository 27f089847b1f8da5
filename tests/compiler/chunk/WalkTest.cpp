// The walk form of every entry of the catalogue, in the evaluator, against the
// oracle: ragged, packed, grouped, tiled, with and without given states.
// SPDX-License-Identifier: Apache-2.0
#include "ops/catalogue/Catalogue.h"
#include "tests/compiler/ChunkRun.h"
#include "tests/dsl/RandomCall.h"

#include <gtest/gtest.h>

using namespace recurra;

namespace {

constexpr double tolerance = 1e-10;

struct WalkTest : testing::TestWithParam<Recurrence> {
  /// Forward and backward equal the oracle's.
  void check(const Sizes &sizes, std::function<void(Plan &)> adjust,
             bool givenStates = true) {
    const Recurrence &recurrence = GetParam();
    std::mt19937 random(7);
    Call call = randomCall(recurrence, sizes, random);
    if (!givenStates) {
      call.initialStates.clear();
    }
    ChunkRun run(recurrence, call, adjust);
    run.linearise = linearise;
    compareForward(run, call);
    compareBackward(run, call, random);
  }

  bool linearise = false;

  void compareForward(ChunkRun &run, const Call &call) {
    Values expected = evaluate(GetParam(), call);
    Values values = run.forward();
    ASSERT_EQ(run.error, "") << run.text;
    std::string where;
    EXPECT_LE(distance(values.outputs, expected.outputs, where), tolerance)
        << where << "\n"
        << run.plan << "\n"
        << run.text;
    EXPECT_LE(distance(values.finalStates, expected.finalStates, where),
              tolerance)
        << where << "\n"
        << run.text;
  }

  void compareBackward(ChunkRun &run, const Call &call, std::mt19937 &random) {
    Values cotangents = randomCotangents(GetParam(), call, random);
    Gradients expected = differentiate(GetParam(), call, cotangents);
    Gradients gradients = run.backward(cotangents);
    ASSERT_EQ(run.error, "") << run.text;
    std::string where;
    EXPECT_LE(distance(gradients.inputs, expected.inputs, where), tolerance)
        << where << "\n"
        << run.plan << "\n"
        << run.text;
    EXPECT_LE(distance(gradients.initialStates, expected.initialStates, where),
              tolerance)
        << where << "\n"
        << run.text;
  }
};

/// Runs of four tokens, so that a few tokens make several and a ragged one.
void shortRuns(Plan &plan) { plan.interval = 4; }

void tiles(Plan &plan) {
  shortRuns(plan);
  plan.tile = plan.isFree ? 2 : 0;
}

TEST_P(WalkTest, Whole) { check({2, 11, 2, 1, {}}, shortRuns); }

TEST_P(WalkTest, WithoutGivenStates) {
  check({2, 5, 2, 1, {}}, shortRuns, false);
}

TEST_P(WalkTest, Tiled) { check({2, 9, 2, 1, {}}, tiles); }

TEST_P(WalkTest, OneToken) { check({1, 1, 1, 1, {}}, tiles); }

TEST_P(WalkTest, NoToken) { check({2, 0, 2, 1, {}}, tiles); }

TEST_P(WalkTest, Packed) { check({1, 19, 2, 1, {0, 9, 9, 12, 13, 19}}, tiles); }

TEST_P(WalkTest, Grouped) { check({2, 6, 4, 2, {}}, tiles); }

/// The change of variables first: boundary conversions beside the scan.
TEST_P(WalkTest, Linearised) {
  linearise = true;
  check({2, 9, 2, 1, {}}, tiles);
}

/// One output, one gradient, no final state.
TEST_P(WalkTest, AsAskedFor) {
  const Recurrence &recurrence = GetParam();
  std::mt19937 random(5);
  Call call = randomCall(recurrence, {1, 7, 2, 1, {}}, random);
  Values cotangents = randomCotangents(recurrence, call, random);
  const std::string output = recurrence.outputs.front().name;
  std::erase_if(cotangents.outputs,
                [&](auto &entry) { return entry.first != output; });
  cotangents.finalStates.clear();
  Arrays expected = differentiate(recurrence, call, cotangents).inputs;
  for (const Input &input : recurrence.inputs) {
    ChunkRun run(recurrence, call, tiles);
    run.outputs = {output};
    run.finalStates = {};
    run.gradients = {input.name};
    Arrays found = run.backward(cotangents).inputs;
    ASSERT_EQ(run.error, "");
    EXPECT_EQ(found.size(), 1u);
    std::string where;
    Arrays only{{input.name, expected.at(input.name)}};
    EXPECT_LE(distance(found, only, where), tolerance) << where << run.text;
  }
}

/// Tasks in another order give the same bits.
TEST_P(WalkTest, AnyOrderOfTasks) {
  const Recurrence &recurrence = GetParam();
  std::mt19937 random(5);
  Call call = randomCall(recurrence, {2, 6, 4, 2, {}}, random);
  Values cotangents = randomCotangents(recurrence, call, random);
  std::vector<Gradients> runs;
  for (unsigned seed : {1u, 2u}) {
    ChunkRun run(recurrence, call, tiles);
    run.seed = seed;
    runs.push_back(run.backward(cotangents));
    ASSERT_EQ(run.error, "");
  }
  std::string where;
  EXPECT_EQ(distance(runs[0].inputs, runs[1].inputs, where), 0) << where;
  EXPECT_EQ(distance(runs[0].initialStates, runs[1].initialStates, where), 0)
      << where;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, WalkTest, testing::ValuesIn(catalogue()),
                         [](const auto &info) { return info.param.name; });

} // namespace
