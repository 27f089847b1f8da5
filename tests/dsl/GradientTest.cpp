// The oracle's gradients against derivatives that do not use its rules.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/dsl.h"
#include "ops/catalogue/Catalogue.h"
#include "tests/dsl/EveryOperator.h"
#include "tests/dsl/RandomCall.h"

#include <chrono>
#include <cmath>
#include <gtest/gtest.h>
#include <set>

using namespace recurra;

namespace {

class CatalogueGradient : public testing::TestWithParam<Recurrence> {};

/// States whose update is detached: differences see the dependence on them that
/// the definition hides, so they get no cotangent, and what reads a detached
/// value is differentiable only where the stabiliser cancels.
bool detaches(const Recurrence &recurrence) {
  std::vector<NodeRef> roots;
  roots.reserve(recurrence.states.size());
  for (const State &state : recurrence.states) {
    roots.push_back(state.next);
  }
  for (const NodeRef &node : operandsFirst(roots)) {
    if (node->op == Op::Detach) {
      return true;
    }
  }
  return false;
}

/// The complex step honours detach, so it applies to all entries and
/// cotangents.
void expectVectorProductsAgree(const Recurrence &recurrence,
                               const Sizes &sizes) {
  std::mt19937 random = seeded(42);
  Call call = randomCall(recurrence, sizes, random);
  Values cotangents = randomCotangents(recurrence, call, random);
  Gradients gradients = differentiate(recurrence, call, cotangents);
  for (int trial = 0; trial < 5; ++trial) {
    Gradients direction = randomDirection(call, random);
    double forward = inner(tangent(recurrence, call, direction), cotangents);
    double reverse = inner(gradients, direction);
    EXPECT_NEAR(forward, reverse, 1e-11 * (1 + std::abs(forward)));
  }
}

TEST_P(CatalogueGradient, AgreesWithTheComplexStep) {
  expectVectorProductsAgree(GetParam(), {});
}

TEST_P(CatalogueGradient, AgreesWithTheComplexStepForPackedSequences) {
  expectVectorProductsAgree(GetParam(), {1, 7, 2, 1, {0, 0, 3, 4, 7, 7}});
}

TEST_P(CatalogueGradient, AgreesWithTheComplexStepForGroupsOfHeads) {
  expectVectorProductsAgree(GetParam(), {2, 3, 4, 2, {}});
}

/// One array at a time, every element: a permuted gradient cannot hide.
TEST_P(CatalogueGradient, AgreesWithTheComplexStepElementByElement) {
  std::mt19937 random = seeded(7);
  Call call = randomCall(GetParam(), {1, 3, 2, 2, {}}, random);
  Values cotangents = randomCotangents(GetParam(), call, random);
  Gradients gradients = differentiate(GetParam(), call, cotangents);
  for (const auto &[name, gradient] : gradients.inputs) {
    for (std::size_t i = 0; i < gradient.values.size(); ++i) {
      Gradients direction;
      direction.inputs[name] = gradient;
      direction.inputs[name].values.assign(gradient.values.size(), 0.0);
      direction.inputs[name].values[i] = 1;
      double slope = inner(tangent(GetParam(), call, direction), cotangents);
      EXPECT_NEAR(slope, gradient.values[i], 1e-11 * (1 + std::abs(slope)))
          << name << "[" << i << "]";
    }
  }
}

double lossAt(const Recurrence &recurrence, Call call, const Gradients &step,
              double size, const Values &cotangents) {
  auto move = [size](const Arrays &from, Arrays &to) {
    for (const auto &[name, array] : from) {
      for (std::size_t i = 0; i < array.values.size(); ++i) {
        to.at(name).values[i] += size * array.values[i];
      }
    }
  };
  move(step.inputs, call.inputs);
  move(step.initialStates, call.initialStates);
  return inner(evaluate(recurrence, call), cotangents);
}

/// Central differences know nothing of detach: where a stabiliser is detached,
/// only the outputs, in which it cancels, have cotangents. The 1e-6 in mLSTM's
/// divisor keeps it from cancelling to more than six digits.
TEST_P(CatalogueGradient, AgreesWithCentralDifferences) {
  std::mt19937 random = seeded(11);
  Call call = randomCall(GetParam(), {2, 4, 2, 1, {}}, random);
  Values cotangents = randomCotangents(GetParam(), call, random);
  if (detaches(GetParam())) {
    cotangents.finalStates.clear();
  }
  Gradients gradients = differentiate(GetParam(), call, cotangents);
  double bound = GetParam().name == "mlstm" ? 1e-4 : 1e-7;
  for (int trial = 0; trial < 10; ++trial) {
    Gradients step = randomDirection(call, random);
    double h = 1e-6;
    double slope = (lossAt(GetParam(), call, step, h, cotangents) -
                    lossAt(GetParam(), call, step, -h, cotangents)) /
                   (2 * h);
    EXPECT_NEAR(slope, inner(gradients, step), bound * (1 + std::abs(slope)));
  }
}

/// Gradients through State::initial, and defaults, when no state is passed.
TEST_P(CatalogueGradient, ReachesWhatTheInitialStateIsMadeOf) {
  std::mt19937 random = seeded(3);
  Call call = randomCall(GetParam(), {2, 3, 2, 1, {}}, random);
  call.initialStates.clear();
  call.inputs.erase("scale");
  Values cotangents = randomCotangents(GetParam(), call, random);
  Gradients gradients = differentiate(GetParam(), call, cotangents);
  Gradients direction = randomDirection(call, random);
  double forward = inner(tangent(GetParam(), call, direction), cotangents);
  EXPECT_NEAR(forward, inner(gradients, direction),
              1e-11 * (1 + std::abs(forward)));
  EXPECT_EQ(gradients.inputs.count("scale"), 0u);
}

INSTANTIATE_TEST_SUITE_P(All, CatalogueGradient, testing::ValuesIn(catalogue()),
                         [](const auto &info) { return info.param.name; });

void expectEveryOperator(const Recurrence &recurrence) {
  std::vector<NodeRef> roots;
  for (const State &state : recurrence.states) {
    roots.insert(roots.end(), {state.initial, state.next});
  }
  for (const Output &output : recurrence.outputs) {
    roots.push_back(output.value);
  }
  std::set<Op> used;
  for (const NodeRef &node : operandsFirst(roots)) {
    used.insert(node->op);
  }
  for (Op op : {Op::Constant, Op::Input, Op::State, Op::Extent, Op::Rename,
                Op::At, Op::Select,
#define X(Name, Text) Op::Name,
                RECURRA_UNARY_OPS(X) RECURRA_BINARY_OPS(X) RECURRA_AXIS_OPS(X)
#undef X
       }) {
    EXPECT_EQ(used.count(op), 1u) << spelling(op);
  }
}

TEST(Gradient, AgreesForEveryOperator) {
  Recurrence all = everyOperator();
  expectEveryOperator(all);
  expectVectorProductsAgree(all, {2, 4, 4, 2, {}});
}

TEST(Gradient, IsQuickEnoughToJudgeKernels) {
  const Recurrence &palimpsa = *findRecurrence("palimpsa");
  std::mt19937 random = seeded(1);
  Call shape = randomCall(palimpsa, {1, 1, 1, 1, {}}, random);
  Call call;
  call.batch = 2;
  call.tokens = 130;
  call.heads = 3;
  call.extents = {{"K", 48}, {"V", 96}};
  for (const auto &[name, unused] : shape.inputs) {
    const Input &input = *palimpsa.findInput(name);
    std::int64_t size = input.role == Role::Token ? 2 * 130 * 3 : 3;
    std::vector<std::int64_t> sizes = {2, 130, 3};
    if (input.role != Role::Token) {
      continue;
    }
    for (const std::string &axis : input.axes) {
      sizes.push_back(call.extents[axis]);
      size *= call.extents[axis];
    }
    call.inputs[name] = {sizes,
                         std::vector<double>(size, name == "g" ? -.1 : .1)};
  }
  Values cotangents = evaluate(palimpsa, call);
  auto begin = std::chrono::steady_clock::now();
  differentiate(palimpsa, call, cotangents);
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took.count(), 10);
  RecordProperty("seconds", std::to_string(took.count()));
}

} // namespace
