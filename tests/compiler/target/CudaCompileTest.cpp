// What NVRTC makes of the catalogue for each architecture, without a GPU:
// registers, spills, names in the text. RECURRA_TEST_ALL=1 compiles everything.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Compiler.h"
#include "compiler/target/cuda/Nvrtc.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Program.h"
#include "ops/catalogue/Catalogue.h"
#include "tests/dsl/RandomCall.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>

using namespace recurra;

namespace {

const std::vector<std::string> archs = {"sm_80",  "sm_86",  "sm_89",
                                        "sm_90a", "sm_100", "sm_120"};

/// All outputs, states and gradients, everything given.
Spec specOf(const Recurrence &recurrence, Direction direction, DType dtype) {
  Spec spec;
  spec.target = "cuda";
  spec.arch = "sm_90a";
  spec.direction = direction;
  spec.saveCheckpoints = direction == Direction::Forward;
  for (const Input &input : recurrence.inputs) {
    spec.dtypes[input.name] = dtype;
    spec.gradients.push_back(input.name);
  }
  for (const Output &output : recurrence.outputs) {
    spec.dtypes[output.name] = dtype;
    spec.outputs.push_back(output.name);
  }
  for (const State &state : recurrence.states) {
    spec.initialStates.push_back(state.name);
    spec.finalStates.push_back(state.name);
    spec.gradients.push_back(state.name);
  }
  if (direction == Direction::Forward) {
    spec.gradients.clear();
  }
  return spec;
}

/// Small sizes, with what a warp does not divide.
std::map<std::string, std::int64_t> extents(const Recurrence &recurrence) {
  auto sizes = smallExtents(recurrence);
  for (auto &[name, size] : sizes) {
    size = name == "R" ? 2 : name == "K" || name == "N" ? 16 : 40;
  }
  return sizes;
}

struct CudaCompileTest : testing::Test {
  void SetUp() override {
    if (cuda::nvrtcVersion().empty()) {
      GTEST_SKIP() << "no NVRTC here: nothing was compiled for CUDA";
    }
  }

  static void check(const Artifact &artifact, const std::string &arch) {
    EXPECT_EQ(artifact.arch, arch);
    EXPECT_FALSE(artifact.nests.empty());
    for (const Nest &nest : artifact.nests) {
      EXPECT_EQ(artifact.code.substr(nest.codeOffset + 1, 3), "ELF");
      EXPECT_NE(artifact.code.find(nest.entry), std::string::npos);
      EXPECT_GT(nest.registers, 0) << nest.entry;
      EXPECT_GT(nest.warps, 0) << nest.entry;
    }
  }

  const bool all = std::getenv("RECURRA_TEST_ALL") != nullptr;
  static constexpr std::int64_t fewAddresses = 352; // bytes, of all roles

  static Artifact compiled(const Recurrence &recurrence, const Spec &spec) {
    Artifact artifact;
    Diagnostics diagnostics;
    EXPECT_TRUE(compile(recurrence, spec, artifact, diagnostics))
        << recurrence.name << " " << spec.arch << ": " << diagnostics.error;
    return artifact;
  }
};

/// Normally one entry per architecture; everything under --all.
TEST_F(CudaCompileTest, CatalogueForEveryArchitecture) {
  std::size_t turn = 0;
  for (const Recurrence &recurrence : catalogue()) {
    for (Direction direction : {Direction::Forward, Direction::Backward}) {
      Spec spec = specOf(recurrence, direction, DType::BF16);
      spec.extents = extents(recurrence);
      ++turn;
      for (std::size_t i = 0; i < archs.size(); ++i) {
        // 24 turns: every fifth, so that directions and entries vary.
        bool isSample = turn % 5 == 0 && i == turn / 5 - 1;
        if (all || isSample || (turn == 1 && i == archs.size() - 1)) {
          spec.arch = archs[i];
          check(compiled(recurrence, spec), spec.arch);
        }
      }
    }
  }
}

TEST_F(CudaCompileTest, StatesOfOtherDtypes) {
  Recurrence palimpsa = *findRecurrence("palimpsa");
  palimpsa.states[0].dtype = DType::BF16;
  palimpsa.states[1].dtype = DType::F16;
  for (std::int64_t size : {8, 32}) { // in walk form, in scan form
    for (Direction direction : {Direction::Forward, Direction::Backward}) {
      Spec spec = specOf(palimpsa, direction, DType::F32);
      spec.outputs = {"o"};
      spec.extents = {{"K", size}, {"V", size}};
      check(compiled(palimpsa, spec), "sm_90a");
    }
  }
}

/// Nothing leaves the registers when a model trains, with states handed in and
/// out or without. Gradients of the prior and the scale beside those take a few
/// addresses, which the roles of a block do not all have registers for.
TEST_F(CudaCompileTest, PalimpsaStaysInRegisters) {
  const Recurrence &palimpsa = *findRecurrence("palimpsa");
  enum Asked { Tokens, States, Everything };
  auto expectSpills = [&](int k, int v, Direction direction, Asked asked) {
    Spec spec = specOf(palimpsa, direction, DType::BF16);
    spec.outputs = {"o"};
    spec.extents = {{"K", k}, {"V", v}};
    if (asked == Tokens) {
      spec.initialStates = spec.finalStates = {};
    }
    if (asked != Everything && direction == Direction::Backward) {
      spec.gradients = {"q", "k", "v", "g", "beta"};
    }
    if (asked == States && direction == Direction::Backward) {
      spec.gradients.insert(spec.gradients.end(), {"M", "J"});
    }
    Artifact artifact = compiled(palimpsa, spec);
    // Around the walk of spans: what is found before, or added after it.
    ASSERT_GE(artifact.nests.size(), 3U);
    EXPECT_EQ(artifact.spanTokens, 4096);
    EXPECT_GT(artifact.nests[0].mostTasks, 0);
    for (const Nest &nest : artifact.nests) {
      EXPECT_LE(nest.registers, 255) << nest.entry;
      EXPECT_LE(nest.spillBytes, asked == Everything ? 48 : 0)
          << nest.entry << " " << k << " " << v;
    }
  };
  for (auto [k, v] :
       {std::pair<int, int>{48, 48}, {48, 96}, {96, 192}, {128, 128}}) {
    for (Direction direction : {Direction::Forward, Direction::Backward}) {
      for (Asked asked : {Tokens, States, Everything}) {
        if (asked == Tokens || all || (asked == States && v == 96)) {
          expectSpills(k, v, direction, asked);
        }
      }
    }
  }
}

/// Where rows, or elements, decay by factors of their own, a few addresses of
/// the warps that prepare and add do.
TEST_F(CudaCompileTest, OtherDecaysStayInRegisters) {
  struct Case {
    std::string name;
    std::map<std::string, std::int64_t> extents;
    bool always;
    std::int64_t mostBytes = fewAddresses;
  };
  for (const Case &given : {Case{"gla", {{"K", 64}, {"V", 64}}, true},
                            Case{"gla", {{"K", 128}, {"V", 128}}, true},
                            Case{"gla", {{"K", 192}, {"V", 384}}, true, 416},
                            Case{"gla", {{"K", 128}, {"V", 256}}, false},
                            Case{"gla", {{"K", 256}, {"V", 512}}, false, 960},
                            Case{"mamba1", {{"D", 128}, {"N", 16}}, true},
                            Case{"mamba1", {{"D", 1536}, {"N", 16}}, false},
                            Case{"longhorn", {{"D", 64}, {"N", 16}}, false}}) {
    for (Direction direction : {Direction::Forward, Direction::Backward}) {
      if (!all && !given.always) {
        continue;
      }
      const Recurrence &recurrence = *findRecurrence(given.name);
      Spec spec = specOf(recurrence, direction, DType::BF16);
      spec.extents = given.extents;
      Artifact artifact = compiled(recurrence, spec);
      EXPECT_EQ(artifact.plan.find("form scan"), 0U) << artifact.plan;
      for (const Nest &nest : artifact.nests) {
        EXPECT_LE(nest.registers, 255) << nest.entry;
        EXPECT_LE(nest.spillBytes, given.mostBytes) << nest.entry;
      }
    }
  }
}

/// Where heads are few there are parts: a walk ahead of them is printed.
TEST(CudaParts, ScansHaveThemAtEverySize) {
  struct Case {
    std::string name;
    std::map<std::string, std::int64_t> extents;
  };
  for (const Case &given : {Case{"palimpsa", {{"K", 48}, {"V", 48}}},
                            Case{"palimpsa", {{"K", 128}, {"V", 128}}},
                            Case{"simple_gla", {{"K", 96}, {"V", 192}}},
                            Case{"gla", {{"K", 48}, {"V", 96}}},
                            Case{"gla", {{"K", 96}, {"V", 192}}},
                            Case{"gla", {{"K", 128}, {"V", 128}}},
                            Case{"mamba1", {{"D", 128}, {"N", 16}}},
                            Case{"longhorn", {{"D", 128}, {"N", 16}}}}) {
    for (Direction direction : {Direction::Forward, Direction::Backward}) {
      const Recurrence &recurrence = *findRecurrence(given.name);
      Spec spec = specOf(recurrence, direction, DType::BF16);
      spec.extents = given.extents;
      spec.gradients.clear(); // those of numbers and vectors would be totals
      for (const Input &input : recurrence.inputs) {
        if (input.role == Role::Token && direction == Direction::Backward) {
          spec.gradients.push_back(input.name);
        }
      }
      std::string text;
      Diagnostics diagnostics;
      ASSERT_TRUE(inspect(recurrence, spec, "cuda", text, diagnostics));
      EXPECT_NE(text.find("_nest0_ahead("), std::string::npos)
          << given.name << " " << text.substr(0, text.find('\n'));
    }
  }
}

TEST_F(CudaCompileTest, TextHasTheUsersNames) {
  const Recurrence &palimpsa = *findRecurrence("palimpsa");
  Spec spec = specOf(palimpsa, Direction::Forward, DType::BF16);
  spec.extents = {{"K", 16}, {"V", 16}};
  std::string text;
  Diagnostics diagnostics;
  ASSERT_TRUE(inspect(palimpsa, spec, "cuda", text, diagnostics));
  for (const char *name : {"const Buffer &beta =", "float k_t", "prior_s",
                           "M_initial", "M_saved", "M[a][n][e]", "o_to"}) {
    EXPECT_NE(text.find(name), std::string::npos) << name;
  }
  ASSERT_TRUE(inspect(palimpsa, spec, "ptx", text, diagnostics));
  EXPECT_NE(text.find(".target sm_90a"), std::string::npos);
}

/// One text for all vectors of an axis and dtype, in the walk, in that ahead
/// and in the kernel that corrects spans: NVRTC's time goes with it.
TEST(CudaText, CopiesVectorsThatLieAlikeByOneLoop) {
  const Recurrence &palimpsa = *findRecurrence("palimpsa");
  auto texts = [&](DType ofValues) {
    Spec spec = specOf(palimpsa, Direction::Backward, DType::BF16);
    spec.extents = {{"K", 96}, {"V", 192}};
    spec.outputs = {"o"};
    spec.dtypes["v"] = ofValues;
    std::string text;
    Diagnostics diagnostics;
    EXPECT_TRUE(inspect(palimpsa, spec, "cuda", text, diagnostics));
    return llvm::StringRef(text).count("copyTokens(to + ");
  };
  std::size_t alike = texts(DType::BF16);
  EXPECT_EQ(alike % 2, 0U); // of rows, of columns
  EXPECT_EQ(texts(DType::F32), alike / 2 * 3);
}

/// The printed text is a program of its own: nvcc takes it.
TEST_F(CudaCompileTest, TextCompilesByHand) {
  auto nvcc = llvm::sys::findProgramByName("nvcc");
  nvcc = nvcc ? nvcc
              : llvm::sys::findProgramByName("nvcc", {"/usr/local/cuda/bin"});
  if (!nvcc) {
    GTEST_SKIP() << "no nvcc here";
  }
  for (std::int64_t size : {8, 32}) { // in walk form, in scan form
    const Recurrence &palimpsa = *findRecurrence("palimpsa");
    Spec spec = specOf(palimpsa, Direction::Forward, DType::BF16);
    spec.extents = {{"K", size}, {"V", size}};
    std::string text;
    Diagnostics diagnostics;
    ASSERT_TRUE(inspect(palimpsa, spec, "cuda", text, diagnostics));
    std::string path = testing::TempDir() + "recurra_by_hand.cu";
    std::ofstream(path) << text;
    EXPECT_EQ(llvm::sys::ExecuteAndWait(*nvcc, {*nvcc, "-std=c++17",
                                                "-arch=sm_90a", "-cubin", "-o",
                                                path + ".cubin", path}),
              0);
  }
}

TEST(CudaArchTest, AnswersInWords) {
  const Recurrence &gla = *findRecurrence("simple_gla");
  Spec spec = specOf(gla, Direction::Forward, DType::F32);
  spec.extents = {{"K", 8}, {"V", 8}};
  spec.arch = "hopper";
  Artifact artifact;
  Diagnostics diagnostics;
  EXPECT_FALSE(compile(gla, spec, artifact, diagnostics));
  EXPECT_NE(diagnostics.error.find("sm_90a"), std::string::npos);
}

} // namespace
