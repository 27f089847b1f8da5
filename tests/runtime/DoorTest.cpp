// The C door: one compilation per kernel, statuses, messages, options, JSON.
// SPDX-License-Identifier: Apache-2.0
#include "RunningCall.h"
#include "ScratchFolder.h"
#include "dsl/Text.h"
#include "runtime/Counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

namespace recurra {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// These tests count compilations: no earlier run's kernels on disk.
struct NoDisk : testing::Environment {
  void SetUp() override { recurra_set_option("cache_dir", "", nullptr); }
};
const auto *const noDisk = testing::AddGlobalTestEnvironment(new NoDisk);

/// A name that no kernel in this process has: names are part of the key.
std::string freshName() {
  static int serial = 0;
  return "sum_" + std::to_string(serial++);
}

struct Reply {
  recurra_status status;
  std::string message;
  recurra_kernel *kernel = nullptr;
};

Reply compileText(const std::string &text, const std::string &spec) {
  Reply reply;
  recurra_string *message = nullptr;
  reply.status =
      recurra_compile(text.c_str(), spec.c_str(), &reply.kernel, &message);
  reply.message = recurra_string_data(message);
  recurra_string_free(message);
  return reply;
}

Reply compileNamed(const std::string &name) {
  return compileText(toText(runningSum(name)), toText(runningSpec()));
}

class Door : public testing::Test {
protected:
  void TearDown() override {
    compilerDouble().error.clear();
    compilerDouble().entry.clear();
    compilerDouble().remarks.clear();
    compilerDouble().milliseconds = 0;
  }
  int compilations() const { return compilerDouble().calls - before; }
  int before = compilerDouble().calls;
};

TEST_F(Door, CompilesAKernelOnce) {
  std::string name = freshName();
  recurra_kernel *first = compileNamed(name).kernel;
  ASSERT_NE(first, nullptr);
  auto hits = counters().memoryHits.load();
  EXPECT_EQ(compileNamed(name).kernel, first);
  EXPECT_EQ(counters().memoryHits, hits + 1);
  EXPECT_EQ(compilations(), 1);
}

TEST_F(Door, SourceLocationsAndTheOrderOfListsAreNoPartOfTheKey) {
  std::string name = freshName();
  Spec spec = runningSpec();
  spec.gradients = {"x", "S"};
  recurra_kernel *first =
      compileText(toText(runningSum(name)), toText(spec)).kernel;
  std::string withLocations = toText(runningSum(name), Locations::Keep);
  EXPECT_NE(withLocations, toText(runningSum(name)));
  EXPECT_EQ(compileText(withLocations, toText(spec) + "gradients S x\n").kernel,
            first);
  EXPECT_EQ(compilations(), 1);
  spec.gradients = {"x"};
  EXPECT_NE(compileText(withLocations, toText(spec)).kernel, first);
  EXPECT_EQ(compilations(), 2);
}

TEST_F(Door, ThreadsThatWantOneKernelWaitForOneCompilation) {
  compilerDouble().milliseconds = 100;
  std::string name = freshName();
  std::vector<Reply> replies(8);
  std::vector<std::thread> threads;
  for (Reply &reply : replies) {
    threads.emplace_back([&] { reply = compileNamed(name); });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  EXPECT_EQ(compilations(), 1);
  for (const Reply &reply : replies) {
    EXPECT_EQ(reply.status, RECURRA_SUCCESS);
    EXPECT_EQ(reply.kernel, replies[0].kernel);
  }
}

TEST_F(Door, WarmupCompilesSeveralAtOnce) {
  compilerDouble().milliseconds = 300;
  auto start = std::chrono::steady_clock::now();
  Spec packed = runningSpec(true);
  Recurrence recurrence = runningSum(freshName());
  warmup(recurrence, {runningSpec(), packed});
  auto spent = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(compilations(), 2);
  if (std::thread::hardware_concurrency() > 1) {
    EXPECT_LT(spent, std::chrono::milliseconds(550));
  }
  Kernel::compile(recurrence, packed);
  EXPECT_EQ(compilations(), 2);
  Spec wrong = packed;
  wrong.extents["K"] = 5;
  EXPECT_THROW(warmup(recurrence, {packed, wrong}), UserError);
}

TEST_F(Door, AFailureIsReportedAndNotRemembered) {
  std::string name = freshName();
  compilerDouble().error = "running_sum.cpp:3: state 'S' is too slow";
  Reply reply = compileNamed(name);
  EXPECT_EQ(reply.status, RECURRA_INVALID_DEFINITION);
  EXPECT_EQ(reply.message, compilerDouble().error);
  compilerDouble().error.clear();
  EXPECT_EQ(compileNamed(name).status, RECURRA_SUCCESS);
}

TEST_F(Door, CodeThatDoesNotLinkIsAnErrorThatNamesTheSymbol) {
  compilerDouble().entry = "nowhere";
  Reply reply = compileNamed(freshName());
  EXPECT_EQ(reply.status, RECURRA_INTERNAL);
  EXPECT_THAT(reply.message, HasSubstr("nowhere"));
}

TEST_F(Door, SaysWhichTextIsWrong) {
  std::string spec = toText(runningSpec());
  EXPECT_EQ(compileText("recurrence ?", spec).status,
            RECURRA_INVALID_DEFINITION);
  Reply reply = compileText(toText(runningSum()), "colour red\n");
  EXPECT_EQ(reply.status, RECURRA_INVALID_DEFINITION);
  EXPECT_THAT(reply.message, HasSubstr("colour"));
}

TEST_F(Door, SaysWhatThisBuildLacks) {
  Spec spec = runningSpec();
  spec.target = "abacus";
  Reply reply = compileText(toText(runningSum()), toText(spec));
  EXPECT_EQ(reply.status, RECURRA_UNSUPPORTED);
  EXPECT_THAT(reply.message, HasSubstr("'abacus'"));
  spec = runningSpec();
  spec.arch = "sse2";
  EXPECT_EQ(compileText(toText(runningSum()), toText(spec)).status,
            RECURRA_UNSUPPORTED);
}

TEST_F(Door, RemarksSurviveTheCaches) {
  ScratchFolder folder;
  compilerDouble().remarks = {"declined: a", "declined: b"};
  std::string name = freshName();
  EXPECT_EQ(compileNamed(name).message, "declined: a\ndeclined: b\n");
  EXPECT_EQ(compileNamed(name).message, "declined: a\ndeclined: b\n");
}

TEST_F(Door, ReportsASlowCompilationUnlessQuiet) {
  compilerDouble().milliseconds = 1050;
  testing::internal::CaptureStderr();
  compileNamed("tortoise");
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("compiled tortoise forward for cpu avx2 in 1."));
  recurra_set_option("quiet", "1", nullptr);
  testing::internal::CaptureStderr();
  compileNamed("snail");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), IsEmpty());
  recurra_set_option("quiet", "0", nullptr);
  compilerDouble().milliseconds = 0;
  testing::internal::CaptureStderr();
  compileNamed("hare");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), IsEmpty());
}

TEST_F(Door, DescribesWithoutCompiling) {
  EXPECT_EQ(
      describeKernel(runningSum(), runningSpec()),
      R"({"arguments": [)"
      R"({"kind": "input", "name": "x", "dtype": "f32", "shape": ["B", "T", "H", "4"]}, )"
      R"({"kind": "initial_state", "name": "S", "dtype": "f32", "shape": ["N", "H", "4"]}, )"
      R"({"kind": "output", "name": "y", "dtype": "f32", "shape": ["B", "T", "H", "4"]}, )"
      R"({"kind": "final_state", "name": "S", "dtype": "f32", "shape": ["N", "H", "4"]}], )"
      R"("workspaces": [{"dtype": "f32", "shape": ["N", "H"]}], )"
      R"("checkpoint_interval": 64, "plan": "walk \"form\"\u000a"})");
  EXPECT_EQ(compilations(), 0);
}

TEST_F(Door, InspectsAndNamesAnUnknownStage) {
  EXPECT_EQ(inspectKernel(runningSum(), runningSpec(), "rec"), "running_sum");
  EXPECT_THROW(inspectKernel(runningSum(), runningSpec(), "soup"), UserError);
}

TEST_F(Door, LendsTheObjectThatRuns) {
  std::string object = Kernel::compile(runningSum(), runningSpec()).object();
  EXPECT_EQ(object.substr(1, 3), "ELF");
}

TEST_F(Door, CountsAndSpeaksOfItself) {
  recurra_string *json = recurra_counters();
  EXPECT_THAT(recurra_string_data(json), HasSubstr("\"compilations\": "));
  recurra_string_free(json);
  json = recurra_about();
  EXPECT_THAT(recurra_string_data(json), HasSubstr("\"llvm\": \"22.1"));
  EXPECT_THAT(recurra_string_data(json), HasSubstr("\"isa\": \"avx"));
  EXPECT_THAT(recurra_string_data(json),
              testing::ContainsRegex("\"build\": \"[0-9a-f]{40}\""));
  recurra_string_free(json);
}

TEST_F(Door, NamesAnUnknownOption) {
  recurra_string *message = nullptr;
  EXPECT_EQ(recurra_set_option("speed", "1", &message),
            RECURRA_INVALID_ARGUMENT);
  EXPECT_THAT(recurra_string_data(message), HasSubstr("cache_limit_bytes"));
  recurra_string_free(message);
  EXPECT_EQ(recurra_set_option("cache_limit_bytes", "many", nullptr),
            RECURRA_INVALID_ARGUMENT);
  EXPECT_EQ(recurra_set_option("quiet", "perhaps", nullptr),
            RECURRA_INVALID_ARGUMENT);
}

} // namespace
} // namespace recurra
