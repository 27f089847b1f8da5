// The memory that a bench lends, counted while many threads ask for it.
// SPDX-License-Identifier: Apache-2.0
#include "cli/CountingHost.h"

#include <gtest/gtest.h>

namespace recurra::cli {
namespace {

TEST(CountingHostTest, KnowsTheMostThatItLent) {
  CountingHost counting(1);
  recurra_host host = counting.host();
  void *first = host.allocate(host.context, 100);
  void *second = host.allocate(host.context, 50);
  host.release(host.context, first);
  void *third = host.allocate(host.context, 60);
  host.release(host.context, second);
  host.release(host.context, third);
  EXPECT_EQ(counting.mostLent(), 150);
}

TEST(CountingHostTest, LendsToAllThreadsAtOnce) {
  CountingHost counting(4);
  recurra_host host = counting.host();
  auto body = [](void *argument, std::int64_t begin, std::int64_t end) {
    auto &host = *static_cast<recurra_host *>(argument);
    for (std::int64_t i = begin; i < end; ++i) {
      host.release(host.context, host.allocate(host.context, 64));
    }
  };
  for (int round = 0; round < 20; ++round) {
    host.parallel_for(host.context, 4000, body, &host);
  }
  EXPECT_GE(counting.mostLent(), 64);
  EXPECT_LE(counting.mostLent(), 4 * 64);
}

} // namespace
} // namespace recurra::cli
