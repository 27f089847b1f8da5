// sideBySide.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/SideBySide.h"

#include <system_error>
#include <thread>
#include <vector>

namespace recurra {

void sideBySide(std::size_t count,
                const std::function<void(std::size_t)> &work) {
  std::vector<std::thread> threads;
  std::size_t begun = 1;
  try {
    for (; begun < count; ++begun) {
      threads.emplace_back(work, begun);
    }
  } catch (const std::system_error &) {
    // As many threads as there may be.
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
