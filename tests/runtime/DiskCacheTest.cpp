// The cache on disk, by processes that use it: found again, shared, bounded,
// never trusted when damaged.
// SPDX-License-Identifier: Apache-2.0
#include "ChildProcess.h"
#include "ScratchFolder.h"

#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>

namespace recurra {
namespace {

struct Outcome {
  int compilations = -1, hits = -1, rejects = -1;
  bool right = false;
  bool operator==(const Outcome &) const = default;
};

std::ostream &operator<<(std::ostream &out, const Outcome &o) {
  return out << o.compilations << " compiled, " << o.hits << " hits, "
             << o.rejects << " rejects" << (o.right ? "" : ", WRONG");
}

/// Runs CacheUser on these kernels with the folder as its cache.
Outcome use(const std::string &folder, const std::vector<std::string> &kernels,
            const std::vector<std::string> &environment = {}) {
  ChildProcess program{{CACHE_USER}, environment};
  program.command.insert(program.command.end(), kernels.begin(), kernels.end());
  program.environment.push_back("RECURRA_CACHE_DIR=" + folder);
  program.run();
  std::istringstream numbers(program.output);
  Outcome outcome;
  numbers >> outcome.compilations >> outcome.hits >> outcome.rejects;
  outcome.right = program.status == 0 && !numbers.fail();
  return outcome;
}

const Outcome compiled{1, 0, 0, true}, found{0, 1, 0, true},
    rebuilt{1, 0, 1, true};

std::string contents(const std::filesystem::path &file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void overwrite(const std::filesystem::path &file, const std::string &bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

TEST(DiskCache, AnotherProcessFindsTheKernel) {
  ScratchFolder folder;
  EXPECT_EQ(use(folder.path, {"total"}), compiled);
  EXPECT_EQ(use(folder.path, {"total"}), found);
  EXPECT_EQ(use(folder.path, {"other"}), compiled);
  EXPECT_EQ(folder.files().size(), 2u);
}

TEST(DiskCache, AnotherCompilerVersionIsAnotherKernel) {
  ScratchFolder folder;
  EXPECT_EQ(use(folder.path, {"total"}), compiled);
  EXPECT_EQ(use(folder.path, {"total"}, {"DOUBLE_VERSION=2"}), compiled);
  EXPECT_EQ(use(folder.path, {"total"}, {"DOUBLE_VERSION=2"}), found);
}

TEST(DiskCache, AFlippedByteIsRebuilt) {
  ScratchFolder folder;
  ASSERT_EQ(use(folder.path, {"total"}), compiled);
  const std::filesystem::path file = folder.files().at(0);
  const std::string good = contents(file);
  // Magic, key, header of the artifact, and code from end to end.
  for (std::size_t i = 0; i < good.size(); i += 1 + good.size() / 24) {
    std::string damaged = good;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    overwrite(file, damaged);
    ASSERT_EQ(use(folder.path, {"total"}), rebuilt) << "byte " << i;
    ASSERT_EQ(contents(file), good); // written anew
  }
  EXPECT_EQ(use(folder.path, {"total"}), found);
}

TEST(DiskCache, ATruncatedFileIsRebuilt) {
  ScratchFolder folder;
  ASSERT_EQ(use(folder.path, {"total"}), compiled);
  const std::filesystem::path file = folder.files().at(0);
  const std::string good = contents(file);
  for (std::size_t size :
       {std::size_t{0}, std::size_t{9}, good.size() / 2, good.size() - 1}) {
    overwrite(file, good.substr(0, size));
    ASSERT_EQ(use(folder.path, {"total"}), rebuilt) << size;
  }
}

TEST(DiskCache, AnEntryOfAnotherKeyIsRebuilt) {
  ScratchFolder folder;
  ASSERT_EQ(use(folder.path, {"total"}), compiled);
  const std::filesystem::path file = folder.files().at(0);
  ASSERT_EQ(use(folder.path, {"other"}), compiled);
  for (const auto &other : folder.files()) {
    if (other != file) {
      overwrite(file, contents(other)); // as a collision of hashes would
    }
  }
  EXPECT_EQ(use(folder.path, {"total"}), rebuilt);
}

TEST(DiskCache, EightProcessesAtOnce) {
  ScratchFolder folder;
  std::vector<Outcome> outcomes(8);
  std::vector<std::thread> threads;
  for (Outcome &outcome : outcomes) {
    threads.emplace_back(
        [&] { outcome = use(folder.path, {"a", "b", "c", "d"}); });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  for (const Outcome &outcome : outcomes) {
    EXPECT_TRUE(outcome.right);
    EXPECT_EQ(outcome.compilations + outcome.hits, 4) << outcome;
    EXPECT_EQ(outcome.rejects, 0) << outcome;
  }
  EXPECT_EQ(folder.files().size(), 4u); // and no temporary file
  EXPECT_EQ(use(folder.path, {"a", "b", "c", "d"}), (Outcome{0, 4, 0, true}));
}

TEST(DiskCache, StaysWithinItsLimitAndKeepsTheLastUsed) {
  ScratchFolder folder;
  ASSERT_EQ(use(folder.path, {"a"}), compiled);
  std::string limit =
      "RECURRA_CACHE_LIMIT=" +
      std::to_string(contents(folder.files().at(0)).size() * 3 + 100);
  ASSERT_EQ(use(folder.path, {"b"}, {limit}), compiled);
  ASSERT_EQ(use(folder.path, {"c"}, {limit}), compiled);
  ASSERT_EQ(use(folder.path, {"a"}, {limit}), found); // now b is the oldest
  ASSERT_EQ(use(folder.path, {"d"}, {limit}), compiled);
  EXPECT_EQ(folder.files().size(), 3u);
  EXPECT_EQ(use(folder.path, {"a"}, {limit}), found);
  EXPECT_EQ(use(folder.path, {"b"}, {limit}), compiled);
}

TEST(DiskCache, AbandonedTemporaryFilesGo) {
  ScratchFolder folder;
  std::filesystem::path old = folder.path + "/0123.kernel.77.0.tmp";
  overwrite(old, "half an entry");
  std::filesystem::last_write_time(
      old,
      std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  ASSERT_EQ(use(folder.path, {"total"}), compiled);
  EXPECT_FALSE(std::filesystem::exists(old));
}

TEST(DiskCache, WorksWithoutAFolder) {
  EXPECT_EQ(use("", {"total"}), compiled);
  EXPECT_EQ(use("/proc/none", {"total"}), compiled);
}

} // namespace
} // namespace recurra
