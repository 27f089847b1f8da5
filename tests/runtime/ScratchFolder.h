// A cache folder that lasts for one test.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/recurra.h"

#include <filesystem>
#include <stdlib.h>
#include <string>
#include <vector>

namespace recurra {

/// Makes an empty folder the cache's, and removes it in the end.
class ScratchFolder {
public:
  ScratchFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "recurra-XXXXXX").string();
    path = ::mkdtemp(pattern.data());
    recurra_set_option("cache_dir", path.c_str(), nullptr);
  }
  ~ScratchFolder() {
    recurra_set_option("cache_dir", "", nullptr);
    std::filesystem::remove_all(path);
  }
  ScratchFolder(const ScratchFolder &) = delete;
  ScratchFolder &operator=(const ScratchFolder &) = delete;

  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> found;
    for (const auto &entry : std::filesystem::directory_iterator(path)) {
      found.push_back(entry.path());
    }
    return found;
  }

  std::string path;
};

} // namespace recurra
