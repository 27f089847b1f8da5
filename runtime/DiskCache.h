// Artifacts on disk, one file each, shared by any number of processes: a file
// appears whole or not at all, and is checked byte for byte when read.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Artifact.h"

namespace recurra {

class DiskCache {
public:
  /// `directory` is made when first written; empty means no cache.
  DiskCache(std::string directory, std::int64_t limit);

  enum class Found { Nothing, Damaged, Entry };

  /// Reads the entry of exactly this key, and marks it as recently used.
  Found load(const std::string &key, Artifact &artifact) const;

  /// Writes a temporary file and renames it; then removes the least recently
  /// used entries until all together fit the limit. Failure to write is no
  /// error: the entry is not there next time.
  void store(const std::string &key, const Artifact &artifact) const;

  /// Removes one entry, such as one whose code does not link.
  void drop(const std::string &key) const;

  /// Bytes of all entries.
  std::int64_t size() const;

private:
  std::string directory;
  std::int64_t limit;
  std::string path(const std::string &key) const;
  void evict() const;
};

} // namespace recurra
