// Warnings: divisions that no fact protects, with ranges that follow from facts
// and by induction; entries that nothing reads.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/dsl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace recurra::dsl;
using testing::HasSubstr;

namespace {

std::vector<std::string>
warningsOf(const std::function<void(Builder &)> &body) {
  return define("scene", body).warnings;
}

TEST(Warning, DivisionThatNoFactProtects) {
  int line = 0;
  std::vector<std::string> warnings = warningsOf([&](Builder &r) {
    Expr x = r.token("x", {}), y = r.token("y", {});
    line = __LINE__ + 1;
    r.output("o", x / y);
  });
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0],
              testing::StartsWith(std::string(__FILE__) + ":" +
                                  std::to_string(line) +
                                  ": the divisor of '/' may be zero"));
  EXPECT_THAT(warnings[0], HasSubstr("no fact keeps it away"));
  EXPECT_THAT(warnings[0], HasSubstr("declare facts"));
}

/// How many warnings 1 / (what `divisor` gives) makes.
std::size_t warningsFor(const std::function<Expr(Builder &)> &divisor) {
  return warningsOf([&](Builder &r) {
           Expr t = r.token("t", {});
           r.output("o", t / divisor(r));
         })
      .size();
}

TEST(Warning, RangesFollowTheFacts) {
  auto nonNeg = [](Builder &r) { return r.token("a", {}, nonNegative); };
  auto any = [](Builder &r) { return r.token("b", {}); };
  EXPECT_EQ(warningsFor([&](Builder &r) { return nonNeg(r); }), 1u);
  EXPECT_EQ(warningsFor([&](Builder &r) { return nonNeg(r) + 1; }), 0u);
  EXPECT_EQ(warningsFor([&](Builder &r) { return nonNeg(r) - 1; }), 1u);
  EXPECT_EQ(warningsFor([&](Builder &r) { return square(any(r)) + 1e-6; }), 0u);
  EXPECT_EQ(warningsFor([&](Builder &r) { return abs(any(r)); }), 1u);
  EXPECT_EQ(warningsFor([&](Builder &r) { return -exp(any(r)); }), 0u);
  EXPECT_EQ(warningsFor([&](Builder &r) { return max(any(r), 0.5); }), 0u);
  EXPECT_EQ(warningsFor([&](Builder &r) { return min(any(r), 0.5); }), 1u);
  EXPECT_EQ(warningsFor([&](Builder &r) { return 1 - exp(-nonNeg(r)); }), 1u);
  EXPECT_EQ(warningsFor([&](Builder &r) { return 2 - sigmoid(any(r)); }), 0u);
  EXPECT_EQ(warningsFor([&](Builder &r) { return tanh(any(r)) + 1; }), 0u);
  EXPECT_EQ(warningsFor([&](Builder &r) {
              return r.token("c", {}, range(1, 2)) - 2.5;
            }),
            0u);
  EXPECT_EQ(warningsFor([&](Builder &r) { return rsqrt(any(r)); }), 1u);
  EXPECT_EQ(warningsFor([&](Builder &r) { return softplus(any(r)); }), 0u);
  EXPECT_EQ(warningsFor([&](Builder &r) {
              Axis A = r.axis("A");
              return sum(r.token("c", {A}, positive), A) * extent(A);
            }),
            0u);
}

/// J = exp(g) J + beta k^2 stays nonNegative by induction, if it starts so.
std::size_t palimpsaWarnings(bool betaFact, double start, bool grows) {
  return warningsOf([&](Builder &r) {
           Expr g = r.token("g", {}), k = r.token("k", {});
           Expr beta = betaFact ? r.token("beta", {}, nonNegative)
                                : r.token("beta", {});
           Expr prior = r.head("prior", {}, positive);
           State J = r.state("J", {}, initial(start));
           J = (grows ? exp(g) : g) * J + beta * square(k);
           r.output("o", 1 / (J + prior));
         })
      .size();
}

TEST(Warning, StatesKeepTheirSignByInduction) {
  EXPECT_EQ(palimpsaWarnings(true, 0, true), 0u);
  EXPECT_EQ(palimpsaWarnings(true, 2, true), 0u);
  EXPECT_EQ(palimpsaWarnings(false, 0, true), 1u);
  EXPECT_EQ(palimpsaWarnings(true, -1, true), 1u);
  EXPECT_EQ(palimpsaWarnings(true, 0, false), 1u);
}

/// A state that adds entries 0 and 1 of x over R; `whole`: the output reads all
/// of x.
std::vector<std::string> pairWarnings(std::int64_t size, bool whole) {
  return warningsOf([&](Builder &r) {
    Axis R = size == 0 ? r.axis("R") : r.axis("R", size);
    Expr x = r.token("x", {R});
    State h = r.state("h", {});
    r.repeat(2, [&](int j) { h += x.at(R, j); });
    r.output("o", whole ? h + sum(x, R) : Expr(h));
  });
}

TEST(Warning, EntriesThatNothingReads) {
  std::vector<std::string> warnings = pairWarnings(0, false);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("of input 'x' the entries of axis 'R' "
                                     "from 2 on are never read"));
  EXPECT_THAT(warnings[0], HasSubstr("fix the size with r.axis(\"R\", 2)"));
  EXPECT_THAT(pairWarnings(2, false), testing::IsEmpty());
  EXPECT_THAT(pairWarnings(0, true), testing::IsEmpty());
}

} // namespace
