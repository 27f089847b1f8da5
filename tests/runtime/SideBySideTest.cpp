// Work side by side, also where a process may have no more threads.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/SideBySide.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <set>
#include <sys/resource.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

namespace recurra {
namespace {

TEST(SideBySide, DoesEachPieceOnceInAThreadOfItsOwn) {
  for (std::size_t count : {0, 1, 2, 7}) {
    std::vector<int> done(count);
    std::vector<std::thread::id> threads(count);
    sideBySide(count, [&](std::size_t i) {
      ++done[i];
      threads[i] = std::this_thread::get_id();
    });
    EXPECT_EQ(done, std::vector<int>(count, 1));
    EXPECT_EQ(std::set(threads.begin(), threads.end()).size(), count);
    if (count > 0) {
      EXPECT_EQ(threads[0], std::this_thread::get_id());
    }
  }
}

/// Limits do not bind the superuser, nor where a sandbox has its own.
bool forbidThreads() {
  constexpr uid_t nobody = 65534;
  rlimit none{0, 0};
  if ((::geteuid() == 0 && ::setuid(nobody) != 0) ||
      ::setrlimit(RLIMIT_NPROC, &none) != 0) {
    return false;
  }
  try {
    std::thread([] {}).join();
  } catch (const std::system_error &) {
    return true;
  }
  return false;
}

enum Outcome { AllInOne, NotAllInOne, NotForbidden };

[[noreturn]] void tryWithoutThreads() {
  if (!forbidThreads()) {
    std::exit(NotForbidden);
  }
  std::set<std::thread::id> threads;
  int done = 0;
  sideBySide(5, [&](std::size_t) {
    ++done;
    threads.insert(std::this_thread::get_id());
  });
  std::exit(done == 5 && threads.size() == 1 ? AllInOne : NotAllInOne);
}

TEST(SideBySide, DoesAllInOneThreadWhereThereAreNoMore) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto isRight = [](int status) {
    return WIFEXITED(status) && WEXITSTATUS(status) != NotAllInOne;
  };
  EXPECT_EXIT(tryWithoutThreads(), isRight, "");
}

} // namespace
} // namespace recurra
