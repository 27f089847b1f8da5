// States whose tensors are not f32, as CUDA text of the whole pipeline, run by
// emulation in walk form and in scan form, against the oracle.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Compiler.h"
#include "ops/catalogue/Catalogue.h"
#include "tests/compiler/target/CudaRun.h"
#include "tests/dsl/RandomCall.h"

#include <bit>
#include <gtest/gtest.h>

using namespace recurra;

namespace {

struct Case {
  // NOLINTNEXTLINE(readability-identifier-naming): GoogleTest's name
  friend void PrintTo(const Case &given, std::ostream *os) {
    *os << given.entry << given.size;
  }
  std::string entry;
  std::int64_t size;
  bool isScan;
};

/// What bf16 keeps, towards zero: f16 and bf16 hold it if it is no larger
/// than a normal draw.
void round(Arrays &arrays) {
  for (auto &[name, array] : arrays) {
    for (double &x : array.values) {
      auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
      x = std::bit_cast<float>(bits & 0xffff0000U);
    }
  }
}

class CudaStatesTest : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    recurrence = *findRecurrence(GetParam().entry);
    recurrence.states[0].dtype = DType::BF16;
    if (recurrence.states.size() > 1) {
      recurrence.states[1].dtype = DType::F16;
    }
    Sizes sizes{1, 21, 2, 1, {}, {}};
    for (const Axis &axis : recurrence.axes) {
      sizes.extents[axis.name] = GetParam().size;
    }
    call = randomCall(recurrence, sizes, random);
    cotangents = randomCotangents(recurrence, call, random);
    round(call.initialStates);
    round(cotangents.finalStates);
  }

  Spec spec(Direction direction) const {
    bool isForward = direction == Direction::Forward;
    Spec spec;
    spec.target = "cuda";
    spec.arch = "sm_90a";
    spec.direction = direction;
    spec.saveCheckpoints = isForward;
    spec.extents = call.extents;
    for (const Output &output : recurrence.outputs) {
      spec.outputs.push_back(output.name);
    }
    for (const Input &input : recurrence.inputs) {
      spec.gradients.push_back(input.name);
    }
    for (const State &state : recurrence.states) {
      spec.initialStates.push_back(state.name);
      spec.finalStates.push_back(state.name);
      spec.gradients.push_back(state.name);
    }
    if (isForward) {
      spec.gradients.clear();
    }
    return spec;
  }

  static void add(Arrays &arrays, Argument::Kind kind, const Arrays &given) {
    for (auto &[name, array] : given) {
      arrays[keyOf({kind, name, DType::F64, {}})] = array;
    }
  }

  /// Adds the results of one direction to `arrays`.
  void run(Direction direction, Arrays &arrays) {
    std::string text;
    Diagnostics diagnostics;
    Artifact artifact;
    ASSERT_TRUE(plan(recurrence, spec(direction), artifact, diagnostics))
        << diagnostics.error;
    ASSERT_TRUE(
        inspect(recurrence, spec(direction), "chunk", text, diagnostics))
        << diagnostics.error;
    std::string tensor = "bf16 {chunk.arg = \"initial-state ";
    EXPECT_NE(text.find(tensor + recurrence.states[0].name), text.npos);
    CudaRun kernel(text, GetParam().isScan);
    ASSERT_EQ(kernel.error, "") << text;
    kernel.checkpointInterval = artifact.checkpointInterval;
    KernelSizes sizes{call.batch, call.tokens, call.heads, call.group,
                      call.offsets};
    for (auto &[key, array] : kernel.run(sizes, arrays, /*spread=*/true, 2)) {
      arrays[key] = array;
    }
    ASSERT_EQ(kernel.error, "");
  }

  // NOLINTNEXTLINE(bugprone-random-generator-seed): the same inputs always
  std::mt19937 random{5};
  Recurrence recurrence;
  Call call;
  Values cotangents;
};

TEST_P(CudaStatesTest, AgreeWithTheOracle) {
  constexpr double arithmetic = 4e-3, tensors = 1.5e-2;
  Values expected = evaluate(recurrence, call);
  Gradients gradients = differentiate(recurrence, call, cotangents);
  Arrays arrays;
  add(arrays, Argument::Input, call.inputs);
  add(arrays, Argument::InitialState, call.initialStates);
  run(Direction::Forward, arrays);
  ASSERT_FALSE(HasFatalFailure());
  compare(arrays, expected.outputs, Argument::Output, arithmetic);
  compare(arrays, expected.finalStates, Argument::FinalState, tensors);
  add(arrays, Argument::OutputCotangent, cotangents.outputs);
  add(arrays, Argument::FinalStateCotangent, cotangents.finalStates);
  run(Direction::Backward, arrays);
  ASSERT_FALSE(HasFatalFailure());
  compare(arrays, gradients.inputs, Argument::InputGradient, arithmetic);
  compare(arrays, gradients.initialStates, Argument::InitialStateGradient,
          tensors);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, CudaStatesTest,
    testing::Values(Case{"palimpsa", 18, true}, Case{"palimpsa", 5, false},
                    Case{"mlstm", 7, false}, Case{"hgrn", 9, false}),
    [](const auto &info) {
      return info.param.entry + "_" + (info.param.isScan ? "Scan" : "Walk");
    });

} // namespace
