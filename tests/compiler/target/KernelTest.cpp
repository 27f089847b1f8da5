// Every entry of the catalogue, as rec-to-chunk writes it, compiled for AVX-512
// and AVX2 and run: the numbers are those of the chunk evaluator.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/CallCheck.h"
#include "llvm/ADT/StringExtras.h"
#include "ops/catalogue/Catalogue.h"
#include "tests/compiler/ChunkRun.h"
#include "tests/compiler/target/KernelRun.h"
#include "tests/dsl/RandomCall.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace recurra;

namespace {

struct Variant {
  std::string arch, element;
  bool spread = false; ///< strided arguments
};

void replaceAll(std::string &text, const std::string &from,
                const std::string &to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

struct KernelTest : testing::TestWithParam<Recurrence> {
  /// Forward and backward kernels against the evaluator.
  void check(const Sizes &sizes, std::map<std::string, std::int64_t> extents,
             std::function<void(Plan &)> adjust = {}, bool givenStates = true) {
    std::mt19937 random(3);
    const Recurrence &recurrence = GetParam();
    call = enlarge(randomCall(recurrence, sizes, random), extents, random);
    if (!givenStates) {
      call.initialStates.clear();
    }
    ChunkRun evaluator(recurrence, call, [&](Plan &plan) {
      if (adjust) {
        adjust(plan);
      }
      interval = plan.interval;
    });
    Values expected = evaluator.forward();
    ASSERT_EQ(evaluator.error, "");
    std::string forwardText = evaluator.text;
    Values cotangents = randomCotangents(recurrence, call, random);
    Gradients gradients = evaluator.backward(cotangents);
    ASSERT_EQ(evaluator.error, "");
    for (const Variant &variant : wanted.empty() ? variants() : wanted) {
      SCOPED_TRACE(variant.arch + " " + variant.element +
                   (variant.spread ? " strided" : ""));
      Arrays given = givenArrays(cotangents);
      run(forwardText, variant, given);
      compare(given, expected.outputs, Argument::Output, variant);
      compare(given, expected.finalStates, Argument::FinalState, variant);
      run(evaluator.text, variant, given);
      compare(given, gradients.inputs, Argument::InputGradient, variant);
      compare(given, gradients.initialStates, Argument::InitialStateGradient,
              variant);
    }
  }

  /// The call at other extents: every array redrawn from its own values,
  /// vectors scaled to the length that they had, so that delta rules stay
  /// stable.
  static Call enlarge(Call call, std::map<std::string, std::int64_t> extents,
                      std::mt19937 &random) {
    call.extents = std::move(extents);
    auto redraw = [&](const auto &declared, Arrays &arrays) {
      for (const auto &each : declared) {
        Array &array = arrays.at(each.name);
        Array large = makeArray(shapeOf(each, call));
        double growth = static_cast<double>(large.values.size()) /
                        std::max<std::size_t>(array.values.size(), 1);
        bool isRange = llvm::any_of(each.facts, [](const Fact &fact) {
          return fact.kind == Fact::Range;
        });
        double scale = isRange ? 1 : 1 / std::sqrt(growth);
        for (double &value : large.values) {
          value = scale * array.values[random() % array.values.size()];
        }
        array = large;
      }
    };
    redraw(GetParam().inputs, call.inputs);
    redraw(GetParam().states, call.initialStates);
    return call;
  }

  /// Both instruction sets and both types, contiguous and strided.
  static std::vector<Variant> variants() {
    if (!hasAvx512()) {
      return {{"avx2", "f64", false}, {"avx2", "f32", true}};
    }
    return {{"avx2", "f64", false},
            {"avx2", "f32", true},
            {"avx512", "f64", true},
            {"avx512", "f32", false}};
  }

  static bool hasAvx512() {
    return __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl");
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

  /// Adds the results to `given`.
  void run(std::string text, const Variant &variant, Arrays &given) const {
    replaceAll(text, "f64", variant.element);
    KernelRun kernel(text, variant.arch);
    ASSERT_EQ(kernel.error, "") << text;
    kernel.artifact.checkpointInterval = interval;
    KernelSizes sizes{call.batch, call.tokens, call.heads, call.group,
                      call.offsets};
    kernel.piece = 3;
    for (auto &[key, array] : kernel.run(sizes, given, variant.spread)) {
      given[key] = array;
    }
    ASSERT_EQ(kernel.error, "") << text;
  }

  void compare(const Arrays &given, const Arrays &expected, Argument::Kind kind,
               const Variant &variant) const {
    double tolerance = variant.element == "f64" ? 1e-10 : 2e-4;
    for (auto &[name, array] : expected) {
      Arrays found{{name, given.at(keyOf({kind, name, DType::F64, {}}))}};
      std::string where;
      EXPECT_LE(distance(found, {{name, array}}, where), tolerance) << where;
    }
  }

  Call call;
  std::int64_t interval = 0;
  std::vector<Variant> wanted; ///< all if empty
};

/// Sizes that exercise whole vectors, tails and several blocks.
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

void shortRuns(Plan &plan) { plan.interval = 4; }

void tiles(Plan &plan) {
  shortRuns(plan);
  plan.tile = plan.isFree ? 16 : 0;
}

TEST_P(KernelTest, Small) {
  check({2, 11, 2, 1, {}}, extents(GetParam(), 3), shortRuns);
}

TEST_P(KernelTest, Vectors) {
  check({1, 6, 2, 1, {}}, extents(GetParam(), 32), shortRuns);
}

TEST_P(KernelTest, Tails) {
  check({1, 6, 1, 1, {}}, extents(GetParam(), 75), tiles);
}

TEST_P(KernelTest, WithoutGivenStates) {
  wanted = {variants().back()};
  check({2, 5, 2, 1, {}}, extents(GetParam(), 16), shortRuns, false);
}

TEST_P(KernelTest, NoToken) {
  wanted = {variants().back()};
  check({2, 0, 2, 1, {}}, extents(GetParam(), 5), shortRuns);
}

TEST_P(KernelTest, Packed) {
  wanted = {variants().front(), variants().back()};
  check({1, 19, 2, 1, {0, 9, 9, 12, 13, 19}}, extents(GetParam(), 20), tiles);
}

TEST_P(KernelTest, Grouped) {
  wanted = {variants().front(), variants().back()};
  check({2, 6, 4, 2, {}}, extents(GetParam(), 17), shortRuns);
}

/// Whole registers, and no call: neither libm nor memory functions.
void checkAssembly(const std::string &text) {
  KernelRun wide(text, "avx512", /*withAssembly=*/true);
  KernelRun narrow(text, "avx2", /*withAssembly=*/true);
  ASSERT_EQ(wide.error + narrow.error, "");
  EXPECT_NE(wide.assembly.find("%zmm"), std::string::npos);
  EXPECT_NE(narrow.assembly.find("%ymm"), std::string::npos);
  EXPECT_EQ(narrow.assembly.find("%zmm"), std::string::npos);
  for (const KernelRun *run : {&wide, &narrow}) {
    EXPECT_EQ(run->assembly.find("\tcall"), std::string::npos) << text;
  }
}

// Inputs in half precision, so that conversions are covered.
TEST_P(KernelTest, Assembly) {
  std::mt19937 random(3);
  call = enlarge(randomCall(GetParam(), {}, random), extents(GetParam(), 20),
                 random);
  ChunkRun evaluator(GetParam(), call);
  evaluator.backward(randomCotangents(GetParam(), call, random));
  ASSERT_EQ(evaluator.error, "");
  std::string text = evaluator.text;
  for (const char *type : {"f32", "bf16", "f16"}) {
    // Buffers in this type, tiles and arithmetic in f32.
    std::string typed;
    for (llvm::StringRef rest = text; !rest.empty();) {
      auto [head, tail] = rest.split("!chunk.buf<");
      std::string before = head.str();
      replaceAll(before, "f64", "f32");
      auto [axes, behind] = tail.split('>');
      std::string inside = axes.str();
      replaceAll(inside, "f64", type);
      bool isLast = tail.empty();
      typed += before + (isLast ? "" : "!chunk.buf<" + inside + ">");
      rest = behind;
    }
    checkAssembly(typed);
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, KernelTest, testing::ValuesIn(catalogue()),
                         [](const auto &info) { return info.param.name; });

} // namespace
