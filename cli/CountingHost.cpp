// Lending and taking back, from any thread.
// SPDX-License-Identifier: Apache-2.0
#include "cli/CountingHost.h"

#include <algorithm>
#include <cstdlib>

namespace recurra::cli {

void *CountingHost::allocate(void *self, std::int64_t bytes) {
  auto &host = *static_cast<CountingHost *>(self);
  std::int64_t rounded = (bytes + 63) / 64 * 64;
  void *memory = std::aligned_alloc(64, static_cast<std::size_t>(rounded));
  std::lock_guard lock(host.mutex);
  host.blocks[memory] = bytes;
  host.lent += bytes;
  host.most = std::max(host.most, host.lent);
  return memory;
}

void CountingHost::release(void *self, void *memory) {
  auto &host = *static_cast<CountingHost *>(self);
  std::lock_guard lock(host.mutex);
  host.lent -= host.blocks[memory];
  host.blocks.erase(memory);
  std::free(memory);
}

recurra_host CountingHost::host() {
  auto parallelFor = [](void *self, std::int64_t count,
                        void (*body)(void *, std::int64_t, std::int64_t),
                        void *argument) {
    recurra_host pool = static_cast<CountingHost *>(self)->threads.host();
    pool.parallel_for(pool.context, count, body, argument);
  };
  return {this, allocate, release, parallelFor, 0, nullptr};
}

} // namespace recurra::cli
