// CountingHost: threads and memory for a launch, the memory counted.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/ThreadHost.h"

#include <cstdint>
#include <map>
#include <mutex>

namespace recurra::cli {

/// A ThreadHost that knows how much memory it lent at most, to all threads.
class CountingHost {
public:
  explicit CountingHost(int threads) : threads(threads) {}
  /// Refers to this object.
  recurra_host host();
  std::int64_t mostLent() const { return most; }

private:
  static void *allocate(void *self, std::int64_t bytes);
  static void release(void *self, void *memory);

  ThreadHost threads;
  std::mutex mutex; ///< of what follows: any thread allocates
  std::map<void *, std::int64_t> blocks;
  std::int64_t lent = 0, most = 0;
};

} // namespace recurra::cli
