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
    compareForward(run, call);
    compareBackward(run, call, random);
  }

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
void shortRuns(Plan &plan) { plan.interval = plan.inner = 4; }

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

INSTANTIATE_TEST_SUITE_P(Catalogue, WalkTest, testing::ValuesIn(catalogue()),
                         [](const auto &info) { return info.param.name; });

} // namespace
