// Threads as far as there are any, then the caller.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/SideBySide.h"

#include <exception>
#include <thread>
#include <vector>

namespace recurra {

using Work = std::function<void(std::size_t)>;

/// False where there are no more threads, or no memory for one.
static bool begin(std::vector<std::thread> &threads, const Work &work,
                  std::size_t i) {
  try {
    threads.emplace_back(std::cref(work), i);
    return true;
  } catch (const std::exception &) {
    return false;
  }
}

void sideBySide(std::size_t count, const Work &work) {
  std::vector<std::thread> threads;
  threads.reserve(count);
  std::size_t begun = 1;
  while (begun < count && begin(threads, work, begun)) {
    ++begun;
  }
  if (count > 0) {
    work(0);
  }
  for (; begun < count; ++begun) {
    work(begun);
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
}

} // namespace recurra
