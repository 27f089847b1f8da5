// The oracle against closed forms, and the rules of a call.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/CallCheck.h"
#include "dsl/dsl.h"
#include "ops/catalogue/Catalogue.h"
#include "tests/dsl/RandomCall.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

using namespace recurra;

namespace {

constexpr int K = 3, V = 4; ///< sizes that smallExtents gives

Call randomOf(const std::string &name, const Sizes &sizes, unsigned seed = 5) {
  std::mt19937 random = seeded(seed);
  Call call = randomCall(*findRecurrence(name), sizes, random);
  call.initialStates.clear();
  return call;
}

Values run(const std::string &name, const Call &call) {
  return evaluate(*findRecurrence(name), call);
}

/// One head, one row: entry i of token t.
double at(const Array &array, int t, int i, int width) {
  return array.values[t * width + i];
}

double dot(const Array &a, int t, const Array &b, int s) {
  double sum = 0;
  for (int i = 0; i < K; ++i) {
    sum += at(a, t, i, K) * at(b, s, i, K);
  }
  return sum;
}

void fill(Array &array, double value) {
  std::fill(array.values.begin(), array.values.end(), value);
}

void expectNear(const Array &left, const Array &right, double bound) {
  ASSERT_EQ(left.sizes, right.sizes);
  for (std::size_t i = 0; i < left.values.size(); ++i) {
    EXPECT_NEAR(left.values[i], right.values[i], bound) << i;
  }
}

TEST(ClosedForm, LinearAttentionIsCausalAttentionWithoutSoftmax) {
  Call call = randomOf("linear_attention", {1, 6, 1, 1, {}});
  Array o = run("linear_attention", call).outputs["o"];
  double scale = call.inputs["scale"].values[0];
  for (int t = 0; t < 6; ++t) {
    for (int i = 0; i < V; ++i) {
      double expected = 0;
      for (int s = 0; s <= t; ++s) {
        expected += scale * dot(call.inputs["q"], t, call.inputs["k"], s) *
                    at(call.inputs["v"], s, i, V);
      }
      EXPECT_NEAR(at(o, t, i, V), expected, 1e-13);
    }
  }
}

TEST(ClosedForm, SimpleGlaIsTheSameUnderADecayMask) {
  Call call = randomOf("simple_gla", {1, 6, 1, 1, {}});
  Array o = run("simple_gla", call).outputs["o"];
  const Array &g = call.inputs["g"];
  for (int t = 0; t < 6; ++t) {
    for (int i = 0; i < V; ++i) {
      double expected = 0;
      for (int s = 0; s <= t; ++s) {
        double log = 0;
        for (int u = s + 1; u <= t; ++u) {
          log += g.values[u];
        }
        expected += call.inputs["scale"].values[0] * std::exp(log) *
                    dot(call.inputs["q"], t, call.inputs["k"], s) *
                    at(call.inputs["v"], s, i, V);
      }
      EXPECT_NEAR(at(o, t, i, V), expected, 1e-13);
    }
  }
}

/// h_T = x (1 - a^T) / (1 - a), and its slope in the log gate.
TEST(ClosedForm, HgrnOfConstantInputsIsAGeometricSeries) {
  const int tokens = 9;
  Call call = randomOf("hgrn", {1, tokens, 1, 1, {}});
  fill(call.inputs["x"], 0.7);
  fill(call.inputs["g"], -0.3);
  double a = std::exp(-0.3), power = std::pow(a, tokens);
  EXPECT_NEAR(run("hgrn", call).finalStates["h"].values[1],
              0.7 * (1 - power) / (1 - a), 1e-14);
  Values cotangents;
  cotangents.finalStates["h"] = {{1, 1, K}, {0, 1, 0}};
  Array dg =
      differentiate(*findRecurrence("hgrn"), call, cotangents).inputs["g"];
  double sum = 0;
  for (int t = 0; t < tokens; ++t) {
    sum += at(dg, t, 1, K);
  }
  double slope = 0.7 * a * ((1 - power) - tokens * (power / a) * (1 - a)) /
                 ((1 - a) * (1 - a));
  EXPECT_NEAR(sum, slope, 1e-13);
  EXPECT_EQ(at(dg, 4, 0, K), 0);
}

/// Orthonormal keys, step size 1, no decay: an exact key-value memory in which
/// a repeated key overwrites.
TEST(ClosedForm, DeltaRuleStoresAndOverwrites) {
  Call call = randomOf("gated_delta_rule", {1, K + 1, 1, 1, {}});
  fill(call.inputs["g"], 0);
  fill(call.inputs["beta"], 1);
  fill(call.inputs["scale"], 1);
  Array &k = call.inputs["k"];
  fill(k, 0);
  for (int t = 0; t <= K; ++t) {
    k.values[t * K + t % K] = 1; // the last token repeats the first key
  }
  fill(call.inputs["q"], 1);
  Values values = run("gated_delta_rule", call);
  const Array &v = call.inputs["v"];
  for (int key = 0; key < K; ++key) {
    int writer = key == 0 ? K : key;
    for (int i = 0; i < V; ++i) {
      EXPECT_NEAR(values.finalStates["S"].values[key * V + i],
                  at(v, writer, i, V), 1e-14);
    }
  }
}

/// T equal observations: precision prior + T b k^2, mean T v k over it.
TEST(ClosedForm, PalimpsaOfEqualTokensIsAPosterior) {
  const int tokens = 5;
  Call call = randomOf("palimpsa", {1, tokens, 1, 1, {}});
  fill(call.inputs["g"], 0);
  fill(call.inputs["k"], 0.8);
  fill(call.inputs["v"], 1.5);
  fill(call.inputs["beta"], 0.4);
  fill(call.inputs["q"], 2);
  fill(call.inputs["prior"], 0.9);
  fill(call.inputs["scale"], 0.5);
  Values values = run("palimpsa", call);
  double precision = 0.9 + tokens * 0.4 * 0.64;
  EXPECT_NEAR(at(values.outputs["o"], tokens - 1, 2, V),
              0.5 * K * 2 * tokens * 1.5 * 0.8 / precision, 1e-13);
  EXPECT_NEAR(at(values.outputs["o_var"], tokens - 1, 2, V),
              0.5 * K * 4 / precision, 1e-13);
}

TEST(ClosedForm, BothFormsOfPalimpsaAgreeInValuesAndGradients) {
  std::mt19937 random = seeded(9);
  const Recurrence &linear = *findRecurrence("palimpsa");
  const Recurrence &published = *findRecurrence("palimpsa_mu");
  Call call = randomOf("palimpsa", {2, 7, 4, 2, {}});
  Values left = evaluate(linear, call), right = evaluate(published, call);
  expectNear(left.outputs["o"], right.outputs["o"], 1e-12);
  expectNear(left.outputs["o_var"], right.outputs["o_var"], 1e-12);
  Values cotangents = randomCotangents(linear, call, random, {"M", "J"});
  Gradients a = differentiate(linear, call, cotangents);
  Gradients b = differentiate(published, call, cotangents);
  for (const auto &[name, gradient] : a.inputs) {
    expectNear(gradient, b.inputs.at(name), 1e-11);
  }
}

/// Without the stabiliser: h = C'q / max(|n.q|, 1), up to the 1e-6.
TEST(ClosedForm, MlstmIsItsUnstabilisedForm) {
  using namespace recurra::dsl;
  Recurrence plain = define("plain", [](Builder &r) {
    Axis K = r.axis("K"), V = r.axis("V");
    Expr q = r.token("q", {K}), k = r.token("k", {K}), v = r.token("v", {V});
    Expr i = r.token("i", {}), f = r.token("f", {}), s = r.scalar("scale");
    recurra::dsl::State C = r.state("C", {K, V}), n = r.state("n", {K});
    C = sigmoid(f) * C + exp(i) * k * v;
    n = sigmoid(f) * n + exp(i) * k;
    r.output("h", s * sum(C * q, K) / max(abs(s * sum(n * q, K)), 1));
  });
  Call call = randomOf("mlstm", {2, 8, 2, 1, {}});
  expectNear(run("mlstm", call).outputs["h"],
             evaluate(plain, call).outputs["h"], 1e-4);
}

TEST(Oracle, PackedSequencesAreSequencesOnTheirOwn) {
  for (const Recurrence &recurrence : catalogue()) {
    std::mt19937 random = seeded(4);
    Call call = randomCall(recurrence, {1, 5, 2, 1, {0, 2, 2, 5}}, random);
    Values packed = evaluate(recurrence, call);
    for (const State &state : recurrence.states) {
      const Array &first = call.initialStates.at(state.name);
      const Array &last = packed.finalStates.at(state.name);
      std::size_t size = first.values.size() / 3; // the second one is empty
      for (std::size_t i = size; i < 2 * size; ++i) {
        EXPECT_EQ(first.values[i], last.values[i]) << recurrence.name;
      }
    }
    Call tail = call;
    tail.offsets = {0, 3};
    tail.tokens = 3;
    for (auto &[name, array] : tail.inputs) {
      if (recurrence.findInput(name)->role == Role::Token) {
        std::size_t row = array.values.size() / 5;
        array.sizes[1] = 3;
        array.values.erase(array.values.begin(),
                           array.values.begin() + 2 * row);
      }
    }
    for (auto &[name, array] : tail.initialStates) {
      std::size_t size = array.values.size() / 3;
      array.sizes[0] = 1;
      array.values.erase(array.values.begin(), array.values.begin() + 2 * size);
    }
    Values alone = evaluate(recurrence, tail);
    for (const auto &[name, array] : alone.finalStates) {
      const Array &all = packed.finalStates.at(name);
      std::vector<double> third(all.values.end() - array.values.size(),
                                all.values.end());
      EXPECT_EQ(third, array.values) << recurrence.name;
    }
  }
}

TEST(Oracle, NoTokensPassStatesAndCotangentsThrough) {
  for (const Recurrence &recurrence : catalogue()) {
    std::mt19937 random = seeded(4);
    Call call = randomCall(recurrence, {2, 0, 2, 1, {}}, random);
    Values values = evaluate(recurrence, call);
    Values cotangents = randomCotangents(recurrence, call, random);
    Gradients gradients = differentiate(recurrence, call, cotangents);
    for (const auto &[name, array] : call.initialStates) {
      EXPECT_EQ(values.finalStates.at(name).values, array.values);
      EXPECT_EQ(gradients.initialStates.at(name).values,
                cotangents.finalStates.at(name).values);
    }
  }
}

/// -inf, -1e6 and -1e4 forget all and have no gradient.
TEST(Oracle, LogGatesAreClamped) {
  Call call = randomOf("palimpsa", {1, 4, 1, 1, {}});
  call.inputs["g"].values[2] = -std::numeric_limits<double>::infinity();
  Call other = call;
  other.inputs["g"].values[2] = -1e6;
  Values left = run("palimpsa", call), right = run("palimpsa", other);
  EXPECT_EQ(left.outputs["o"].values, right.outputs["o"].values);
  Gradients gradients = differentiate(*findRecurrence("palimpsa"), call, left);
  EXPECT_EQ(gradients.inputs["g"].values[2], 0);
  EXPECT_NE(gradients.inputs["g"].values[3], 0);
  for (const auto &[name, array] : gradients.inputs) {
    for (double value : array.values) {
      EXPECT_TRUE(std::isfinite(value)) << name;
    }
  }
}

TEST(Oracle, AbsentInputsTakeTheirDefaults) {
  Call call = randomOf("palimpsa", {2, 4, 2, 1, {}});
  fill(call.inputs["prior"], 1);
  fill(call.inputs["scale"], 1 / std::sqrt(3.0));
  Call absent = call;
  absent.inputs.erase("prior");
  absent.inputs.erase("scale");
  expectNear(run("palimpsa", call).outputs["o"],
             run("palimpsa", absent).outputs["o"], 1e-15);
  EXPECT_DOUBLE_EQ(
      evaluateDefault(*findRecurrence("palimpsa")->findInput("scale"),
                      {{"K", 64}, {"V", 1}}),
      0.125);
}

/// Value head h reads head h / group of q and k; gradients add over the group.
TEST(Oracle, GroupsShareAHead) {
  Call shared = randomOf("simple_gla", {1, 3, 4, 2, {}});
  Call spread = shared;
  spread.group = 1;
  for (const char *name : {"q", "k"}) {
    const Array &from = shared.inputs[name];
    Array &to = spread.inputs[name];
    to = {{1, 3, 4, K}, {}};
    for (int t = 0; t < 3; ++t) {
      for (int h = 0; h < 4; ++h) {
        auto begin = from.values.begin() + (t * 2 + h / 2) * K;
        to.values.insert(to.values.end(), begin, begin + K);
      }
    }
  }
  Values values = run("simple_gla", shared);
  EXPECT_EQ(values.outputs["o"].values,
            run("simple_gla", spread).outputs["o"].values);
  const Recurrence &gla = *findRecurrence("simple_gla");
  Array one = differentiate(gla, shared, values).inputs["k"];
  Array each = differentiate(gla, spread, values).inputs["k"];
  for (int i = 0; i < K; ++i) {
    EXPECT_NEAR(one.values[i], each.values[i] + each.values[K + i], 1e-13);
  }
}

template <typename Change>
std::string errorOf(Change change) {
  Call call = randomOf("simple_gla", {1, 4, 2, 1, {}});
  change(call);
  try {
    run("simple_gla", call);
  } catch (const UserError &error) {
    return error.what();
  }
  return "no error";
}

TEST(Oracle, NamesWhatIsWrongWithACall) {
  using testing::HasSubstr;
  EXPECT_THAT(errorOf([](Call &c) { c.inputs.erase("q"); }),
              HasSubstr("input 'q' is missing"));
  EXPECT_THAT(errorOf([](Call &c) { c.inputs["w"] = c.inputs["q"]; }),
              HasSubstr("no input 'w'"));
  EXPECT_THAT(errorOf([](Call &c) { c.inputs["q"].sizes[1] = 3; }),
              HasSubstr("input 'q' has sizes [1, 3, 2, 3]"));
  EXPECT_THAT(errorOf([](Call &c) { c.extents.erase("K"); }),
              HasSubstr("axis 'K' has no size"));
  EXPECT_THAT(errorOf([](Call &c) { c.offsets = {0, 3, 2, 4}; }),
              HasSubstr("offsets [0, 3, 2, 4]"));
  EXPECT_THAT(errorOf([](Call &c) { c.group = 3; }),
              HasSubstr("a group divides the heads"));
  EXPECT_THAT(errorOf([](Call &c) { c.initialStates["S"] = {{1}, {0}}; }),
              HasSubstr("initial state 'S'"));
}

std::string sizeMistake(const Recurrence &recurrence,
                        std::map<std::string, std::int64_t> extents) {
  return findSizeMistake(recurrence, extents);
}

TEST(Oracle, NamesSizesThatTheDefinitionForbids) {
  using namespace recurra::dsl;
  using testing::HasSubstr;
  const Recurrence &product = *findRecurrence("gated_delta_product");
  EXPECT_EQ(sizeMistake(product, {{"K", 3}, {"V", 4}, {"R", 2}}), "");
  EXPECT_THAT(sizeMistake(product, {{"K", 3}, {"V", 4}, {"R", 3}}),
              HasSubstr("axis 'R' has size 3; the definition fixes it at 2; "
                        "pass tensors with R = 2"));
  Recurrence open = define("open", [](Builder &r) {
    Axis D = r.axis("D"), E = r.axis("E");
    Expr x = r.token("x", {D}), y = r.token("y", {E});
    r.output("o", rename(x, D, E) + y.at(E, 2));
  });
  EXPECT_EQ(sizeMistake(open, {{"D", 3}, {"E", 3}}), "");
  EXPECT_THAT(sizeMistake(open, {{"D", 4}, {"E", 3}}),
              HasSubstr("rename of axis 'D' to 'E' of another size"));
  EXPECT_THAT(sizeMistake(open, {{"D", 2}, {"E", 2}}),
              HasSubstr("at(E, 2) of an axis of size 2"));
}

} // namespace
