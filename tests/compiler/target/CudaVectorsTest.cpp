// Definitions whose entries go to memory as vectors, without states or with
// states that are vectors, as CUDA text run by emulation in all layouts of
// memory, against the oracle; and what NVRTC makes of them.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Compiler.h"
#include "compiler/target/cuda/Nvrtc.h"
#include "dsl/dsl.h"
#include "tests/compiler/target/CudaRun.h"
#include "tests/dsl/RandomCall.h"

#include <bit>
#include <cstdlib>
#include <gtest/gtest.h>

using namespace recurra;

namespace {

using namespace recurra::dsl;

/// Sums over the axis, per token; numbers in and out; a value of two inputs.
Recurrence gatedUnit() {
  return define("gated_unit", [](Builder &r) {
    Axis V = r.axis("V");
    Expr x = r.token("x", {V}), skip = r.token("skip", {});
    Expr gate = r.token("gate", {V});
    Expr y = x + skip * silu(gate);
    Expr size = mean(square(y), V) + 0.01;
    r.output("o", y * rsqrt(size) * silu(gate));
    r.output("size", size);
  });
}

/// No sums: the axis may be cut.
Recurrence gatedProduct() {
  return define("gated_product", [](Builder &r) {
    Axis V = r.axis("V");
    Expr gate = r.token("gate", {V}), up = r.token("up", {V});
    r.output("inner", silu(gate) * up / (1 + square(gate)));
  });
}

/// A maximum, a parameter of each head, heads that share an input.
Recurrence softChoice() {
  return define("soft_choice", [](Builder &r) {
    Axis V = r.axis("V");
    Expr x = r.token("x", {V}, perGroup), bias = r.head("bias", {V});
    r.output("p", softmax(x + bias, V));
  });
}

Recurrence numbers() {
  return define("numbers", [](Builder &r) {
    Expr a = r.token("a", {}), b = r.token("b", {}, sharedByAllHeads);
    r.output("c", sigmoid(a) * b);
  });
}

/// Each entry by itself, with those of the tokens before; a number per token.
Recurrence shortFilter() {
  return define("short_filter", [](Builder &r) {
    Axis D = r.axis("D");
    Expr x = r.token("x", {D}), w = r.head("w", {D});
    Expr step = r.token("step", {});
    Expr last = previous(x, "last");
    dsl::State total = r.state("total", {D});
    total = 0.5 * total + step * last;
    r.output("y", w * x + total);
  });
}

/// How tensors lie in memory.
struct Layout {
  bool isSpread;
  std::int64_t shift, gap;
};
constexpr Layout dense{false, 0, 0}, spread{true, 0, 0}, shifted{false, 1, 0},
    apart{false, 0, 16};

/// What the text of each form says of itself.
const std::string points = "No token knows of another",
                  vectors = "One thread for each", walk = "One warp for each";

struct Case {
  // NOLINTNEXTLINE(readability-identifier-naming): GoogleTest's name
  friend void PrintTo(const Case &given, std::ostream *os) {
    *os << given.name;
  }
  std::string name;
  Recurrence (*definition)();
  std::int64_t size;
  Sizes sizes;
  Layout layout;
  std::vector<DType> dtypes = {DType::BF16};
  std::string forward = points, backward = points;
};

const std::vector<DType> allTypes = {DType::F64, DType::F32, DType::F16,
                                     DType::BF16};
const std::vector<DType> twoTypes = {DType::F32, DType::BF16};
const Sizes rows{2, 11, 3, 1, {}, {}}, packed{1, 9, 2, 1, {0, 5, 5, 6, 9}, {}},
    none{2, 0, 3, 1, {}, {}}, single{40, 1, 5, 1, {}, {}},
    grouped{2, 5, 6, 2, {}, {}}, wide{1, 3, 70, 1, {}, {}},
    twoChunks{2, 70, 3, 1, {}, {}};

std::vector<Case> pointCases() {
  std::vector<Case> cases = {
      {"UnitSpread", gatedUnit, 48, rows, spread},
      {"UnitShifted", gatedUnit, 48, rows, shifted},
      {"UnitApart", gatedUnit, 48, rows, apart},
      {"UnitPacked", gatedUnit, 96, packed, dense},
      {"UnitNoToken", gatedUnit, 48, none, dense},
      {"UnitRows", gatedUnit, 24, single, apart},
      {"UnitHeads", gatedUnit, 64, wide, dense},
      {"UnitLong", gatedUnit, 600, wide, dense},
      {"ProductSpread", gatedProduct, 48, rows, spread},
      {"ProductShifted", gatedProduct, 128, rows, shifted},
      {"ProductApart", gatedProduct, 40, packed, apart},
      {"ProductLong", gatedProduct, 2048, single, dense},
      {"Choice", softChoice, 48, grouped, dense, allTypes, points, walk},
      {"ChoiceOdd", softChoice, 37, grouped, shifted, twoTypes, points, walk},
      {"Numbers", numbers, 1, rows, dense, twoTypes, points, walk}};
  for (std::int64_t size : {1, 7, 33, 48, 100}) {
    const std::string number = std::to_string(size);
    cases.push_back({"Unit" + number, gatedUnit, size, rows, dense,
                     size == 48 ? allTypes : twoTypes});
    cases.push_back({"Product" + number, gatedProduct, size, rows, dense,
                     size == 100 ? allTypes : twoTypes});
  }
  return cases;
}

std::vector<Case> filterCases() {
  return {
      {"Filter", shortFilter, 24, twoChunks, dense, twoTypes, vectors, walk},
      {"FilterTiles", shortFilter, 48, twoChunks, dense, twoTypes, vectors,
       walk},
      {"FilterSpread", shortFilter, 64, rows, spread, twoTypes, vectors, walk},
      {"FilterShifted", shortFilter, 64, rows, shifted, twoTypes, vectors,
       walk},
      {"FilterApart", shortFilter, 40, packed, apart, twoTypes, vectors, walk},
      {"FilterNoToken", shortFilter, 16, none, dense, twoTypes, vectors, walk},
      {"FilterOdd", shortFilter, 33, rows, dense, twoTypes, walk, walk}};
}

std::vector<std::pair<Case, DType>> cases() {
  std::vector<std::pair<Case, DType>> each;
  for (const auto &list : {pointCases(), filterCases()}) {
    for (const Case &given : list) {
      for (DType dtype : given.dtypes) {
        each.emplace_back(given, dtype);
      }
    }
  }
  return each;
}

Spec specOf(const Recurrence &recurrence, const Call &call, Direction direction,
            DType dtype) {
  Spec spec;
  spec.target = "cuda";
  spec.arch = "sm_90a";
  spec.direction = direction;
  spec.extents = call.extents;
  spec.group = call.group;
  spec.packed = !call.offsets.empty();
  spec.saveCheckpoints = direction == Direction::Forward;
  for (const recurra::State &state : recurrence.states) {
    spec.initialStates.push_back(state.name);
    spec.finalStates.push_back(state.name);
    if (direction == Direction::Backward) {
      spec.gradients.push_back(state.name);
    }
  }
  for (const Output &output : recurrence.outputs) {
    spec.outputs.push_back(output.name);
    spec.dtypes[output.name] = dtype;
  }
  for (const Input &input : recurrence.inputs) {
    spec.dtypes[input.name] = dtype;
    if (direction == Direction::Backward) {
      spec.gradients.push_back(input.name);
    }
  }
  return spec;
}

Call callOf(const Recurrence &recurrence, Sizes sizes, std::int64_t size,
            std::mt19937 &random) {
  for (const Axis &axis : recurrence.axes) {
    sizes.extents[axis.name] = size;
  }
  return randomCall(recurrence, sizes, random);
}

/// What bf16 keeps, towards zero: every type holds it.
void round(Arrays &arrays) {
  for (auto &[name, array] : arrays) {
    for (double &x : array.values) {
      auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
      x = std::bit_cast<float>(bits & 0xffff0000U);
    }
  }
}

class CudaVectorsTest : public testing::TestWithParam<std::pair<Case, DType>> {
protected:
  static void add(Arrays &arrays, Argument::Kind kind, const Arrays &given) {
    for (auto &[name, array] : given) {
      arrays[keyOf({kind, name, DType::F64, {}})] = array;
    }
  }

  /// Adds the results of one direction to `arrays`. The same on any grid.
  void run(Direction direction, DType dtype, Arrays &arrays) {
    const Layout &layout = GetParam().first.layout;
    std::string text;
    Diagnostics diagnostics;
    Artifact artifact;
    const Spec spec = specOf(recurrence, call, direction, dtype);
    ASSERT_TRUE(plan(recurrence, spec, artifact, diagnostics) &&
                inspect(recurrence, spec, "chunk", text, diagnostics))
        << diagnostics.error;
    CudaRun kernel(text);
    ASSERT_EQ(kernel.error, "") << text;
    const Case &given = GetParam().first;
    const std::string &form =
        direction == Direction::Forward ? given.forward : given.backward;
    EXPECT_NE(kernel.source.find(form), std::string::npos) << kernel.source;
    kernel.checkpointInterval = artifact.checkpointInterval;
    kernel.shift = layout.shift;
    kernel.gap = layout.gap;
    KernelSizes sizes{call.batch, call.tokens, call.heads, call.group,
                      call.offsets};
    const Arrays before = arrays;
    arrays = kernel.run(sizes, before, layout.isSpread, 1);
    const Arrays again = kernel.run(sizes, before, layout.isSpread, 3);
    ASSERT_EQ(kernel.error, "") << kernel.source;
    for (const auto &[key, array] : arrays) {
      // Slots of checkpoints that no sequence fills stay NaN.
      if (key.rfind(std::to_string(Argument::Checkpoint), 0) != 0) {
        EXPECT_EQ(array.values, again.at(key).values) << key;
      }
    }
  }

  // NOLINTNEXTLINE(bugprone-random-generator-seed): the same inputs always
  std::mt19937 random{7};
  Recurrence recurrence;
  Call call;
};

TEST_P(CudaVectorsTest, AgreeWithTheOracle) {
  const auto &[given, dtype] = GetParam();
  if (dtype == DType::F32 && !std::getenv("RECURRA_TEST_ALL")) {
    GTEST_SKIP() << "under --all";
  }
  recurrence = given.definition();
  call = callOf(recurrence, given.sizes, given.size, random);
  round(call.inputs);
  Values cotangents = randomCotangents(recurrence, call, random);
  round(cotangents.outputs);
  const double tolerance = dtype == DType::F64   ? 1e-10
                           : dtype == DType::F32 ? 1e-5
                           : dtype == DType::F16 ? 1e-3
                                                 : 5e-3;
  round(call.initialStates);
  round(cotangents.finalStates);
  Arrays arrays;
  add(arrays, Argument::Input, call.inputs);
  add(arrays, Argument::InitialState, call.initialStates);
  run(Direction::Forward, dtype, arrays);
  ASSERT_FALSE(HasFatalFailure());
  const Values expected = evaluate(recurrence, call);
  compare(arrays, expected.outputs, Argument::Output, tolerance);
  compare(arrays, expected.finalStates, Argument::FinalState, tolerance);
  add(arrays, Argument::OutputCotangent, cotangents.outputs);
  add(arrays, Argument::FinalStateCotangent, cotangents.finalStates);
  run(Direction::Backward, dtype, arrays);
  ASSERT_FALSE(HasFatalFailure());
  const Gradients gradients = differentiate(recurrence, call, cotangents);
  compare(arrays, gradients.inputs, Argument::InputGradient, tolerance);
  compare(arrays, gradients.initialStates, Argument::InitialStateGradient,
          tolerance);
}

INSTANTIATE_TEST_SUITE_P(Cases, CudaVectorsTest, testing::ValuesIn(cases()),
                         [](const auto &info) {
                           return info.param.first.name + "_" +
                                  std::string(name(info.param.second));
                         });

/// Vectors both ways, and nothing leaves the registers.
TEST(CudaVectorsCompileTest, VectorsInRegisters) {
  if (cuda::nvrtcVersion().empty()) {
    GTEST_SKIP() << "no NVRTC here: nothing was compiled for CUDA";
  }
  auto random = seeded(1);
  struct Expected {
    Recurrence (*definition)();
    Direction direction;
    std::string ptx, sass;
  };
  for (const Expected &expected :
       {Expected{gatedUnit, Direction::Forward, "v4", "128"},
        Expected{gatedUnit, Direction::Backward, "v4", "128"},
        Expected{gatedProduct, Direction::Forward, "v4", "128"},
        Expected{gatedProduct, Direction::Backward, "v4", "128"},
        Expected{shortFilter, Direction::Forward, "v2", "64"}}) {
    const Recurrence recurrence = expected.definition();
    for (std::int64_t size : {48, 64, 128}) {
      const Call call = callOf(recurrence, {1, 1, 1, 1, {}, {}}, size, random);
      const Spec spec =
          specOf(recurrence, call, expected.direction, DType::BF16);
      Artifact artifact;
      Diagnostics diagnostics;
      ASSERT_TRUE(compile(recurrence, spec, artifact, diagnostics))
          << diagnostics.error;
      EXPECT_EQ(artifact.nests[0].spillBytes, 0) << recurrence.name;
      EXPECT_LE(artifact.nests[0].registers, 128) << recurrence.name;
      std::string code;
      ASSERT_TRUE(inspect(recurrence, spec, "ptx", code, diagnostics));
      EXPECT_NE(code.find("ld.global.nc." + expected.ptx), std::string::npos);
      EXPECT_NE(code.find("st.global." + expected.ptx), std::string::npos);
      if (inspect(recurrence, spec, "sass", code, diagnostics)) {
        EXPECT_NE(code.find("LDG.E." + expected.sass), std::string::npos);
        EXPECT_NE(code.find("STG.E." + expected.sass), std::string::npos);
      }
    }
  }
}

} // namespace
