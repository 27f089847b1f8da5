// Where a slope jumps, the kernels take the oracle's: equal largest entries
// over an axis, equal operands of min and max, and the clamp of log gates.
// SPDX-License-Identifier: Apache-2.0
#include "Cases.h"
#include "dsl/dsl.h"

#include <cmath>

using namespace recurra::dsl;

namespace recurra {
namespace {

constexpr Sizes small = {.tokens = 20, .keys = 7, .values = 9};

void setAll(Array &array, double value) {
  std::fill(array.values.begin(), array.values.end(), value);
}

Recurrence largestRead() {
  return define("largest_read", [](Builder &r) {
    Axis K = r.axis("K"), V = r.axis("V");
    Expr k = r.token("k", {K}), v = r.token("v", {V});
    dsl::State S = r.state("S", {K, V});
    S = 0.5 * S + max(k, v);
    r.output("o", max(k * v, K) + max(S, K) + min(v, sum(k, K)));
  });
}

/// Small whole numbers: most rows have several largest entries.
TEST(KinksTest, TiesShareTheGradientOrTakeTheFirst) {
  Recurrence recurrence = largestRead();
  Trial trial = makeTrial(recurrence, small, DType::F64);
  for (const char *name : {"k", "v"}) {
    for (double &value : trial.call.inputs.at(name).values) {
      value = std::round(value);
    }
  }
  setAll(trial.call.initialStates.at("S"), 0);
  expectOracle(trial);
}

TEST(KinksTest, EqualLargestEntriesShareEqually) {
  Recurrence recurrence = define("largest", [](Builder &r) {
    Axis K = r.axis("K");
    Expr x = r.token("x", {K});
    dsl::State s = r.state("s", {});
    s = s + max(x, K);
    r.output("o", s);
  });
  Trial trial = makeTrial(recurrence, {.tokens = 1, .keys = 4}, DType::F64);
  Array &x = trial.call.inputs.at("x");
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    x.values[i] = i % 4 == 2 ? -1 : 3; // three largest of four
  }
  trial.cotangents.finalStates.clear();
  setAll(trial.cotangents.outputs.at("o"), 6);
  for (const TrialResult &result : {runOracle(trial), runKernels(trial)}) {
    const Array &gradient = result.gradients.inputs.at("x");
    for (std::size_t i = 0; i < gradient.values.size(); ++i) {
      EXPECT_DOUBLE_EQ(gradient.values[i], i % 4 == 2 ? 0 : 2) << i;
    }
  }
}

/// Two inputs that are nonPositive, of which one reaches exp.
Recurrence gateAndDebt() {
  return define("gate_and_debt", [](Builder &r) {
    Axis V = r.axis("V");
    Expr g = r.token("g", {}, nonPositive);
    Expr debt = r.token("debt", {V}, nonPositive);
    dsl::State s = r.state("s", {V});
    s = exp(g) * s + debt;
    r.output("o", s + g);
  });
}

TEST(KinksTest, OnlyLogGatesAreClamped) {
  Recurrence recurrence = gateAndDebt();
  Trial trial = makeTrial(recurrence, {.tokens = 3, .values = 5}, DType::F64);
  setAll(trial.call.inputs.at("g"), -3e4);
  setAll(trial.call.inputs.at("debt"), -2e4);
  setAll(trial.cotangents.outputs.at("o"), 1);
  setAll(trial.cotangents.finalStates.at("s"), 0);
  for (const TrialResult &result : {runOracle(trial), runKernels(trial)}) {
    EXPECT_EQ(result.values.outputs.at("o").values.front(), -3e4);
    EXPECT_EQ(result.gradients.inputs.at("g").values.front(), 0);
    EXPECT_EQ(result.gradients.inputs.at("debt").values.front(), 1);
  }
  expectOracle(trial);
}

/// At the clamp itself the gate still has its slope.
TEST(KinksTest, TheClampBeginsBelowItsNumber) {
  Recurrence recurrence = gateAndDebt();
  for (double gate : {-1e4, std::nextafter(-1e4, -2e4)}) {
    Trial trial = makeTrial(recurrence, {.tokens = 3, .values = 5}, DType::F64);
    setAll(trial.call.inputs.at("g"), gate);
    setAll(trial.cotangents.outputs.at("o"), 1);
    for (const TrialResult &result : {runOracle(trial), runKernels(trial)}) {
      EXPECT_EQ(result.gradients.inputs.at("g").values.front(),
                gate == -1e4 ? 5 : 0);
    }
  }
}

} // namespace
} // namespace recurra
