// DiskCache: files "<hash of key>.kernel" holding magic, key and artifact. The
// artifact's bytes carry their own version and checksum; the key is compared.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/DiskCache.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>

namespace recurra {
namespace {

namespace fs = std::filesystem;

constexpr const char *magic = "recurra kernel 1\n";
constexpr const char *extension = ".kernel";
constexpr const char *temporaryExtension = ".tmp";

/// What stands before the artifact's bytes in the file of `key`.
std::string header(const std::string &key) {
  return magic + std::to_string(key.size()) + '\n' + key;
}

/// The whole file on the disk itself, so that a rename publishes it whole.
bool writeDurably(const std::string &path, const std::string &bytes) {
  int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                    S_IRUSR | S_IWUSR);
  if (file < 0) {
    return false;
  }
  std::size_t done = 0;
  ssize_t count = 1;
  while (done < bytes.size() && count > 0) {
    count = ::write(file, bytes.data() + done, bytes.size() - done);
    done += count > 0 ? static_cast<std::size_t>(count) : 0;
  }
  bool synced = ::fsync(file) == 0;
  return ::close(file) == 0 && synced && done == bytes.size();
}

struct Entry {
  fs::file_time_type used;
  std::int64_t bytes;
  fs::path path;
};

std::vector<Entry> entries(const std::string &directory, const char *suffix) {
  std::vector<Entry> found;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() != suffix) {
      continue;
    }
    // Another process may remove the file between these calls.
    std::error_code gone;
    Entry entry{it->last_write_time(gone), 0, it->path()};
    entry.bytes = static_cast<std::int64_t>(it->file_size(gone));
    if (!gone) {
      found.push_back(std::move(entry));
    }
  }
  return found;
}

/// Files that a process left behind when it was killed while writing.
void removeAbandoned(const std::string &directory) {
  auto now = fs::file_time_type::clock::now();
  for (const Entry &entry : entries(directory, temporaryExtension)) {
    std::error_code ignored;
    if (now - entry.used > std::chrono::hours(1)) {
      fs::remove(entry.path, ignored);
    }
  }
}

} // namespace

DiskCache::DiskCache(std::string directory, std::int64_t limit)
    : directory(std::move(directory)), limit(limit) {}

std::string DiskCache::path(const std::string &key) const {
  char name[20];
  std::snprintf(name, sizeof(name), "%016zx", std::hash<std::string>()(key));
  return directory + '/' + name + extension;
}

DiskCache::Found DiskCache::load(const std::string &key,
                                 Artifact &artifact) const {
  if (directory.empty()) {
    return Found::Nothing;
  }
  std::ifstream file(path(key), std::ios::binary);
  if (!file) {
    return Found::Nothing;
  }
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  std::string expected = header(key);
  if (bytes.compare(0, expected.size(), expected) != 0 ||
      !deserialise(bytes.substr(expected.size()), artifact)) {
    return Found::Damaged;
  }
  ::utimensat(AT_FDCWD, path(key).c_str(), nullptr, 0);
  return Found::Entry;
}

void DiskCache::store(const std::string &key, const Artifact &artifact) const {
  if (directory.empty()) {
    return;
  }
  std::error_code error;
  if (fs::create_directories(directory, error)) {
    fs::permissions(directory, fs::perms::owner_all, error);
  }
  static std::atomic<unsigned> serial{0};
  std::string temporary = path(key) + '.' + std::to_string(::getpid()) + '.' +
                          std::to_string(serial++) + temporaryExtension;
  if (!writeDurably(temporary, header(key) + serialise(artifact)) ||
      ::rename(temporary.c_str(), path(key).c_str()) != 0) {
    ::unlink(temporary.c_str());
    return;
  }
  evict();
}

void DiskCache::drop(const std::string &key) const {
  ::unlink(path(key).c_str());
}

std::int64_t DiskCache::size() const {
  std::int64_t total = 0;
  for (const Entry &entry : entries(directory, extension)) {
    total += entry.bytes;
  }
  return total;
}

void DiskCache::evict() const {
  removeAbandoned(directory);
  std::vector<Entry> all = entries(directory, extension);
  std::sort(all.begin(), all.end(),
            [](const Entry &a, const Entry &b) { return a.used < b.used; });
  std::int64_t total = 0;
  for (const Entry &entry : all) {
    total += entry.bytes;
  }
  for (const Entry &entry : all) {
    if (total <= limit) {
      return;
    }
    std::error_code ignored;
    fs::remove(entry.path, ignored);
    total -= entry.bytes;
  }
}

} // namespace recurra
