// ThreadHost: one range of tasks per thread, the first one on the caller's.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/ThreadHost.h"

#include "compiler/SideBySide.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

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
  sideBySide(static_cast<std::size_t>(ranges), [&](std::size_t range) {
    auto i = static_cast<std::int64_t>(range);
    body(argument, border(i), border(i + 1));
  });
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
