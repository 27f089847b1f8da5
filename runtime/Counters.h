// How often the runtime compiled, and where it found what it did not compile.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace recurra {

struct Counters {
  std::atomic<std::int64_t> compilations{0}; ///< calls into the compiler
  std::atomic<std::int64_t> memoryHits{0};
  std::atomic<std::int64_t> diskHits{0};
  std::atomic<std::int64_t> diskRejects{0}; ///< damaged, or of another version
};

/// Of this process.
inline Counters &counters() {
  static Counters instance;
  return instance;
}

} // namespace recurra
