// ThreadHost: one range of tasks per thread, the last one on the caller's.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/ThreadHost.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
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

/// What a kernel reads before it writes shows as NaN.
void *allocateNan(void *, std::int64_t bytes) {
  std::size_t size = (static_cast<std::size_t>(bytes) + 63) / 64 * 64;
  void *memory = std::aligned_alloc(64, size);
  return memory ? std::memset(memory, 0xff, size) : nullptr;
}

void release(void *, void *memory) { std::free(memory); }

} // namespace

recurra_host ThreadHost::host() {
  return {&threads, poison ? allocateNan : nullptr, poison ? release : nullptr,
          parallelFor};
}

} // namespace recurra
