// Trials: drawn inputs keep their facts, results meet the oracle, faults show.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Trial.h"

#include "CompilerDouble.h"
#include "dsl/Builder.h"
#include "runtime/ArgumentSizes.h"
#include "runtime/Draw.h"
#include "runtime/ThreadHost.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace recurra {
namespace {

Recurrence withFacts() {
  return dsl::define("facts", [](dsl::Builder &r) {
    Axis K = r.axis("K"), V = r.axis("V");
    dsl::Expr k = r.token("k", {V, K}, dsl::unit(V));
    dsl::Expr g = r.token("g", {}, dsl::nonPositive);
    dsl::Expr b = r.token("b", {K}, dsl::range(2, 3));
    dsl::Expr p = r.head("p", {K}, dsl::positive, dsl::orElse(4));
    dsl::State S = r.state("S", {V, K}, dsl::nonNegative);
    S = dsl::exp(g) * S + dsl::square(k) * b;
    r.output("o", {V, K}, S / p);
  });
}

Call sizes() {
  Call call;
  call.batch = 2;
  call.tokens = 5;
  call.heads = 3;
  call.extents = {{"K", 4}, {"V", 6}};
  return call;
}

TEST(Draw, KeepsTheFacts) {
  Call call = sizes();
  drawInputs(withFacts(), call, 1);
  for (double g : call.inputs["g"].values) {
    EXPECT_LE(g, 0);
  }
  for (double b : call.inputs["b"].values) {
    EXPECT_TRUE(2 <= b && b <= 3);
  }
  for (double p : call.inputs["p"].values) {
    EXPECT_TRUE(2 <= p && p <= 6); // around its default
  }
  for (double s : call.initialStates["S"].values) {
    EXPECT_GE(s, 0);
  }
  const Array &k = call.inputs["k"];
  ASSERT_EQ(k.sizes, (std::vector<std::int64_t>{2, 5, 3, 6, 4}));
  for (int row = 0; row < 2 * 5 * 3; ++row) {
    for (int j = 0; j < 4; ++j) {
      double square = 0;
      for (int i = 0; i < 6; ++i) {
        square += std::pow(k.values[(row * 6 + i) * 4 + j], 2);
      }
      EXPECT_NEAR(square, 1, 1e-12);
    }
  }
}

TEST(Draw, IsTheSameForTheSameSeed) {
  Call a = sizes(), b = sizes(), c = sizes();
  drawInputs(withFacts(), a, 1);
  drawInputs(withFacts(), b, 1);
  drawInputs(withFacts(), c, 2);
  EXPECT_EQ(a.inputs["k"].values, b.inputs["k"].values);
  EXPECT_NE(a.inputs["k"].values, c.inputs["k"].values);
}

Trial runningTrial(const Recurrence &recurrence) {
  Trial trial;
  trial.recurrence = &recurrence;
  trial.arch = "avx2";
  trial.call = sizes();
  trial.call.extents = {{"K", 4}};
  drawInputs(recurrence, trial.call, 7);
  return trial;
}

TEST(ArgumentSizes, KnowsEverySymbol) {
  Call call = sizes();
  call.heads = 4;
  call.group = 2;
  nlohmann::json shape = {"B", "T", "H", "Hg", "N", "S", "17"};
  using Sizes = std::vector<std::int64_t>;
  EXPECT_EQ(sizesOf(shape, call, 4), (Sizes{2, 5, 4, 2, 2, 2 * 5 / 4 + 2, 17}));
  call.batch = 1;
  call.offsets = {0, 2, 2, 5};
  EXPECT_EQ(sequencesIn(call), 3);
  EXPECT_EQ(sizesOf(shape, call, 4), (Sizes{1, 5, 4, 2, 3, 5 / 4 + 3, 17}));
}

TEST(Trial, KernelsMeetTheOracle) {
  Recurrence recurrence = runningSum();
  Trial trial = runningTrial(recurrence);
  trial.gap = 3;
  ThreadHost threads(3, true);
  recurra_host host = threads.host();
  TrialResult oracle = runOracle(trial);
  for (const recurra_host *lent :
       {static_cast<recurra_host *>(nullptr), &host}) {
    std::vector<Comparison> comparisons =
        compare(trial, runKernels(trial, lent), oracle);
    ASSERT_EQ(comparisons.size(), 2u);
    EXPECT_EQ(comparisons[0].what, "output y");
    EXPECT_EQ(comparisons[1].what, "final state S");
    for (const Comparison &comparison : comparisons) {
      EXPECT_TRUE(comparison.passed()) << toText(comparison);
    }
  }
}

TEST(Trial, AWrongResultIsPlaced) {
  Recurrence recurrence = runningSum();
  Trial trial = runningTrial(recurrence);
  TrialResult kernels = runKernels(trial), oracle = runOracle(trial);
  kernels.values.outputs["y"].values[((1 * 5 + 4) * 3 + 2) * 4 + 1] += 0.1;
  Comparison first = compare(trial, kernels, oracle).at(0);
  EXPECT_FALSE(first.passed());
  EXPECT_THAT(toText(first),
              testing::HasSubstr("exceeds 2e-05 at batch 1, token 4, head 2"));
}

/// Only the tensors of the states themselves may be as far off as bf16 is.
TEST(Trial, AStateHasItsOwnDtypeAndBound) {
  Recurrence recurrence = runningSum();
  recurrence.states[0].dtype = DType::BF16;
  Trial trial = runningTrial(recurrence);
  EXPECT_EQ(trial.stateType("S"), DType::BF16);
  EXPECT_NE(trial.rounded().initialStates["S"].values,
            trial.call.initialStates["S"].values);
  TrialResult oracle = runOracle(trial);
  std::vector<Comparison> comparisons = compare(trial, oracle, oracle);
  ASSERT_EQ(comparisons.size(), 2u);
  EXPECT_EQ(comparisons[0].bound, errorBound(DType::F32, false)); // output y
  EXPECT_EQ(comparisons[1].bound, errorBound(DType::BF16, false));
  trial.dtype = DType::F64;
  EXPECT_EQ(trial.stateType("S"), DType::F64);
}

TEST(Trial, TheOracleSeesRoundedInputs) {
  Recurrence recurrence = runningSum();
  Trial trial = runningTrial(recurrence);
  trial.dtypes["x"] = DType::BF16;
  EXPECT_NE(trial.rounded().inputs["x"].values, trial.call.inputs["x"].values);
  EXPECT_EQ(trial.spec(Direction::Forward).dtypes.at("x"), DType::BF16);
  EXPECT_EQ(trial.spec(Direction::Forward).dtypes.at("y"), DType::F32);
}

} // namespace
} // namespace recurra
