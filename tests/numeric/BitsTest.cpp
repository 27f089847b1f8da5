// The same bits: for every run, thread count and batch (the cookbook's C17, in
// this process), from a cold cache and a warm one.
// SPDX-License-Identifier: Apache-2.0
#include "Cases.h"
#include "runtime/ThreadHost.h"

namespace recurra {
namespace {

constexpr Sizes sizes = {.batch = 3, .tokens = 70, .keys = 36, .values = 40};

class BitsTest : public Entry {};

TEST_P(BitsTest, AnyNumberOfThreads) {
  Trial trial = makeTrial(recurrence(), sizes);
  TrialResult expected = runKernels(trial);
  for (int threads : {1, 2, 3, 7}) {
    ThreadHost pool(threads, true);
    recurra_host host = pool.host();
    EXPECT_TRUE(sameBits(runKernels(trial, &host), expected)) << threads;
  }
}

TEST_P(BitsTest, C17EveryRun) {
  Trial trial = makeTrial(recurrence(), sizes);
  TrialResult expected = runKernels(trial);
  ThreadHost pool(2);
  recurra_host host = pool.host();
  for (int run = 0; run < 100; ++run) {
    ASSERT_TRUE(sameBits(runKernels(trial, &host), expected)) << run;
  }
}

/// One batch row, or one sequence, of an array whose leading axis counts them.
Array rowOf(const Array &array, std::int64_t row) {
  Array result = array;
  std::size_t count = array.values.size() / array.sizes[0];
  result.sizes[0] = 1;
  result.values.assign(array.values.begin() + row * count,
                       array.values.begin() + (row + 1) * count);
  return result;
}

Arrays rowsOf(Arrays arrays, std::int64_t row) {
  for (auto &[name, array] : arrays) {
    array = rowOf(array, row);
  }
  return arrays;
}

TEST_P(BitsTest, ARowAloneAndInItsBatch) {
  Trial trial = makeTrial(recurrence(), sizes);
  TrialResult whole = runKernels(trial);
  for (std::int64_t row = 0; row < sizes.batch; ++row) {
    Trial alone = trial;
    alone.call.batch = 1;
    for (const Input &input : recurrence().inputs) {
      if (input.role == Role::Token) {
        Array &array = alone.call.inputs[input.name];
        array = rowOf(array, row);
      }
    }
    alone.call.initialStates = rowsOf(alone.call.initialStates, row);
    alone.cotangents.outputs = rowsOf(alone.cotangents.outputs, row);
    alone.cotangents.finalStates = rowsOf(alone.cotangents.finalStates, row);
    TrialResult result = runKernels(alone);
    TrialResult expected = result; // gradients of parameters sum over rows
    expected.values = {rowsOf(whole.values.outputs, row),
                       rowsOf(whole.values.finalStates, row)};
    expected.gradients.initialStates =
        rowsOf(whole.gradients.initialStates, row);
    for (const Input &input : recurrence().inputs) {
      if (input.role == Role::Token) {
        expected.gradients.inputs[input.name] =
            rowOf(whole.gradients.inputs[input.name], row);
      }
    }
    EXPECT_TRUE(sameBits(result, expected)) << row;
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, BitsTest, testing::ValuesIn(entryNames()),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace recurra
