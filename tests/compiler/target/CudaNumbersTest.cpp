// Every entry of the catalogue as CUDA text, run by emulation: the numbers are
// those of the chunk evaluator. RECURRA_TEST_ALL=1 runs every case.
// SPDX-License-Identifier: Apache-2.0
#include "ops/catalogue/Catalogue.h"
#include "tests/compiler/ChunkRun.h"
#include "tests/compiler/target/CudaRun.h"
#include "tests/dsl/RandomCall.h"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace recurra;

namespace {

struct Case {
  std::string name;
  Sizes sizes;
  std::int64_t extent = 3; ///< of the first axis; the others are a bit larger
  std::int64_t tile = 0;   ///< of the free axis
  bool always = false;     ///< not only under --all
};

std::vector<Case> cases() {
  return {{"Small", {2, 11, 2, 1, {}, {}}, 3, 0, false},
          {"PackedTiles", {1, 9, 2, 1, {0, 5, 5, 6, 9}, {}}, 33, 8, true},
          {"WideTiles", {1, 6, 1, 1, {}, {}}, 37, 32, false},
          {"Grouped", {2, 5, 4, 2, {}, {}}, 17, 4, false},
          {"Large", {1, 3, 1, 1, {}, {}}, 70, 0, false},
          {"NoToken", {2, 0, 2, 1, {}, {}}, 5, 0, false}};
}

void replaceAll(std::string &text, const std::string &from,
                const std::string &to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

std::map<std::string, std::int64_t> extents(const Recurrence &recurrence,
                                            std::int64_t size) {
  std::map<std::string, std::int64_t> sizes = smallExtents(recurrence);
  std::int64_t next = size;
  for (auto &[name, extent] : sizes) {
    if (name != "R") {
      extent = name == "E" ? sizes.at("D") : next;
      next += size > 8 ? 5 : 1;
    }
  }
  return sizes;
}

struct CudaNumbersTest : testing::TestWithParam<std::tuple<Recurrence, Case>> {
  void SetUp() override {
    if (!std::get<1>(GetParam()).always && !std::getenv("RECURRA_TEST_ALL")) {
      GTEST_SKIP() << "under --all";
    }
  }

  Arrays givenArrays(const Values &cotangents) const {
    Arrays given;
    auto add = [&](Argument::Kind kind, const Arrays &arrays) {
      for (auto &[name, array] : arrays) {
        given[keyOf({kind, name, DType::F64, {}})] = array;
      }
    };
    add(Argument::Input, call.inputs);
    add(Argument::InitialState, call.initialStates);
    add(Argument::OutputCotangent, cotangents.outputs);
    add(Argument::FinalStateCotangent, cotangents.finalStates);
    return given;
  }

  void run(std::string text, const std::string &element, Arrays &given) {
    replaceAll(text, "f64", element);
    CudaRun kernel(text);
    ASSERT_EQ(kernel.error, "") << kernel.source;
    kernel.checkpointInterval = interval;
    KernelSizes sizes{call.batch, call.tokens, call.heads, call.group,
                      call.offsets};
    bool isDouble = element == "f64";
    for (auto &[key, array] :
         kernel.run(sizes, given, /*spread=*/!isDouble, isDouble ? 1 : 2)) {
      given[key] = array;
    }
    ASSERT_EQ(kernel.error, "") << kernel.source;
  }

  Call call;
  std::int64_t interval = 0;
};

TEST_P(CudaNumbersTest, AgreeWithTheEvaluator) {
  const auto &[recurrence, given] = GetParam();
  // NOLINTNEXTLINE(bugprone-random-generator-seed): the same inputs always
  std::mt19937 random(3);
  Sizes sizes = given.sizes;
  sizes.extents = extents(recurrence, given.extent);
  call = randomCall(recurrence, sizes, random);
  ChunkRun evaluator(recurrence, call, [&, tile = given.tile](Plan &plan) {
    plan.interval = 4;
    plan.tile = plan.isFree ? tile : 0;
    interval = plan.interval;
  });
  Values expected = evaluator.forward();
  ASSERT_EQ(evaluator.error, "");
  std::string forwardText = evaluator.text;
  Values cotangents = randomCotangents(recurrence, call, random);
  Gradients gradients = evaluator.backward(cotangents);
  ASSERT_EQ(evaluator.error, "");
  for (std::string element : {"f64", "f32"}) {
    SCOPED_TRACE(element);
    // f64 judges the algorithm. f32 adds its own functions and conversions;
    // delta rules with random keys amplify its rounding.
    double tolerance = element == "f64" ? 1e-10 : 5e-3;
    Arrays arrays = givenArrays(cotangents);
    run(forwardText, element, arrays);
    ASSERT_FALSE(HasFatalFailure());
    compare(arrays, expected.outputs, Argument::Output, tolerance);
    compare(arrays, expected.finalStates, Argument::FinalState, tolerance);
    run(evaluator.text, element, arrays);
    ASSERT_FALSE(HasFatalFailure());
    compare(arrays, gradients.inputs, Argument::InputGradient, tolerance);
    compare(arrays, gradients.initialStates, Argument::InitialStateGradient,
            tolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, CudaNumbersTest,
                         testing::Combine(testing::ValuesIn(catalogue()),
                                          testing::ValuesIn(cases())),
                         [](const auto &info) {
                           return std::get<0>(info.param).name + "_" +
                                  std::get<1>(info.param).name;
                         });

} // namespace
