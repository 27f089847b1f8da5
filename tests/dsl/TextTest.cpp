// The canonical text: goldens, round trips, and what the hash depends on.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/Text.h"

#include "dsl/dsl.h"
#include "ops/catalogue/Catalogue.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace recurra::dsl;
using recurra::hash;
using recurra::Locations;
using recurra::parse;
using recurra::toText;

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

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    updateGolden = updateGolden || std::string(argv[i]) == "--update-golden";
  }
  return RUN_ALL_TESTS();
}
