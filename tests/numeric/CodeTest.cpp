// The code that ran: vectors as wide as the host has, or as asked for, and no
// calls to the maths library. By disassembling the objects of loaded kernels.
// SPDX-License-Identifier: Apache-2.0
#include "Cases.h"
#include "runtime/Kernel.h"
#include "tests/runtime/ChildProcess.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <stdlib.h>
#include <unistd.h>

namespace recurra {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string hostIsa() {
  recurra_string *json = recurra_about();
  std::string isa = nlohmann::json::parse(recurra_string_data(json))["isa"];
  recurra_string_free(json);
  return isa;
}

/// What a tool of LLVM prints about an object.
std::string print(const std::string &object, const std::string &tool,
                  const std::string &option) {
  std::string path =
      (std::filesystem::temp_directory_path() / "recurra-XXXXXX").string();
  ::close(::mkstemp(path.data()));
  std::ofstream(path, std::ios::binary) << object;
  ChildProcess program{{LLVM_TOOLS "/" + tool, option, path}};
  program.run();
  EXPECT_EQ(program.status, 0);
  std::filesystem::remove(path);
  return program.output;
}

class CodeTest : public Entry {
protected:
  /// Runs forward and backward, then returns both objects.
  std::vector<std::string> objectsThatRan(const std::string &arch) const {
    Trial trial = makeTrial(recurrence(), {.tokens = 5, .values = 64});
    trial.arch = arch;
    expectOracle(trial);
    std::vector<std::string> objects;
    for (Direction direction : {Direction::Forward, Direction::Backward}) {
      objects.push_back(
          Kernel::compile(recurrence(), trial.spec(direction)).object());
    }
    return objects;
  }
};

TEST_P(CodeTest, AsWideAsTheHost) {
  const char *wide = hostIsa() == "avx512" ? "%zmm" : "%ymm";
  for (const std::string &object : objectsThatRan("native")) {
    EXPECT_THAT(print(object, "llvm-objdump", "-d"), HasSubstr(wide));
  }
}

TEST_P(CodeTest, NarrowerIfAsked) {
  for (const std::string &object : objectsThatRan("avx2")) {
    std::string code = print(object, "llvm-objdump", "-d");
    EXPECT_THAT(code, HasSubstr("%ymm"));
    EXPECT_THAT(code, Not(HasSubstr("%zmm")));
  }
}

TEST_P(CodeTest, CallsNothingButMemoryFunctions) {
  for (const std::string &object : objectsThatRan("native")) {
    std::istringstream symbols(print(object, "llvm-nm", "-u"));
    for (std::string kind, name; symbols >> kind >> name;) {
      EXPECT_THAT(name, testing::AnyOf("memcpy", "memset", "memmove"));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, CodeTest, testing::ValuesIn(entryNames()),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace recurra
