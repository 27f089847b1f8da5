// Log gates at their ends: the cookbook's C3 (one step of -50), C4 (resets),
// and decay into subnormal numbers. SPDX-License-Identifier: Apache-2.0
#include "Cases.h"
#include "ops/catalogue/Catalogue.h"

#include <cmath>
#include <immintrin.h>
#include <limits>
#include <numeric>

namespace recurra {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

class GatesTest : public Entry {
protected:
  static Array &gate(Trial &trial) { return trial.call.inputs.at("g"); }

  /// Sets the gate of one token, in every row, head and channel.
  static void setToken(Array &gate, std::int64_t token, double value) {
    std::int64_t tokens = gate.sizes[1], inner = 1;
    for (std::size_t i = 2; i < gate.sizes.size(); ++i) {
      inner *= gate.sizes[i];
    }
    for (std::int64_t row = 0; row < gate.sizes[0]; ++row) {
      for (std::int64_t i = 0; i < inner; ++i) {
        gate.values[(row * tokens + token) * inner + i] = value;
      }
    }
  }
};

TEST_P(GatesTest, C3OneStepOfMinusFifty) {
  for (std::int64_t position :
       sampled<std::int64_t>({0, 1, 31, 63, 64, 69}, [] {
         std::vector<std::int64_t> every(70);
         std::iota(every.begin(), every.end(), 0);
         return every;
       }())) {
    for (bool twice : {false, true}) {
      SCOPED_TRACE(position);
      Trial trial = makeTrial(
          recurrence(), {.batch = 1, .tokens = 70, .keys = 36, .values = 40});
      Array &gates = gate(trial);
      std::fill(gates.values.begin(), gates.values.end(), 0);
      setToken(gates, position, -50);
      setToken(gates, std::min<std::int64_t>(position + (twice ? 1 : 0), 69),
               -50);
      expectOracle(trial);
    }
  }
}

TEST_P(GatesTest, C4HardResets) {
  for (double reset : {-1000.0, -infinity}) {
    for (double probability : {0.1, 0.5, 0.9}) {
      for (DType dtype : {DType::F32, DType::BF16}) {
        SCOPED_TRACE(testing::Message() << reset << ' ' << probability);
        Trial trial = makeTrial(
            recurrence(), {.batch = 1, .tokens = 70, .keys = 36, .values = 40},
            dtype);
        std::uint32_t state = 7; // of a generator modulo 2^32
        for (double &value : gate(trial).values) {
          state = state * 1664525 + 1013904223;
          value = state * 0x1p-32 < probability ? reset : value;
        }
        expectOracle(trial);
      }
    }
  }
}

TEST_P(GatesTest, C4MinusInfinityIsMinusThousand) {
  auto run = [&](double reset) {
    Trial trial =
        makeTrial(recurrence(), {.tokens = 40, .keys = 8, .values = 8});
    setToken(gate(trial), 17, reset);
    return runKernels(trial);
  };
  TrialResult infinite = run(-infinity), finite = run(-1000);
  for (const auto &[name, output] : finite.values.outputs) {
    EXPECT_EQ(infinite.values.outputs.at(name).values, output.values) << name;
  }
  for (const auto &[name, gradient] : finite.gradients.inputs) {
    EXPECT_EQ(infinite.gradients.inputs.at(name).values, gradient.values)
        << name;
  }
}

/// The entries with a log gate g.
std::vector<std::string> gatedNames() {
  std::vector<std::string> names;
  for (const Recurrence &recurrence : catalogue()) {
    if (recurrence.findInput("g")) {
      names.push_back(recurrence.name);
    }
  }
  return names;
}

/// A state of ones that decays by e^gate for each of 60 tokens without input.
Trial decaying(double gate, DType dtype) {
  Trial trial =
      makeTrial(*findRecurrence("simple_gla"),
                {.batch = 1, .tokens = 60, .keys = 16, .values = 16}, dtype);
  auto setAll = [](Array &array, double value) {
    std::fill(array.values.begin(), array.values.end(), value);
  };
  setAll(trial.call.inputs.at("v"), 0);
  setAll(trial.call.inputs.at("g"), gate);
  setAll(trial.call.initialStates.at("S"), 1);
  return trial;
}

/// e^-90 is subnormal in f32, where the kernels take it as zero; they leave the
/// caller's thread as it was, whose own setting they keep.
TEST(DecayTest, SubnormalStatesAreZeroInF32) {
  Trial trial = decaying(-1.5, DType::F32);
  unsigned before = _mm_getcsr();
  Array state = runKernels(trial).values.finalStates.at("S");
  EXPECT_EQ(_mm_getcsr() & ~_MM_EXCEPT_MASK, before & ~_MM_EXCEPT_MASK);
  EXPECT_EQ(state.values, std::vector<double>(state.values.size(), 0.0));
  expectOracle(trial);
}

TEST(DecayTest, SubnormalStatesAreKeptInF64) {
  Trial trial = decaying(-12, DType::F64); // e^-720 is subnormal
  Array state = runKernels(trial).values.finalStates.at("S");
  for (double value : state.values) {
    EXPECT_EQ(std::fpclassify(value), FP_SUBNORMAL);
  }
  expectOracle(trial);
}

INSTANTIATE_TEST_SUITE_P(Catalogue, GatesTest, testing::ValuesIn(gatedNames()),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace recurra
