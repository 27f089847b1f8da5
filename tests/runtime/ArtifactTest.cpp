// The byte form of Artifact: complete, and never read back damaged.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Artifact.h"

#include <gtest/gtest.h>

namespace recurra {
namespace {

Artifact sample() {
  Artifact artifact;
  artifact.target = "cpu";
  artifact.arch = "avx512";
  artifact.code = std::string("\x7f"
                              "ELF\0\1\2\3",
                              8);
  artifact.arguments = {
      {Argument::Input, "q", DType::BF16, {"B", "T", "Hg", "48"}},
      {Argument::InitialStateGradient, "M", DType::F32, {"N", "H", "48"}}};
  artifact.workspaces = {{DType::F64, {"S", "H"}}};
  artifact.nests = {{"nest0", {"N", "H", "6"}, 4096}, {"nest1", {}, 0}};
  artifact.checkpointInterval = 64;
  artifact.spanTokens = 512;
  artifact.plan = "walk";
  artifact.remarks = {"declined: because"};
  return artifact;
}

TEST(Artifact, BytesRoundTrip) {
  Artifact back;
  ASSERT_TRUE(deserialise(serialise(sample()), back));
  EXPECT_EQ(back.arch, "avx512");
  EXPECT_EQ(back.code, sample().code);
  ASSERT_EQ(back.arguments.size(), 2u);
  EXPECT_EQ(back.arguments[0].shape, sample().arguments[0].shape);
  EXPECT_EQ(back.arguments[1].kind, Argument::InitialStateGradient);
  EXPECT_EQ(back.arguments[0].dtype, DType::BF16);
  ASSERT_EQ(back.workspaces.size(), 1u);
  EXPECT_EQ(back.workspaces[0].dtype, DType::F64);
  ASSERT_EQ(back.nests.size(), 2u);
  EXPECT_EQ(back.nests[0].tasks, sample().nests[0].tasks);
  EXPECT_EQ(back.nests[0].scratchBytes, 4096);
  EXPECT_EQ(back.checkpointInterval, 64);
  EXPECT_EQ(back.spanTokens, 512);
  EXPECT_EQ(back.remarks, sample().remarks);
  EXPECT_EQ(serialise(back), serialise(sample()));
}

TEST(Artifact, AnyFlippedBitIsRejected) {
  const std::string bytes = serialise(sample());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      Artifact back;
      ASSERT_FALSE(deserialise(damaged, back)) << "byte " << i;
    }
  }
}

TEST(Artifact, AnyTruncationIsRejected) {
  const std::string bytes = serialise(sample());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    Artifact back;
    ASSERT_FALSE(deserialise(bytes.substr(0, size), back)) << size;
  }
  Artifact back;
  EXPECT_FALSE(deserialise(bytes + '\0', back));
}

} // namespace
} // namespace recurra
