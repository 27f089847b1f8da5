// ThreadHost: one range of tasks per thread, the last one on the caller's.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/ThreadHost.h"

#include <algorithm>
#include <thread>
#include <vector>

namespace recurra {
namespace {

void parallelFor(void *context, std::int64_t count,
                 void (*body)(void *, std::int64_t, std::int64_t),
                 void *argument) {
  std::int64_t ranges =
      std::min<std::int64_t>(*static_cast<int *>(context), count);
  auto border = [&](std::int64_t i) {
    return count / ranges * i + std::min(i, count % ranges);
  };
  std::vector<std::thread> others;
  for (std::int64_t i = 0; i + 1 < ranges; ++i) {
    others.emplace_back(body, argument, border(i), border(i + 1));
  }
  body(argument, border(ranges - 1), count);
  for (std::thread &other : others) {
    other.join();
  }
}

} // namespace

recurra_host ThreadHost::host() {
  return {&threads, nullptr, nullptr, parallelFor};
}

} // namespace recurra
