// What a user sets once per process, from environment variables or by name.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Status.h"

namespace recurra {

struct Options {
  std::string cacheDirectory;            ///< empty: nothing on disk
  std::int64_t cacheLimit = 512LL << 20; ///< bytes of all entries together
  bool quiet = false;
};

/// A copy of the options in force; the first call reads the environment.
Options options();

/// Sets "cache_dir", "cache_limit_bytes" or "quiet".
Status setOption(const std::string &name, const std::string &value);

} // namespace recurra
