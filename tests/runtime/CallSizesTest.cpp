// What symbolic sizes stand for in a call: how many spans there can be.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/CallSizes.h"

#include <gtest/gtest.h>

namespace recurra {
namespace {

/// "P" and "J" of a call of a kernel whose tasks have spans of 512 tokens.
std::pair<std::int64_t, std::int64_t>
spansOf(std::int64_t batch, std::int64_t tokens, std::int64_t sequences = 0) {
  recurra_kernel kernel;
  kernel.spec.target = "cuda";
  kernel.spec.packed = sequences > 0;
  kernel.artifact.spanTokens = 512;
  std::int64_t onTheDevice = 0; // its address alone is looked at
  recurra_sizes given{};
  given.batch = batch;
  given.tokens = tokens;
  given.heads = 1;
  given.sequences = sequences;
  given.offsets = sequences > 0 ? &onTheDevice : nullptr;
  CallSizes sizes;
  Status status = readSizes(kernel, given, sizes);
  EXPECT_TRUE(status.ok()) << status.message;
  return {sizes.value("P"), sizes.value("J")};
}

using Counts = std::pair<std::int64_t, std::int64_t>;

TEST(CallSizes, RowsHaveEqualSpans) {
  EXPECT_EQ(spansOf(3, 0), Counts(3, 0));
  EXPECT_EQ(spansOf(3, 1), Counts(3, 0));
  EXPECT_EQ(spansOf(3, 512), Counts(3, 0));
  EXPECT_EQ(spansOf(3, 513), Counts(6, 1));
  EXPECT_EQ(spansOf(1, 32768), Counts(64, 1));
}

/// Wherever their offsets are: each sequence begins a span, and so does every
/// 512th token at most.
TEST(CallSizes, PackedSequencesHaveSlotsForTheMost) {
  EXPECT_EQ(spansOf(1, 512, 7), Counts(7, 0));
  EXPECT_EQ(spansOf(1, 1300, 3), Counts(5, 1));
}

/// The logarithm of a part's tokens and the slots of parts, where up to 64
/// heads are few and a span has 4096 tokens; 0: all of a sequence.
std::pair<std::int64_t, std::int64_t>
partsOf(std::int64_t batch, std::int64_t tokens, std::int64_t heads,
        std::int64_t fewHeads = 64, std::int64_t spanTokens = 4096) {
  recurra_kernel kernel;
  kernel.spec.target = "cuda";
  kernel.artifact.spanTokens = spanTokens;
  kernel.artifact.fewHeads = fewHeads;
  recurra_sizes given{};
  given.batch = batch;
  given.tokens = tokens;
  given.heads = heads;
  CallSizes sizes;
  Status status = readSizes(kernel, given, sizes);
  EXPECT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(sizes.value("A"), sizes.partBits > 0);
  // Without parts a task has all of a span, or of any sequence.
  std::int64_t whole = spanTokens > 0 ? 12 : 62;
  EXPECT_EQ(sizes.taskBits, sizes.partBits > 0 ? sizes.partBits : whole);
  return {sizes.partBits, sizes.value("Q")};
}

TEST(CallSizes, FewHeadsAreWalkedInParts) {
  EXPECT_EQ(partsOf(1, 4096, 16), Counts(9, 8));
  EXPECT_EQ(partsOf(1, 4097, 16), Counts(9, 9));
  EXPECT_EQ(partsOf(1, 4096, 64), Counts(11, 2));
  EXPECT_EQ(partsOf(1, 32768, 1), Counts(8, 128));
  EXPECT_EQ(partsOf(2, 300, 2), Counts(7, 6));
  EXPECT_EQ(partsOf(1, 129, 1), Counts(7, 2));
}

TEST(CallSizes, SequencesWithoutSpansHavePartsToo) {
  EXPECT_EQ(partsOf(1, 9000, 40), Counts(0, 3));
  EXPECT_EQ(partsOf(1, 9000, 40, 64, 0), Counts(11, 5));
  EXPECT_EQ(partsOf(1, 9000, 65, 64, 0), Counts(0, 1));
}

TEST(CallSizes, NoPartsWhereHeadsFillAGpuOrSequencesAreShort) {
  EXPECT_EQ(partsOf(1, 4096, 65), Counts(0, 1));
  EXPECT_EQ(partsOf(1, 4097, 33), Counts(0, 2));
  EXPECT_EQ(partsOf(8, 4096, 16), Counts(0, 8));
  EXPECT_EQ(partsOf(1, 128, 16), Counts(0, 1));
  EXPECT_EQ(partsOf(1, 0, 16), Counts(0, 1));
  EXPECT_EQ(partsOf(1, 4096, 16, 0), Counts(0, 1));
  EXPECT_EQ(partsOf(1, 4096, 0, 0), Counts(0, 1));
}

/// Kernels that count in 32 bits say so; no number wraps.
TEST(CallSizes, MoreTasksThanAKernelCountsAreRefused) {
  CallSizes sizes;
  sizes.sequences = 1LL << 30;
  sizes.heads = 4;
  Nest nest;
  nest.entry = "scan";
  nest.tasks = {"N", "H"};
  std::int64_t tasks = 0;
  EXPECT_TRUE(sizes.tasksOf(nest, tasks).ok());
  EXPECT_EQ(tasks, 1LL << 32);
  nest.mostTasks = (1LL << 32) - 1;
  Status status = sizes.tasksOf(nest, tasks);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message.find("split the batch"), std::string::npos)
      << status.message;
  sizes.heads = 3;
  EXPECT_TRUE(sizes.tasksOf(nest, tasks).ok());
}

} // namespace
} // namespace recurra
