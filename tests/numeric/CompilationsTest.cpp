// Compilations, counted and timed: the cookbook's C18 (lengths never compile
// again), and the first call, cold and from disk.
// SPDX-License-Identifier: Apache-2.0
#include "Cases.h"
#include "runtime/recurra.h"
#include "tests/runtime/ChildProcess.h"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdlib.h>

namespace recurra {
namespace {

int counter(const char *name) {
  recurra_string *json = recurra_counters();
  int value = nlohmann::json::parse(recurra_string_data(json))[name];
  recurra_string_free(json);
  return value;
}

class CompilationsTest : public Entry {};

TEST_P(CompilationsTest, C18LengthsBatchesAndDocumentsNeverRecompile) {
  constexpr Sizes tiny = {
      .batch = 1, .tokens = 1, .heads = 1, .keys = 4, .values = 4};
  runKernels(makeTrial(recurrence(), tiny));
  Sizes packed = tiny;
  packed.offsets = {0, 1};
  runKernels(makeTrial(recurrence(), packed));
  int before = counter("compilations");
  for (std::int64_t tokens : {1024, 1025, 512, 4096}) {
    Sizes sizes = tiny;
    sizes.tokens = tokens;
    sizes.batch = tokens % 3 + 1;
    runKernels(makeTrial(recurrence(), sizes));
  }
  for (std::int64_t documents = 1; documents <= 50; ++documents) {
    Sizes sizes = packed;
    sizes.tokens = documents;
    sizes.offsets.resize(documents + 1);
    for (std::int64_t i = 0; i <= documents; ++i) {
      sizes.offsets[i] = i;
    }
    runKernels(makeTrial(recurrence(), sizes));
  }
  EXPECT_EQ(counter("compilations"), before);
}

/// The milliseconds and the bits of a call in a process of its own.
std::pair<double, std::string> callAfresh(const std::string &entry,
                                          const std::string &folder) {
  ChildProcess program{{FIRST_CALL, entry}, {"RECURRA_CACHE_DIR=" + folder}};
  program.run();
  EXPECT_EQ(program.status, 0);
  std::istringstream words(program.output);
  double milliseconds = 0;
  std::string bits;
  words >> milliseconds >> bits;
  EXPECT_FALSE(words.fail()) << program.output;
  return {milliseconds, bits};
}

/// Cold under 2 s, from disk under 50 ms: about ten times what an idle machine
/// needs.
TEST_P(CompilationsTest, C17FirstCallsAreQuickAndGiveTheSameBits) {
  std::string folder =
      (std::filesystem::temp_directory_path() / "recurra-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  auto [cold, coldBits] = callAfresh(GetParam(), folder);
  auto [warm, warmBits] = callAfresh(GetParam(), folder);
  std::filesystem::remove_all(folder);
  EXPECT_LT(cold, 2000);
  EXPECT_LT(warm, 50);
  EXPECT_EQ(warmBits, coldBits);
  RecordProperty("cold_ms", static_cast<int>(cold));
  RecordProperty("disk_ms", static_cast<int>(warm));
}

INSTANTIATE_TEST_SUITE_P(Catalogue, CompilationsTest,
                         testing::ValuesIn(entryNames()),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace recurra
