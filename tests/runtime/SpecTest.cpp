// The text form of Spec: a bijection up to the order of lists.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Spec.h"

#include <gtest/gtest.h>

namespace recurra {
namespace {

Spec backwardSpec() {
  Spec spec;
  spec.direction = Direction::Backward;
  spec.arch = "avx2";
  spec.extents = {{"K", 48}, {"V", 96}};
  spec.group = 4;
  spec.packed = true;
  spec.dtypes = {{"q", DType::BF16}, {"g", DType::F32}};
  spec.initialStates = {"M", "J"};
  spec.outputs = {"o"};
  spec.finalStates = {"M"};
  spec.gradients = {"q", "beta", "M"};
  return spec;
}

TEST(Spec, TextRoundTrips) {
  for (const Spec &spec : {Spec(), backwardSpec()}) {
    Spec back;
    std::string message;
    ASSERT_TRUE(parseSpec(toText(spec), back, message)) << message;
    EXPECT_EQ(toText(back), toText(spec));
  }
  Spec back;
  std::string message;
  ASSERT_TRUE(parseSpec(toText(backwardSpec()), back, message));
  EXPECT_EQ(back.direction, Direction::Backward);
  EXPECT_EQ(back.extents.at("V"), 96);
  EXPECT_EQ(back.dtypes.at("q"), DType::BF16);
  EXPECT_EQ(back.group, 4);
  EXPECT_TRUE(back.packed);
  EXPECT_FALSE(back.saveCheckpoints);
  EXPECT_EQ(back.gradients, (std::vector<std::string>{"M", "beta", "q"}));
}

TEST(Spec, TextDoesNotDependOnListOrder) {
  Spec spec = backwardSpec(), other = spec;
  other.initialStates = {"J", "M"};
  other.gradients = {"M", "q", "beta", "q"};
  EXPECT_EQ(toText(spec), toText(other));
}

TEST(Spec, TextShowsEveryField) {
  auto differs = [](auto change) {
    Spec spec = backwardSpec();
    change(spec);
    return toText(spec) != toText(backwardSpec());
  };
  EXPECT_TRUE(differs([](Spec &s) { s.direction = Direction::Forward; }));
  EXPECT_TRUE(differs([](Spec &s) { s.target = "cuda"; }));
  EXPECT_TRUE(differs([](Spec &s) { s.arch = "native"; }));
  EXPECT_TRUE(differs([](Spec &s) { s.extents["K"] = 49; }));
  EXPECT_TRUE(differs([](Spec &s) { s.group = 1; }));
  EXPECT_TRUE(differs([](Spec &s) { s.packed = false; }));
  EXPECT_TRUE(differs([](Spec &s) { s.saveCheckpoints = true; }));
  EXPECT_TRUE(differs([](Spec &s) { s.dtypes["q"] = DType::F16; }));
  EXPECT_TRUE(differs([](Spec &s) { s.initialStates.clear(); }));
  EXPECT_TRUE(differs([](Spec &s) { s.outputs.clear(); }));
  EXPECT_TRUE(differs([](Spec &s) { s.finalStates.clear(); }));
  EXPECT_TRUE(differs([](Spec &s) { s.gradients.clear(); }));
}

TEST(Spec, MalformedLineIsNamed) {
  for (const char *line :
       {"extent K 0", "extent K", "extent K 4x", "dtype q f8", "group 0",
        "packed yes", "direction sideways", "colour red", "arch a b"}) {
    Spec spec;
    std::string message;
    EXPECT_FALSE(
        parseSpec(std::string("arch avx2\n") + line + "\n", spec, message));
    EXPECT_NE(message.find("line 2"), std::string::npos) << message;
    EXPECT_NE(message.find(line), std::string::npos) << message;
  }
}

TEST(Spec, ComputesInDoubleOnlyIfEverythingIsDouble) {
  Spec spec;
  EXPECT_EQ(spec.computeType(), DType::F32);
  spec.dtypes = {{"q", DType::F64}, {"k", DType::F64}};
  EXPECT_EQ(spec.computeType(), DType::F64);
  spec.dtypes["k"] = DType::F32;
  EXPECT_EQ(spec.computeType(), DType::F32);
}

} // namespace
} // namespace recurra
