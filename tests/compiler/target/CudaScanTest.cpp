// Kernels in scan form, run by emulation: the numbers are those of the chunk
// evaluator, at sizes that no tile divides, with weak and with strong decay.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/dsl.h"
#include "ops/catalogue/Catalogue.h"
#include "tests/compiler/ChunkRun.h"
#include "tests/compiler/target/CudaRun.h"
#include "tests/compiler/target/CudaScanCases.h"
#include "tests/dsl/RandomCall.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <regex>

using namespace recurra;
using namespace recurra::dsl;
using Case = recurra::ScanCase;

namespace {

/// Gates of each value's entry, and of each key's with a readout that is not
/// linear and a decay with a parameter.
const std::pair<Recurrence, Recurrence> &vectorGates() {
  static const std::pair recurrences(
      define("value_gates",
             [](Builder &r) {
               Axis K = r.axis("K"), V = r.axis("V");
               Expr q = r.token("q", {K}), k = r.token("k", {K});
               Expr v = r.token("v", {V}), g = r.token("g", {V}, nonPositive);
               dsl::State S = r.state("S", {K, V});
               S = exp(g) * S + k * v;
               r.output("o", sum(q * S, K));
             }),
      define("key_forget", [](Builder &r) {
        Axis K = r.axis("K"), V = r.axis("V");
        Expr q = r.token("q", {K}), k = r.token("k", {K});
        Expr v = r.token("v", {V}), g = r.token("g", {K}, nonPositive);
        Expr rate = r.head("rate", {}, positive);
        Expr prior = r.head("prior", {}, positive);
        dsl::State M = r.state("M", {K, V}), J = r.state("J", {K, V});
        M = exp(g * rate) * M + v * k;
        J = exp(g * rate) * J + square(v) * square(k);
        r.output("o", sum(q * M / (abs(J) + prior), K));
      }));
  return recurrences;
}

/// Recurrences that the catalogue lacks: another gate, another readout.
const Recurrence *findStranger(const std::string &name) {
  static const Recurrence sigmoidGate = define("sigmoid_gate", [](Builder &r) {
    Axis K = r.axis("K"), V = r.axis("V");
    Expr q = r.token("q", {K}), k = r.token("k", {K}), v = r.token("v", {V});
    Expr g = r.token("g", {}), floor = r.head("floor", {}, positive);
    dsl::State S = r.state("S", {K, V}), n = r.state("n", {K, V});
    S = sigmoid(g) * S + v * k;
    n = sigmoid(g) * n + square(v) * square(k);
    r.output("o", sum(q * S / (abs(n) + floor), K));
  });
  // A prepared number that is a sum: the keys' norm.
  static const Recurrence unitKeys = define("unit_keys", [](Builder &r) {
    Axis K = r.axis("K"), V = r.axis("V");
    Expr q = r.token("q", {K}), k = r.token("k", {K});
    Expr v = r.token("v", {V}), g = r.token("g", {}, nonPositive);
    dsl::State S = r.state("S", {K, V});
    S = exp(g) * S + v * detach(l2norm(k, K));
    r.output("o", sum(q * S, K));
  });
  return name == "sigmoid_gate"  ? &sigmoidGate
         : name == "unit_keys"   ? &unitKeys
         : name == "value_gates" ? &vectorGates().first
         : name == "key_forget"  ? &vectorGates().second
                                 : findRecurrence(name);
}

/// The text with one argument's vectors in bf16.
void halve(std::string &text, const std::string &argument) {
  std::smatch found;
  std::string type = "(!chunk.buf<[^>]*)f32>";
  std::regex declaration("%(\\w+): " + type + " \\{chunk.arg = \"" + argument +
                         "\"");
  if (!std::regex_search(text, found, declaration)) {
    return;
  }
  std::string value = "%" + found[1].str();
  std::string indexed = value + "\\[[^\\]]*\\] : ";
  for (const std::string &before :
       {value + ": ", indexed, indexed + "!chunk.tile<[^>]*>, "}) {
    text = std::regex_replace(text, std::regex("(" + before + ")" + type),
                              "$1$2bf16>");
  }
}

/// To the nearest that bf16 has, ties away from zero.
double toHalf(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  return std::ldexp(std::round(std::ldexp(mantissa, 8)), exponent - 8);
}

void halve(Arrays &arrays) {
  for (auto &[name, array] : arrays) {
    for (double &x : array.values) {
      x = toHalf(x);
    }
  }
}

class CudaScanTest : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    const Case &given = GetParam();
    recurrence = findStranger(given.entry);
    Sizes sizes = given.sizes;
    bool hasKeys = recurrence->inputs.front().axes.front() == "K";
    sizes.extents = {{hasKeys ? "K" : "N", given.k},
                     {hasKeys ? "V" : "D", given.v}};
    call = randomCall(*recurrence, sizes, random);
    if (auto gate = call.inputs.find("g"); gate != call.inputs.end()) {
      for (double &x : gate->second.values) {
        x = given.gate ? given.gate : x * given.decay;
        constexpr double strong[] = {-20, -1000,
                                     -std::numeric_limits<double>::infinity()};
        if (given.isMixed && random() % 16 == 0) {
          x = strong[random() % 3];
        }
      }
    }
    if (given.isHalf) {
      halve(call.inputs);
    }
  }

  /// Runs a chunk function; its results are added to `arrays`.
  void run(std::string text, Arrays &arrays, std::int64_t spanTokens = 0) {
    for (std::size_t at = text.find("f64"); at != std::string::npos;
         at = text.find("f64", at + 3)) {
      text.replace(at, 3, "f32");
    }
    for (const char *name : {"q", "k", "v", "beta", "u", "dt", "B", "C"}) {
      if (GetParam().isHalf) {
        halve(text, std::string("input ") + name);
      }
      if (GetParam().isHalf && spanTokens > 0) {
        halve(text, std::string("input-gradient ") + name);
      }
    }
    if (GetParam().isHalf) {
      halve(text, "output-cotangent o");
      halve(text, "output-cotangent y");
    }
    CudaRun kernel(text, /*isScan=*/true, spanTokens, counted);
    ASSERT_EQ(kernel.error, "") << kernel.source;
    source = kernel.source;
    bool isReverse = text.find("output-cotangent") != std::string::npos;
    // Backward, no spans are cut where decays are vectors.
    bool isCut = !isReverse || kernel.source.find("logSums") == text.npos;
    if (spanTokens > 0) {
      EXPECT_EQ(kernel.spanTokens == spanTokens, isCut);
      EXPECT_EQ(GetParam().isHalf && isReverse && isCut,
                kernel.source.find("narrowOrWait<bf16>(") != text.npos);
    }
    // One stage has no room for the words of products by instructions.
    bool isScaled =
        !call.extents.contains("D") && GetParam().name != "OneStage";
    EXPECT_EQ(GetParam().isHalf && isReverse && isScaled,
              kernel.source.find("rowWords[") != std::string::npos);
    kernel.checkpointInterval = interval();
    kernel.partBits = kernel.hasParts ? partBits : 0;
    KernelSizes sizes{call.batch, call.tokens, call.heads, call.group,
                      call.offsets};
    for (auto &[key, array] : kernel.run(sizes, arrays, /*spread=*/true, 2)) {
      arrays[key] = array;
    }
    ASSERT_EQ(kernel.error, "");
    counts = counted.empty() ? 0 : kernel.counts();
  }

  std::function<void(Plan &)> scanPlan() const {
    return [this](Plan &plan) {
      plan.form = "scan";
      plan.axis = call.extents.contains("D") ? "D" : "V";
      plan.interval = interval();
      plan.tile = GetParam().tile;
    };
  }

  /// Fills `arrays`; what the evaluator has.
  Values runForward(ChunkRun &evaluator, Arrays &arrays) {
    Values expected = evaluator.forward();
    EXPECT_EQ(evaluator.error, "");
    add(arrays, Argument::Input, call.inputs);
    add(arrays, Argument::InitialState, call.initialStates);
    run(evaluator.text, arrays);
    return expected;
  }

  /// Compares with the evaluator's gradients, and returns those.
  Gradients runBackward(ChunkRun &evaluator, const Values &cotangents,
                        Arrays &arrays) {
    Gradients gradients = evaluator.backward(cotangents);
    EXPECT_EQ(evaluator.error, "");
    add(arrays, Argument::OutputCotangent, cotangents.outputs);
    add(arrays, Argument::FinalStateCotangent, cotangents.finalStates);
    run(evaluator.text, arrays);
    if (!HasFatalFailure()) {
      // States are walked back by subtraction, which loses digits.
      compare(arrays, gradients.inputs, Argument::InputGradient, 4e-3);
      compare(arrays, gradients.initialStates, Argument::InitialStateGradient,
              4e-3);
    }
    return gradients;
  }

  /// Each gate's gradient to some of its own digits, however small it is.
  static void expectRelative(const Arrays &arrays, const Array &expected) {
    const Array &found =
        arrays.at(keyOf({Argument::InputGradient, "g", DType::F64, {}}));
    for (std::size_t i = 0; i < expected.values.size(); ++i) {
      EXPECT_NEAR(found.values[i], expected.values[i],
                  1e-3 * std::abs(expected.values[i]))
          << "g[" << i << "]";
    }
  }

  static void add(Arrays &arrays, Argument::Kind kind, const Arrays &given) {
    for (auto &[name, array] : given) {
      arrays[keyOf({kind, name, DType::F64, {}})] = array;
    }
  }

  /// For the output o alone, in bf16.
  Values cotangentsOfO() {
    Values cotangents = randomCotangents(*recurrence, call, random);
    cotangents.outputs.erase("o_var");
    halve(cotangents.outputs);
    return cotangents;
  }

  /// Between saved states: two units of tokens, or three, or four.
  static std::int64_t interval() {
    return GetParam().name == "ThreeUnits" ? 48
           : GetParam().sizes.tokens > 100 ? 64
                                           : 32;
  }
  // NOLINTNEXTLINE(bugprone-random-generator-seed): the same inputs always
  std::mt19937 random{3};
  const Recurrence *recurrence = nullptr;
  Call call;
  std::string source;        ///< of the last kernel
  std::int64_t partBits = 0; ///< of its call
  std::string counted;       ///< as CudaRun has it
  std::int64_t counts = 0;   ///< of its call
};

TEST_P(CudaScanTest, AgreesWithTheEvaluator) {
  ChunkRun evaluator(*recurrence, call, scanPlan());
  Arrays arrays;
  Values expected = runForward(evaluator, arrays);
  ASSERT_FALSE(HasFatalFailure());
  compare(arrays, expected.outputs, Argument::Output, 2e-5);
  compare(arrays, expected.finalStates, Argument::FinalState, 2e-5);
  Values cotangents = randomCotangents(*recurrence, call, random);
  if (GetParam().isHalf) {
    halve(cotangents.outputs);
  }
  Gradients gradients = runBackward(evaluator, cotangents, arrays);
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_EQ(source.find("memory: a stage of") != std::string::npos,
            GetParam().name == "OneStage");
  if (GetParam().gate || GetParam().isMixed) {
    expectRelative(arrays, gradients.inputs.at("g"));
  }
}

/// Spans side by side: results, and what is saved on the way, are those of a
/// walk over whole sequences.
class CudaScanSpanTest : public CudaScanTest {
protected:
  static bool isInSample() {
    const std::string &name = GetParam().name;
    return name.ends_with("Half") || name.ends_with("Strong") ||
           std::getenv("RECURRA_TEST_ALL");
  }
};

TEST_P(CudaScanSpanTest, WalksSpansFromWhatEntersThem) {
  ChunkRun evaluator(*recurrence, call, scanPlan());
  Arrays whole, arrays;
  Values expected = runForward(evaluator, whole);
  add(arrays, Argument::Input, call.inputs);
  add(arrays, Argument::InitialState, call.initialStates);
  run(evaluator.text, arrays, GetParam().span);
  ASSERT_FALSE(HasFatalFailure());
  compare(arrays, expected.outputs, Argument::Output, 2e-5);
  compare(arrays, expected.finalStates, Argument::FinalState, 2e-5);
  for (const auto &state : recurrence->states) {
    auto key = keyOf({Argument::Checkpoint, state.name, DType::F64, {}});
    const std::vector<double> &saved = arrays.at(key).values;
    const std::vector<double> &before = whole.at(key).values;
    ASSERT_EQ(saved.size(), before.size());
    for (std::size_t i = 0; i < saved.size(); ++i) {
      // Between packed sequences nothing is saved.
      if (!std::isnan(before[i])) {
        ASSERT_NEAR(saved[i], before[i],
                    2e-5 * std::max(1.0, std::abs(before[i])))
            << key << "[" << i << "]";
      }
    }
  }
}

TEST_P(CudaScanSpanTest, AddsWhatArrivesAtTheEndsOfSpans) {
  if (!isInSample()) {
    GTEST_SKIP() << "under --all";
  }
  ChunkRun evaluator(*recurrence, call, scanPlan());
  Arrays arrays;
  runForward(evaluator, arrays);
  ASSERT_FALSE(HasFatalFailure());
  Values cotangents = randomCotangents(*recurrence, call, random);
  if (GetParam().isHalf) {
    halve(cotangents.outputs);
  }
  Gradients gradients = evaluator.backward(cotangents);
  add(arrays, Argument::OutputCotangent, cotangents.outputs);
  add(arrays, Argument::FinalStateCotangent, cotangents.finalStates);
  Arrays whole = arrays;
  run(evaluator.text, whole);
  run(evaluator.text, arrays, GetParam().span);
  ASSERT_FALSE(HasFatalFailure());
  double tolerance = GetParam().isHalf ? 4e-3 : 1e-4; // halves are stored
  auto compareAll = [&](Argument::Kind kind, Arrays expected) {
    for (auto &[name, array] : expected) {
      array = whole.at(keyOf({kind, name, DType::F64, {}}));
    }
    compare(arrays, expected, kind, tolerance);
  };
  compareAll(Argument::InputGradient, gradients.inputs);
  compareAll(Argument::InitialStateGradient, gradients.initialStates);
  if (GetParam().gate != 0) {
    expectRelative(
        arrays,
        whole.at(keyOf({Argument::InputGradient, "g", DType::F64, {}})));
  }
}

class CudaScanPartsTest : public CudaScanSpanTest {};

/// Parts side by side, of spans or of whole sequences, from what a walk ahead
/// has left. A gradient of a parameter that is no matrix would be a total over
/// a task.
TEST_P(CudaScanPartsTest, WalksPartsToTheBitsOfOneWalk) {
  if (!isInSample()) {
    GTEST_SKIP() << "under --all";
  }
  ChunkRun evaluator(*recurrence, call, scanPlan());
  evaluator.gradients.clear();
  for (const auto &input : recurrence->inputs) {
    if (input.role == Role::Token || input.axes.size() == 2) {
      evaluator.gradients.push_back(input.name);
    }
  }
  Arrays given;
  auto expectSameBits = [&] {
    std::int64_t span = GetParam().span > 0 ? 128 : 0;
    Arrays whole = given, parts = given;
    run(evaluator.text, whole, span);
    partBits = 6;
    run(evaluator.text, parts, span);
    partBits = 0;
    EXPECT_NE(source.find("_nest0_ahead("), std::string::npos);
    for (auto &[key, array] : whole) {
      std::size_t bytes = array.values.size() * sizeof(double);
      const double *found = parts[key].values.data();
      EXPECT_EQ(std::memcmp(array.values.data(), found, bytes), 0) << key;
    }
  };
  runForward(evaluator, given);
  expectSameBits();
  Values cotangents = randomCotangents(*recurrence, call, random);
  if (GetParam().isHalf) {
    halve(cotangents.outputs);
  }
  runBackward(evaluator, cotangents, given);
  expectSameBits();
}

class CudaScanCutsTest : public CudaScanTest {};

/// Of decays that are vectors: a run that is one segment is not looked through
/// for cuts, whatever lies beside its logs.
TEST_P(CudaScanCutsTest, LooksForCutsWhereDecaysAreStrong) {
  counted = "if (!isWhole) {";
  ChunkRun evaluator(*recurrence, call, scanPlan());
  Arrays arrays;
  runForward(evaluator, arrays);
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_EQ(counts > 0, GetParam().decay > 1);
  runBackward(evaluator, randomCotangents(*recurrence, call, random), arrays);
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_EQ(counts > 0, GetParam().decay > 1);
}

/// A loss reads outputs alone, or final states alone.
class CudaScanLossTest : public CudaScanTest {};

TEST_P(CudaScanLossTest, AgreesOnOneKindOfResult) {
  for (bool isOfStates : {true, false}) {
    SCOPED_TRACE(isOfStates ? "states" : "outputs");
    ChunkRun evaluator(*recurrence, call, scanPlan());
    Arrays arrays;
    runForward(evaluator, arrays);
    ASSERT_FALSE(HasFatalFailure());
    (isOfStates ? evaluator.outputs : evaluator.finalStates).clear();
    Values cotangents = randomCotangents(*recurrence, call, random);
    (isOfStates ? cotangents.outputs : cotangents.finalStates).clear();
    runBackward(evaluator, cotangents, arrays);
    ASSERT_FALSE(HasFatalFailure());
  }
}

class CudaScanGradientTest : public CudaScanTest {};

/// A gradient that is asked for alone has all that it needs, sums of vectors
/// that other gradients need besides among it.
TEST_P(CudaScanGradientTest, AgreesOnOneGradient) {
  ChunkRun evaluator(*recurrence, call, scanPlan());
  Arrays saved;
  runForward(evaluator, saved);
  ASSERT_FALSE(HasFatalFailure());
  Values cotangents = randomCotangents(*recurrence, call, random);
  halve(cotangents.outputs);
  for (const char *input : {"q", "g"}) {
    SCOPED_TRACE(input);
    Arrays arrays = saved;
    evaluator.gradients = {input};
    runBackward(evaluator, cotangents, arrays);
    ASSERT_FALSE(HasFatalFailure());
  }
}

class CudaScanFoursTest : public CudaScanTest {};

/// Two or four lanes share the sums of four columns. Where all walking warps
/// have many elements, groups ask for room ahead.
TEST_P(CudaScanFoursTest, LanesShareFourColumns) {
  ChunkRun evaluator(*recurrence, call, scanPlan());
  evaluator.outputs = {"o"};
  Arrays arrays;
  runForward(evaluator, arrays);
  ASSERT_FALSE(HasFatalFailure());
  Values cotangents = cotangentsOfO();
  evaluator.gradients.clear();
  for (const auto &input : recurrence->inputs) {
    if (input.role == Role::Token) {
      evaluator.gradients.push_back(input.name);
    }
  }
  runBackward(evaluator, cotangents, arrays);
  ASSERT_FALSE(HasFatalFailure());
  const char *shared =
      GetParam().entry == "palimpsa" ? "addShares<2>(" : "addShares<4>(";
  EXPECT_NE(source.find(shared), std::string::npos);
  EXPECT_EQ(source.find("isOver(added") != std::string::npos,
            GetParam().name == "Asks");
}

class CudaScanBalanceTest : public CudaScanTest {};

/// The gate's gradient is a total over all states. It is carried from token to
/// token, if no final state's cotangent comes in; the second output's readout
/// has no such balance.
TEST_P(CudaScanBalanceTest, CarriesATotalThatBeginsAtZero) {
  for (bool hasFinals : {false, true}) {
    SCOPED_TRACE(hasFinals ? "final states" : "outputs alone");
    ChunkRun evaluator(*recurrence, call, scanPlan());
    evaluator.outputs = {"o"};
    Arrays arrays;
    runForward(evaluator, arrays);
    ASSERT_FALSE(HasFatalFailure());
    Values cotangents = cotangentsOfO();
    // That of a parameter would be a total of its own.
    evaluator.gradients = {"q", "k", "v", "g", "beta"};
    if (!hasFinals) {
      evaluator.finalStates.clear();
      cotangents.finalStates.clear();
    }
    runBackward(evaluator, cotangents, arrays);
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_EQ(source.find("running -=") != std::string::npos, !hasFinals);
    // On the way to segments' ends a stage has all units of a run.
    EXPECT_EQ(source.find("here.u % 3 == 2") != std::string::npos,
              interval() == 48);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Balances, CudaScanBalanceTest,
    testing::Values(
        Case{"palimpsa",
             "Weak",
             {1, 70, 2, 1, {}, {}},
             24,
             40,
             16,
             0.1,
             0,
             true},
        Case{"palimpsa", "Cut", {2, 45, 2, 1, {}, {}}, 48, 24, 0, 1, 0, true},
        Case{"palimpsa",
             "ThreeUnits",
             {1, 97, 1, 1, {}, {}},
             24,
             16,
             0,
             2,
             0,
             true}),
    [](const auto &info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Fours, CudaScanFoursTest,
    testing::Values(
        Case{"simple_gla", "Two", {1, 20, 1, 1, {}, {}}, 48, 32, 0, 1, 0, true},
        Case{"simple_gla",
             "Four",
             {1, 20, 1, 1, {}, {}},
             112,
             32,
             0,
             1,
             0,
             true},
        Case{"simple_gla",
             "Asks",
             {1, 20, 1, 1, {}, {}},
             128,
             64,
             0,
             1,
             0,
             true},
        Case{"palimpsa", "Rows", {1, 20, 1, 1, {}, {}}, 32, 48, 0, 1, 0, true}),
    [](const auto &info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Gradients, CudaScanGradientTest,
    testing::Values(Case{
        "unit_keys", "", {1, 35, 2, 1, {}, {}}, 18, 20, 0, 1, 0, true}),
    [](const auto &info) { return info.param.entry; });

INSTANTIATE_TEST_SUITE_P(Losses, CudaScanLossTest,
                         testing::ValuesIn(lossCases()),
                         [](const auto &info) { return info.param.entry; });

INSTANTIATE_TEST_SUITE_P(Cases, CudaScanTest, testing::ValuesIn(scanCases()),
                         [](const auto &info) {
                           return info.param.entry + "_" + info.param.name;
                         });

INSTANTIATE_TEST_SUITE_P(VectorCases, CudaScanTest,
                         testing::ValuesIn(vectorCases()),
                         [](const auto &info) {
                           return info.param.entry + "_" + info.param.name;
                         });

INSTANTIATE_TEST_SUITE_P(Cases, CudaScanSpanTest,
                         testing::ValuesIn(spanCases()), [](const auto &info) {
                           return info.param.entry + "_" + info.param.name;
                         });

INSTANTIATE_TEST_SUITE_P(Cases, CudaScanPartsTest,
                         testing::ValuesIn(partsCases()), [](const auto &info) {
                           return info.param.entry + "_" + info.param.name;
                         });

INSTANTIATE_TEST_SUITE_P(
    Cases, CudaScanCutsTest,
    testing::Values(
        Case{"gla", "Weak", {1, 130, 1, 1, {}, {}}, 48, 24, 0, 0.001},
        Case{"gla", "WeakWide", {1, 70, 1, 1, {}, {}}, 72, 16, 0, 0.001},
        Case{"gla", "Strong", {1, 70, 1, 1, {}, {}}, 16, 16, 0, 10}),
    [](const auto &info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(MatrixCases, CudaScanTest,
                         testing::ValuesIn(matrixCases()),
                         [](const auto &info) {
                           return info.param.entry + "_" + info.param.name;
                         });

} // namespace
