// The canonical text: goldens, round trips, and what the hash depends on.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/Text.h"

#include "dsl/dsl.h"
#include "ops/catalogue/Catalogue.h"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <sstream>

using namespace recurra::dsl;
using recurra::hash;
using recurra::Locations;
using recurra::parse;
using recurra::toText;
using testing::HasSubstr;

namespace {

bool updateGolden = false;

std::string goldenPath(const std::string &name) {
  return std::string(RECURRA_GOLDEN_DIR) + "/" + name + ".txt";
}

std::string readFile(const std::string &path) {
  std::ifstream file(path);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

class CatalogueText : public testing::TestWithParam<Recurrence> {};

TEST_P(CatalogueText, IsTheGolden) {
  std::string text = toText(GetParam());
  if (updateGolden) {
    std::ofstream(goldenPath(GetParam().name)) << text;
  }
  EXPECT_EQ(text, readFile(goldenPath(GetParam().name)))
      << "run recurraDslTests --update-golden and read the difference";
}

TEST_P(CatalogueText, ParsesBackToTheSameValue) {
  Recurrence again = parse(toText(GetParam()));
  EXPECT_EQ(toText(again), toText(GetParam()));
  EXPECT_EQ(hash(again), hash(GetParam()));
}

TEST_P(CatalogueText, KeepsEveryLineOfItsDefinition) {
  std::string text = toText(GetParam(), Locations::Keep);
  Recurrence again = parse(text);
  EXPECT_EQ(toText(again, Locations::Keep), text);
  EXPECT_EQ(toText(again), toText(GetParam()));
  EXPECT_EQ(again.warnings, GetParam().warnings);
}

INSTANTIATE_TEST_SUITE_P(All, CatalogueText,
                         testing::ValuesIn(recurra::catalogue()),
                         [](const auto &info) { return info.param.name; });

// What the text and the hash depend on.

struct Order {
  bool vFirst = false, jFirst = false, swapAxes = false;
};

/// Palimpsa with other C++ names and orders of independent declarations.
Recurrence shuffled(const Order &order, const std::string &name = "shuffled") {
  return define(name, [&](Builder &b) {
    Axis second = order.swapAxes ? b.axis("V") : b.axis("K");
    Axis first = order.swapAxes ? b.axis("K") : b.axis("V");
    const Axis &keys = order.swapAxes ? first : second;
    const Axis &values = order.swapAxes ? second : first;
    Expr prior = b.head("prior", {}, positive, orElse(1));
    Expr value = order.vFirst ? b.token("v", {values}) : Expr();
    Expr q = b.token("q", {keys}, perGroup), k = b.token("k", {keys}, perGroup);
    value = order.vFirst ? value : b.token("v", {values});
    Expr step = b.token("beta", {values}, nonNegative);
    Expr gate = b.token("g", {}, nonPositive);
    Expr s = b.scalar("scale", orElse(rsqrt(extent(keys))));
    State M = b.state("M", {keys, values});
    State J = b.state("J", {keys, values}, nonNegative);
    Expr alpha = exp(gate);
    if (order.jFirst) {
      J = alpha * J + step * square(k);
    }
    M = alpha * M + value * k;
    if (!order.jFirst) {
      J = exp(gate) * J + step * square(k);
    }
    Expr precision = J + prior;
    b.output("o_var", s * sum(square(q) / precision, keys), optional);
    b.output("o", s * sum(M / precision * q, keys));
  });
}

std::string body(const Recurrence &recurrence) {
  std::string text = toText(recurrence);
  std::size_t begin = text.find('\n');
  return text.substr(begin, text.find("\nsignature") - begin);
}

TEST(Hash, IgnoresCxxNamesAndTheOrderOfIndependentDeclarations) {
  const Recurrence &palimpsa = *recurra::findRecurrence("palimpsa");
  for (int bits = 0; bits < 8; ++bits) {
    Recurrence other =
        shuffled({(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0});
    EXPECT_EQ(body(other), body(palimpsa));
    EXPECT_EQ(hash(other), hash(palimpsa));
  }
}

TEST(Hash, IgnoresNameSignatureDefaultsAndLines) {
  Recurrence one = shuffled({}), two = shuffled({}, "another");
  two.inputs[0].fallback = nullptr;
  two.outputs[0].optional = false;
  two.inputs[0].location.line += 5;
  EXPECT_EQ(hash(one), hash(two));
  EXPECT_NE(toText(one), toText(two));
}

TEST(Hash, IgnoresTheOrderOfFacts) {
  auto build = [](const recurra::Fact &a, const recurra::Fact &b) {
    return define("facts",
                  [&](Builder &r) { r.output("o", r.token("x", {}, a, b)); });
  };
  EXPECT_EQ(hash(build(positive, range(0, 1))),
            hash(build(range(0, 1), positive)));
  EXPECT_NE(hash(build(positive, range(0, 1))),
            hash(build(positive, range(0, 2))));
}

/// Caches and checkpoints of users know definitions by it.
TEST(Hash, OfADefinitionStaysAsItIs) {
  auto of = [](const std::string &entry) {
    return hash(*recurra::findRecurrence(entry));
  };
  EXPECT_EQ(of("palimpsa"), 0x625a1c543cf73076);
  EXPECT_EQ(of("simple_gla"), 0x62018214604ec878);
  EXPECT_EQ(of("gated_delta_rule"), 0x2083f48e85b725fe);
}

TEST(Hash, TellsDifferentRecurrencesApart) {
  std::map<std::uint64_t, std::string> seen;
  for (const Recurrence &entry : recurra::catalogue()) {
    EXPECT_TRUE(seen.emplace(hash(entry), entry.name).second) << entry.name;
  }
  const std::string text = toText(*recurra::findRecurrence("palimpsa"));
  for (auto [from, to] : {std::pair("M'", "M"),
                          {"positive", "nonNegative"},
                          {"prior", "first"},
                          {"square(q)", "q"},
                          {"state M[K, V]", "state M[V, K]"},
                          {"initial 0", "initial 1"},
                          {" perGroup", ""}}) {
    std::string changed = text;
    for (std::size_t at = 0; (at = changed.find(from, at)) != std::string::npos;
         at += std::string(to).size()) {
      changed.replace(at, std::string(from).size(), to);
    }
    EXPECT_NE(hash(parse(changed)), hash(parse(text))) << from;
  }
}

TEST(Text, AFixedSizeIsPartOfTheDefinition) {
  auto build = [](std::int64_t size) {
    return define("pairs", [&](Builder &r) {
      Axis R = size == 0 ? r.axis("R") : r.axis("R", size);
      r.output("o", r.token("x", {R}).at(R, 1));
    });
  };
  std::string text = toText(build(2));
  EXPECT_THAT(text, HasSubstr("axis R 2\n"));
  EXPECT_EQ(parse(text).axes[0].size, 2);
  EXPECT_EQ(toText(parse(text)), text);
  EXPECT_NE(hash(build(2)), hash(build(3)));
  EXPECT_NE(hash(build(2)), hash(build(0)));
}

/// A decaying sum whose state is of a dtype; none: as if nothing was said.
Recurrence leaky(std::optional<DType> dtype) {
  return define("leaky", [&](Builder &r) {
    Axis D = r.axis("D");
    Expr x = r.token("x", {D}), g = r.token("g", {}, nonPositive);
    State h = dtype ? r.state("h", {D}, nonNegative, *dtype)
                    : r.state("h", {D}, nonNegative);
    h = exp(g) * h + square(x);
    r.output("o", h);
  });
}

TEST(Text, TheDtypeOfAStateIsSaidWhereItIsNotF32) {
  for (auto [dtype, word] :
       {std::pair(DType::F16, "f16"), {DType::BF16, "bf16"}}) {
    Recurrence recurrence = leaky(dtype);
    std::string text = toText(recurrence);
    EXPECT_THAT(text, HasSubstr(std::string("state h[D] dtype ") + word +
                                " nonNegative initial 0\n"));
    EXPECT_EQ(parse(text).states[0].dtype, dtype);
    EXPECT_EQ(toText(parse(text)), text);
    EXPECT_EQ(hash(parse(text)), hash(recurrence));
    EXPECT_NE(hash(recurrence), hash(leaky(std::nullopt)));
  }
  EXPECT_NE(hash(leaky(DType::F16)), hash(leaky(DType::BF16)));
}

TEST(Text, ADtypeOfF32LeavesTextAndHashAsTheyWere) {
  std::string text = toText(leaky(std::nullopt));
  EXPECT_THAT(text, HasSubstr("state h[D] nonNegative initial 0\n"));
  EXPECT_EQ(toText(leaky(DType::F32)), text);
  EXPECT_EQ(hash(leaky(DType::F32)), hash(leaky(std::nullopt)));
  text.insert(text.find("nonNegative"), "dtype f32 ");
  EXPECT_EQ(hash(parse(text)), hash(leaky(std::nullopt)));
}

TEST(Text, TensorsOfAStateAreF64WhereTheCallIs) {
  recurra::State state = leaky(DType::BF16).states[0];
  EXPECT_EQ(state.tensorType(DType::F32), DType::BF16);
  EXPECT_EQ(state.tensorType(DType::F64), DType::F64);
}

TEST(Text, SharesEqualSubexpressionsHoweverTheyWereWritten) {
  auto build = [](bool shared) {
    return define("shared", [shared](Builder &r) {
      Expr x = r.token("x", {});
      Expr a = exp(x) + 1;
      Expr b = shared ? a : exp(x) + 1;
      r.output("o", a * b);
    });
  };
  EXPECT_EQ(toText(build(true)), toText(build(false)));
  EXPECT_THAT(toText(build(true)),
              HasSubstr("let %1 = exp(x) + 1\noutput o = %1 * %1\n"));
}

/// Grouping and signs survive: the text prints as few parentheses as it may.
TEST(Text, KeepsTheGrouping) {
  Recurrence all = define("grouping", [](Builder &r) {
    Expr a = r.token("a", {}), b = r.token("b", {}), c = r.token("c", {});
    r.output("o1", a - (b - c));
    r.output("o2", a - b - c);
    r.output("o3", a / (b * c) * (a + b));
    r.output("o4", -(a * b) + -a * b);
    r.output("o5", -Expr(2) * a - -2.5e-7);
    r.output("o6", select(a + b < -c, a, max(min(a, b), 1e300)));
    r.output("o7", -(-(-a)));
    r.output("o8", (a * b) * (a / b));
  });
  std::string text = toText(all);
  for (const char *line :
       {"output o1 = a - (b - c)\n", "output o2 = a - b - c\n",
        "output o3 = a / (b * c) * %1\n", "output o4 = -%2 + %3 * b\n",
        "output o5 = -(2) * a - -2.5e-07\n",
        "output o6 = select(%1 < -c, a, max(min(a, b), 1e+300))\n",
        "let %3 = -a\n", "output o7 = --%3\n",
        "output o8 = %2 * (a / b)\nsignature\naxes\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_EQ(toText(parse(text)), text);
}

TEST(Text, PreviousAndRepeatAreStatesAndCopies) {
  Recurrence all = define("sugar", [](Builder &r) {
    Axis R = r.axis("R");
    Expr x = r.token("x", {R}), y = r.token("y", {});
    State h = r.state("h", {});
    Expr before = previous(h);
    r.repeat(3, [&](int j) { h = tanh(h + x.at(R, j)); });
    r.repeat(2, [&] { h *= y; });
    r.output("o", h - before + previous(y) + previous(y * h, "yh"));
    r.output("again", previous(y));
  });
  std::string text = toText(all);
  EXPECT_THAT(text, HasSubstr("state previous_y initial 0\n"));
  EXPECT_THAT(text, HasSubstr("state previous_yh initial 0\n"));
  EXPECT_THAT(text, HasSubstr("next previous_y = y\n"));
  EXPECT_THAT(text, HasSubstr("tanh(tanh(tanh(h + at(x, R, 0)) + at(x, R, 1)) "
                              "+ at(x, R, 2)) * y * y\n"));
  EXPECT_THAT(text, HasSubstr("states h, previous_y, previous_yh\n"));
  EXPECT_EQ(toText(parse(text)), text);
}

TEST(Text, KeepsTheLineOfEveryOperator) {
  int line = __LINE__ + 4;
  Recurrence spread = define("spread", [](Builder &r) {
    Expr x = r.token("x", {});
    State h = r.state("h", {});
    Expr a = exp(x);
    Expr b = a * h;
    h = b + 1;
    r.output("o", h);
  });
  std::string text = toText(spread, Locations::Keep);
  auto at = [&](int offset) {
    return "  @ " + std::string(__FILE__) + ":" +
           std::to_string(line + offset) + "\n";
  };
  EXPECT_THAT(text, HasSubstr("let %1 = exp(x)" + at(0)));
  EXPECT_THAT(text, HasSubstr("let %2 = %1 * h" + at(1)));
  EXPECT_THAT(text, HasSubstr("next h = %2 + 1" + at(2)));
  EXPECT_THAT(text, HasSubstr("output o = h'" + at(3)));
  Recurrence again = parse(text);
  EXPECT_EQ(toText(again, Locations::Keep), text);
  EXPECT_EQ(toText(again), toText(spread));
  EXPECT_EQ(again.outputs[0].value->operands[0]->location.line, line + 1);
}

TEST(Text, ReadsWhatAPersonWrites) {
  Recurrence leaky = parse("# a leaky integrator\n"
                           "recurrence leaky\n\n"
                           "axis D\n"
                           "token x[D]\n"
                           "token g nonPositive   # log gate\n"
                           "state h[D]\n"
                           "next h = exp(g) * h + x\n"
                           "output y[D] = h'\n");
  EXPECT_EQ(leaky.inputs[0].name, "x");
  EXPECT_EQ(leaky.states[0].initial->value, 0);
  EXPECT_EQ(leaky.states[0].next->location.line, 8);
}

std::string parseError(const std::string &lines) {
  try {
    parse("recurrence r\naxis D\ntoken x[D]\n" + lines);
  } catch (const recurra::UserError &error) {
    return error.what();
  }
  return "no error";
}

TEST(Text, ErrorsNameTheLineOfTheText) {
  EXPECT_THAT(parseError("output o[D] = h'\n"),
              HasSubstr("<text>:4: 'h'' is used before it is defined"));
  EXPECT_THAT(parseError("next h = x\nstate h[D]\n"),
              HasSubstr("<text>:4: 'h' is used before it is defined"));
  EXPECT_THAT(parseError("output o[D] = %1\n"), HasSubstr("'%1' is used"));
  EXPECT_THAT(parseError("outputs o\n"),
              HasSubstr("<text>:4: 'outputs' begins"));
  EXPECT_THAT(parseError("output o[D] = x +\n"),
              HasSubstr("a value is missing"));
  EXPECT_THAT(parseError("output o[D] = (x\n"), HasSubstr("')' is missing"));
  EXPECT_THAT(parseError("output o[D] = x x\n"),
              HasSubstr("after the end of the statement"));
  EXPECT_THAT(parseError("output o[D] = cosh(x)\n"),
              HasSubstr("'cosh' is no operator"));
  EXPECT_THAT(parseError("output o[D] = exp(x, D)\n"),
              HasSubstr("'exp' has the wrong operands"));
  EXPECT_THAT(parseError("output o[D] = sum(x)\n"),
              HasSubstr("'sum' has the wrong operands"));
  EXPECT_THAT(parseError("output o[E] = x\n"), HasSubstr("unknown axis 'E'"));
  EXPECT_THAT(parseError("axis R 2.5\n"),
              HasSubstr("<text>:4: axis 'R' has a size that is no whole"));
  EXPECT_THAT(parseError("axis R 0\n"), HasSubstr("no whole number from 1"));
  EXPECT_THAT(parseError("state h[D] dtype f8 initial 0\n"),
              HasSubstr("<text>:4: state 'h' has the dtype 'f8'; the tensors "
                        "of a state are f32, f16 or bf16"));
  EXPECT_THAT(parseError("state h[D] dtype f64\nnext h = x\n"),
              HasSubstr("<text>:4: state 'h' has the dtype 'f64'"));
  EXPECT_THAT(parseError("token x\n"), HasSubstr("'x' is declared already"));
  EXPECT_THAT(parseError("output o[D] = sum(x, D)\n"),
              HasSubstr("<text>:4: output 'o' is declared over {D}"));
  EXPECT_THAT(parseError("state h[D]\nnext h = sum(x, D)\n"),
              HasSubstr("<text>:5: state 'h' has axes {D}"));
  EXPECT_THAT(parseError("state h[D]\nnext h = h + x\nnext h = x\n"),
              HasSubstr("updated twice"));
  EXPECT_THAT(parseError("output o[D] = x\nsignature\narguments y\n"),
              HasSubstr("the signature names 'y'"));
  EXPECT_THAT(parseError("output o[D] = x\nsignature\narguments\n"),
              HasSubstr("the signature leaves out 'x'"));
  EXPECT_THAT(parseError("output o[D] = at(x, D, 1.5)\n"),
              HasSubstr("a whole number"));
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    updateGolden = updateGolden || std::string(argv[i]) == "--update-golden";
  }
  return RUN_ALL_TESTS();
}
