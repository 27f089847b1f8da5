// Palimpsa in both forms: the cookbook's C22 and E13, where gates are gone or
// almost 1, and precisions start above their prior.
// SPDX-License-Identifier: Apache-2.0
#include "Cases.h"
#include "ops/catalogue/Catalogue.h"

namespace recurra {
namespace {

/// Gates from the list, in turn; scale 0.1; initial precisions above the prior.
Trial makeC22(const Recurrence &recurrence, DType dtype) {
  Trial trial = makeTrial(
      recurrence, {.tokens = 70, .heads = 2, .keys = 24, .values = 40}, dtype);
  constexpr double gates[] = {0, -1e-6, -1, -40, -1000};
  Array &g = trial.call.inputs.at("g");
  for (std::size_t i = 0; i < g.values.size(); ++i) {
    g.values[i] = gates[i * i % 7 % 5];
  }
  trial.call.inputs.at("scale").values[0] = 0.1;
  auto precision = trial.call.initialStates.find("I");
  if (precision != trial.call.initialStates.end()) {
    const std::vector<double> &prior = trial.call.inputs.at("prior").values;
    std::vector<double> &values = precision->second.values;
    std::size_t perHead = values.size() / (2 * prior.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] += prior[i / perHead % prior.size()];
    }
  }
  return trial;
}

class PalimpsaTest : public Entry {};

TEST_P(PalimpsaTest, C22EveryGateBothOutputsEveryGradient) {
  expectOracle(makeC22(recurrence(), DType::F64));
  expectOracle(makeC22(recurrence(), DType::F32));
}

TEST_P(PalimpsaTest, C22LossOnTheFinalStates) {
  Trial trial = makeC22(recurrence(), DType::F64);
  trial.cotangents.outputs.clear();
  expectOracle(trial);
}

TEST_P(PalimpsaTest, C22UncertaintyAlone) {
  Trial trial = makeC22(recurrence(), DType::F64);
  trial.cotangents.outputs.erase("o");
  trial.cotangents.finalStates.clear();
  expectOracle(trial);
}

INSTANTIATE_TEST_SUITE_P(Forms, PalimpsaTest,
                         testing::Values("palimpsa", "palimpsa_mu"),
                         [](const auto &info) { return info.param; });

/// Both forms are one thing: mu = M / (J + prior), I = J + prior.
TEST(Palimpsa, BothFormsAgree) {
  Sizes sizes = {.tokens = 70, .keys = 24, .values = 40};
  Trial linear = makeTrial(*findRecurrence("palimpsa"), sizes, DType::F64);
  linear.call.initialStates.clear();
  linear.cotangents = {};
  Trial published = linear;
  published.recurrence = findRecurrence("palimpsa_mu");
  Arrays expected = runKernels(linear).values.outputs;
  Arrays outputs = runKernels(published).values.outputs;
  for (const char *name : {"o", "o_var"}) {
    EXPECT_LE(worstRow(outputs.at(name), expected.at(name), Rows::Token).error,
              1e-10)
        << name;
  }
}

} // namespace
} // namespace recurra
