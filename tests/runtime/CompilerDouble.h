// A compiler for the tests of the runtime: it knows one recurrence, whose
// object code was built beforehand, and does what a test tells it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/Recurrence.h"

#include <atomic>
#include <chrono>

namespace recurra {

struct CompilerDouble {
  std::atomic<int> calls{0};
  std::atomic<std::int64_t> milliseconds{0}; ///< how long a compilation takes
  std::string version = "double 1";
  std::string error; ///< if not empty, compile fails with it
  std::string entry; ///< if not empty, the name of a symbol that is missing
  std::vector<std::string> remarks;
};

/// The one instance; tests set it up and read it.
CompilerDouble &compilerDouble();

/// y_t = S_t = S_{t-1} + x_t over K: what the double compiles, for K = 4.
Recurrence runningSum(const std::string &name = "running_sum");

} // namespace recurra
