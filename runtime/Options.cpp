// Options: defaults from the environment, then whatever the caller sets.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Options.h"

#include <charconv>
#include <cstdlib>
#include <mutex>

namespace recurra {
namespace {

std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

/// RECURRA_CACHE_DIR, else the user's cache folder; set to "" it means none.
std::string defaultCacheDirectory() {
  if (const char *chosen = std::getenv("RECURRA_CACHE_DIR")) {
    return chosen;
  }
  if (std::string base = environment("XDG_CACHE_HOME"); !base.empty()) {
    return base + "/recurra";
  }
  std::string home = environment("HOME");
  return home.empty() ? "" : home + "/.cache/recurra";
}

bool parseBytes(const std::string &text, std::int64_t &bytes) {
  std::int64_t value = 0;
  const char *end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  bool valid = error == std::errc() && stop == end && value >= 0;
  bytes = valid ? value : bytes;
  return valid;
}

Options fromEnvironment() {
  Options result;
  result.cacheDirectory = defaultCacheDirectory();
  parseBytes(environment("RECURRA_CACHE_LIMIT"), result.cacheLimit);
  std::string quiet = environment("RECURRA_QUIET");
  result.quiet = !quiet.empty() && quiet != "0";
  return result;
}

struct Store {
  std::mutex mutex;
  Options options = fromEnvironment();
};

Store &store() {
  static Store *const instance = new Store; // outlives every other static
  return *instance;
}

} // namespace

Options options() {
  std::lock_guard lock(store().mutex);
  return store().options;
}

Status setOption(const std::string &name, const std::string &value) {
  std::lock_guard lock(store().mutex);
  Options &current = store().options;
  if (name == "cache_dir") {
    current.cacheDirectory = value;
    return {};
  }
  if (name == "cache_limit_bytes") {
    return parseBytes(value, current.cacheLimit)
               ? Status{}
               : Status{RECURRA_INVALID_ARGUMENT,
                        "option 'cache_limit_bytes' is a number of bytes, not "
                        "'" +
                            value + "'; pass e.g. 536870912"};
  }
  if (name == "quiet") {
    current.quiet = value == "1";
    return value == "0" || value == "1"
               ? Status{}
               : Status{RECURRA_INVALID_ARGUMENT,
                        "option 'quiet' is 0 or 1, not '" + value + "'"};
  }
  return {RECURRA_INVALID_ARGUMENT,
          "there is no option '" + name +
              "'; the options are cache_dir, cache_limit_bytes, quiet"};
}

} // namespace recurra
