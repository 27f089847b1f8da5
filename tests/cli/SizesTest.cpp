// Sizes and counted operations of the command line.
// SPDX-License-Identifier: Apache-2.0
#include "cli/Sizes.h"

#include "cli/FmaPeak.h"
#include "cli/Operations.h"
#include "ops/catalogue/Catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace recurra::cli {
namespace {

using testing::HasSubstr;

TEST(Operations, CountsEachOperatorOnceForEachElement) {
  // exp(g) 1; exp(g) * S, k * v, +, S * q, the sum: K V each; scale * V.
  std::map<std::string, std::int64_t> extents = {{"K", 4}, {"V", 10}};
  EXPECT_EQ(operationsPerToken(*findRecurrence("simple_gla"), extents),
            1 + 5 * 40 + 10);
}

TEST(Operations, LeavesOptionalOutputsOut) {
  Recurrence all = *findRecurrence("palimpsa");
  std::map<std::string, std::int64_t> extents = {{"K", 4}, {"V", 10}};
  double without = operationsPerToken(all, extents);
  all.outputs[1].optional = false;
  EXPECT_GT(operationsPerToken(all, extents), without);
}

TEST(Sizes, AnAxisReadByEntriesHasThatMany) {
  auto extents = extentsOf(*findRecurrence("gated_delta_product"), {"V=3"}, 64);
  EXPECT_EQ(extents, (std::map<std::string, std::int64_t>{
                         {"K", 64}, {"R", 2}, {"V", 3}}));
}

TEST(Sizes, RefusesWhatIsNoSize) {
  const Recurrence &gla = *findRecurrence("gla");
  for (const char *text : {"K", "K=", "K=0", "K=-3", "K=4x", "Q=4"}) {
    EXPECT_THROW(extentsOf(gla, {text}, 64), UserError) << text;
  }
}

TEST(Sizes, BackwardWantsTheGradientsOfInputsWithoutDefault) {
  Spec spec =
      SpecOptions().spec(*findRecurrence("palimpsa"), Direction::Backward);
  EXPECT_THAT(spec.gradients, testing::ElementsAre("q", "k", "v", "g", "beta"));
  EXPECT_THAT(spec.outputs, testing::ElementsAre("o"));
}

TEST(FmaPeak, IsWithinWhatProcessorsDo) {
  double peak = recurra_fma_peak(1);
  EXPECT_GT(peak, 1e9);
  EXPECT_LT(peak, 1e12);
}

} // namespace
} // namespace recurra::cli
