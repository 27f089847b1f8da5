// Kinds of calls: the cookbook's C9 (split in two), C10 (losses and states that
// are absent), C13 (dtypes), narrower vectors, and faults that must be seen.
// SPDX-License-Identifier: Apache-2.0
#include "Cases.h"
#include "dsl/CallCheck.h"

namespace recurra {
namespace {

constexpr Sizes small = {.tokens = 40, .keys = 12, .values = 20};

class CallsTest : public Entry {};

TEST_P(CallsTest, C10LossOnFinalStatesOnly) {
  Trial trial = makeTrial(recurrence(), small, DType::F64);
  trial.cotangents.outputs.clear();
  expectOracle(trial);
}

TEST_P(CallsTest, C10LossOnOutputsOnly) {
  Trial trial = makeTrial(recurrence(), small, DType::F64);
  trial.cotangents.finalStates.clear();
  expectOracle(trial);
}

TEST_P(CallsTest, C10NoInitialStates) {
  Trial trial = makeTrial(recurrence(), small, DType::F64);
  trial.call.initialStates.clear();
  trial.gradients.resize(recurrence().inputs.size());
  expectOracle(trial);
}

TEST_P(CallsTest, C10StatesWithoutGradients) {
  Trial trial = makeTrial(recurrence(), small, DType::F64);
  trial.gradients.resize(recurrence().inputs.size());
  expectOracle(trial);
}

TEST_P(CallsTest, C10EachGradientAlone) {
  for (const std::string &wanted : makeTrial(recurrence(), small).gradients) {
    SCOPED_TRACE(wanted);
    Trial trial = makeTrial(recurrence(), small, DType::F64);
    trial.gradients = {wanted};
    expectOracle(trial);
  }
}

TEST_P(CallsTest, C13EveryDtype) {
  for (DType dtype : {DType::F16, DType::BF16}) {
    expectOracle(makeTrial(recurrence(), small, dtype));
  }
}

TEST_P(CallsTest, C13EveryInputOnceInAnotherDtype) {
  DType all[] = {DType::F16, DType::BF16, DType::F64};
  std::size_t turn = 0;
  for (const Input &input : recurrence().inputs) {
    // A dtype each, in turn; in the whole product, each dtype.
    for (DType dtype : sampled<DType>({all[turn++ % 3]},
                                      {DType::F16, DType::BF16, DType::F64})) {
      SCOPED_TRACE(input.name);
      Trial trial = makeTrial(recurrence(), small);
      trial.dtypes[input.name] = dtype;
      expectOracle(trial);
    }
  }
}

/// Their tensors are rounded, arithmetic is not; f64 calls keep f64 states.
TEST_P(CallsTest, C13StatesInOtherDtypes) {
  Recurrence halves = recurrence();
  std::size_t turn = 0;
  for (State &state : halves.states) {
    state.dtype = turn++ % 2 == 0 ? DType::BF16 : DType::F16;
  }
  expectOracle(makeTrial(halves, small));
  Trial packed = makeTrial(halves, {.batch = 1,
                                    .tokens = 40,
                                    .keys = 7,
                                    .values = 9,
                                    .offsets = {0, 0, 1, 30, 40}});
  expectOracle(packed);
  EXPECT_EQ(packed.stateType(halves.states[0].name), DType::BF16);
  expectOracle(makeTrial(halves, small, DType::F64));
}

TEST_P(CallsTest, NarrowVectors) {
  Trial trial =
      makeTrial(recurrence(), {.tokens = 70, .keys = 31, .values = 45});
  trial.arch = "avx2";
  expectOracle(trial);
}

/// The tokens [begin, end) of every token input.
Call part(const Recurrence &recurrence, const Call &whole, std::int64_t begin,
          std::int64_t end) {
  Call call = whole;
  call.tokens = end - begin;
  for (const Input &input : recurrence.inputs) {
    if (input.role != Role::Token) {
      continue;
    }
    const Array &from = whole.inputs.at(input.name);
    Array to = makeArray(shapeOf(input, call));
    std::size_t inner = from.values.size() / (whole.batch * whole.tokens);
    for (std::int64_t b = 0; b < whole.batch; ++b) {
      auto first = from.values.begin() + (b * whole.tokens + begin) * inner;
      std::copy_n(first, (end - begin) * inner,
                  to.values.begin() + b * (end - begin) * inner);
    }
    call.inputs[input.name] = to;
  }
  return call;
}

TEST_P(CallsTest, C9SplitAnywhereThroughTheStates) {
  Trial whole = makeTrial(recurrence(),
                          {.tokens = 70, .keys = 36, .values = 40}, DType::F64);
  whole.cotangents.outputs.clear(); // a loss on the final states
  TrialResult expected = runKernels(whole);
  for (std::int64_t split : {1, 15, 16, 64, 65, 69}) {
    SCOPED_TRACE(split);
    Trial first = whole, second = whole;
    first.call = part(recurrence(), whole.call, 0, split);
    second.call = part(recurrence(), whole.call, split, 70);
    first.gradients.clear();
    second.call.initialStates = runKernels(first).values.finalStates;
    TrialResult late = runKernels(second);
    first.gradients = whole.gradients;
    first.cotangents.finalStates = late.gradients.initialStates;
    TrialResult early = runKernels(first);
    for (const State &state : recurrence().states) {
      EXPECT_LE(worstRow(late.values.finalStates[state.name],
                         expected.values.finalStates[state.name], Rows::State)
                    .error,
                1e-10);
      EXPECT_LE(worstRow(early.gradients.initialStates[state.name],
                         expected.gradients.initialStates[state.name],
                         Rows::State)
                    .error,
                1e-9);
    }
  }
}

TEST_P(CallsTest, FaultsAreSeen) {
  Trial trial = makeTrial(recurrence(), small);
  TrialResult oracle = runOracle(trial), kernels = runKernels(trial);
  auto failures = [&](const TrialResult &result) {
    int count = 0;
    for (const Comparison &comparison : compare(trial, result, oracle)) {
      count += comparison.passed() ? 0 : 1;
    }
    return count;
  };
  ASSERT_EQ(failures(kernels), 0);
  TrialResult zeroedHead = kernels, shifted = kernels, dropped = kernels;
  Array &output =
      zeroedHead.values.outputs.at(recurrence().outputs.front().name);
  std::size_t row = output.values.size() / (2 * 40 * 3);
  for (std::size_t i = 0; i < output.values.size(); ++i) {
    output.values[i] *= i / row % 3 == 1 ? 0 : 1; // head 1
  }
  EXPECT_EQ(failures(zeroedHead), 1);
  Array &later = shifted.values.outputs.at(recurrence().outputs.front().name);
  std::rotate(later.values.begin(), later.values.begin() + 3 * row,
              later.values.end()); // by one token
  EXPECT_EQ(failures(shifted), 1);
  for (auto &[name, gradient] : dropped.gradients.inputs) {
    std::fill(gradient.values.begin(), gradient.values.end(), 0);
  }
  EXPECT_EQ(failures(dropped), static_cast<int>(recurrence().inputs.size()));
}

INSTANTIATE_TEST_SUITE_P(Catalogue, CallsTest, testing::ValuesIn(entryNames()),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace recurra
