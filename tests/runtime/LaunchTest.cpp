// Launching: values, sizes that vary, borrowed memory and threads, complaints.
// SPDX-License-Identifier: Apache-2.0
#include "RunningCall.h"

#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

namespace recurra {
namespace {

using testing::HasSubstr;

void expectRight(const RunningCall &call) {
  std::vector<float> y, final;
  call.expect(y, final);
  EXPECT_EQ(call.y, y);
  EXPECT_EQ(call.final, final);
}

std::string complaint(const RunningCall &call, bool savesCheckpoints = false) {
  Spec spec = runningSpec(!call.offsets.empty());
  spec.saveCheckpoints = savesCheckpoints;
  try {
    Kernel::compile(runningSum(), spec).launch(call.tensors, call.sizes());
  } catch (const UserError &error) {
    return error.what();
  }
  return "(no complaint)";
}

TEST(Launch, ComputesAnyBatchTokensHeads) {
  for (std::int64_t batch : {0, 1, 3}) {
    for (std::int64_t tokens : {0, 1, 7}) {
      for (std::int64_t heads : {0, 1, 2}) {
        RunningCall call(batch, tokens, heads);
        call.launch();
        expectRight(call);
      }
    }
  }
}

TEST(Launch, ComputesPackedSequencesAndEmptyOnes) {
  for (const std::vector<std::int64_t> &offsets :
       std::vector<std::vector<std::int64_t>>{
           {0, 0, 16}, {0, 16, 16}, {0, 0, 0}, {0, 1, 3, 4}, {0}}) {
    RunningCall call(1, offsets.back(), 2, offsets);
    call.launch();
    expectRight(call);
  }
}

TEST(Launch, NullDataIsFineWhereASizeIsZero) {
  RunningCall call(2, 0, 3);
  call.tensors[0].data = nullptr;
  call.tensors[2].data = nullptr;
  call.launch();
  expectRight(call); // the state passes through
}

TEST(Launch, FollowsStrides) {
  RunningCall call(2, 5, 3), reversed(2, 5, 3);
  call.launch();
  // y backwards in heads, x the same token over and over.
  reversed.tensors[2].data = reversed.y.data() + 2 * 4;
  reversed.tensors[2].strides[2] = -4;
  reversed.launch();
  for (std::int64_t row = 0; row < 10; ++row) {
    for (std::int64_t i = 0; i < 12; ++i) {
      EXPECT_EQ(reversed.y[row * 12 + (2 - i / 4) * 4 + i % 4],
                call.y[row * 12 + i]);
    }
  }
  RunningCall repeated(1, 5, 1);
  repeated.tensors[0].strides[1] = 0;
  repeated.launch();
  EXPECT_EQ(repeated.y[4 * 4], 100 + 5 * 1);
}

/// Lends memory and two threads, and keeps count.
struct Lender {
  std::atomic<int> allocated{0}, released{0}, ranges{0};
  bool broke = false;
  static void *allocate(void *self, std::int64_t bytes) {
    auto *lender = static_cast<Lender *>(self);
    ++lender->allocated;
    return lender->broke ? nullptr
                         : std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  }
  static void release(void *self, void *memory) {
    ++static_cast<Lender *>(self)->released;
    std::free(memory);
  }
  static void parallelFor(void *self, std::int64_t count,
                          void (*body)(void *, std::int64_t, std::int64_t),
                          void *argument) {
    static_cast<Lender *>(self)->ranges += 2;
    std::thread other(body, argument, count / 2, count);
    body(argument, 0, count / 2);
    other.join();
  }
  recurra_host host() { return {this, allocate, release, parallelFor}; }
};

TEST(Launch, BorrowsMemoryAndThreads) {
  Lender lender;
  recurra_host host = lender.host();
  RunningCall call(3, 9, 2);
  call.launch(&host);
  expectRight(call);
  EXPECT_EQ(lender.ranges, 4);    // two nests, two ranges each
  EXPECT_EQ(lender.allocated, 3); // the workspace, scratch of two ranges
  EXPECT_EQ(lender.released, 3);
}

TEST(Launch, NoMemoryIsAnErrorAndNoCrash) {
  Lender lender;
  lender.broke = true;
  recurra_host host = lender.host();
  RunningCall call(3, 9, 2);
  try {
    call.launch(&host);
    FAIL();
  } catch (const UserError &error) {
    EXPECT_THAT(error.what(), HasSubstr("24 bytes"));
  }
}

TEST(LaunchErrors, NameTheTensorTheRuleAndTheRemedy) {
  RunningCall call(2, 5, 3);
  call.tensors[0].dtype = DType::BF16;
  EXPECT_THAT(
      complaint(call),
      HasSubstr("input 'x' is bf16 but the kernel was compiled for f32; "
                "convert it"));
  call = RunningCall(2, 5, 3);
  call.tensors[1].sizes = {2, 3};
  EXPECT_THAT(complaint(call),
              HasSubstr("initial state 'S' has 2 dimensions but its shape is "
                        "[N, H, 4] = [2, 3, 4]; pass 3 dimensions"));
  RunningCall other(2, 5, 3);
  other.tensors[2].sizes[1] = 6;
  EXPECT_THAT(complaint(other),
              HasSubstr("output 'y' has size 6 in dimension 1 but its shape is "
                        "[B, T, H, 4] = [2, 5, 3, 4]; pass size 5"));
  RunningCall overlapping(2, 5, 3);
  overlapping.tensors[3].strides[0] = 0;
  EXPECT_THAT(complaint(overlapping),
              HasSubstr("final state 'S' has stride 0 in dimension 0"));
  RunningCall null(2, 5, 3);
  null.tensors[0].data = nullptr;
  EXPECT_THAT(complaint(null), HasSubstr("input 'x' has no data"));
  RunningCall fewer(2, 5, 3);
  fewer.tensors.pop_back();
  EXPECT_THAT(complaint(fewer),
              HasSubstr("the call has 3 tensors but the kernel takes 4: input "
                        "'x', initial state 'S', output 'y', final state 'S'"));
}

TEST(LaunchErrors, NameTheCheckpointsThatAreNotDense) {
  RunningCall call(2, 5, 3);
  EXPECT_EQ(complaint(call, /*savesCheckpoints=*/true), "(no complaint)");
  expectRight(call);
  std::vector<float> wide(2 * call.final.size());
  call.tensors[3].data = wide.data();
  call.tensors[3].strides[0] *= 2;
  EXPECT_EQ(complaint(call), "(no complaint)"); // a state may have gaps
  EXPECT_THAT(complaint(call, true),
              HasSubstr("checkpoints of state 'S' have gaps between their "
                        "elements, or do not begin at a multiple of 8 bytes; "
                        "pass dense memory"));
  RunningCall shifted(2, 5, 3);
  shifted.tensors[3].data = wide.data() + 1;
  EXPECT_THAT(complaint(shifted, true), HasSubstr("checkpoints of state 'S'"));
  RunningCall single(1, 5, 3);
  single.tensors[3].strides[0] = 1000; // of one slot: never taken
  EXPECT_EQ(complaint(single, true), "(no complaint)");
}

TEST(LaunchErrors, NameTheSize) {
  RunningCall call(2, 5, 3);
  call.heads = -1;
  EXPECT_THAT(complaint(call), HasSubstr("heads = -1 is negative"));
  call.heads = 3;
  call.batch = std::int64_t{1} << 62;
  EXPECT_THAT(complaint(call), HasSubstr("does not fit in 64 bits"));
}

TEST(LaunchErrors, NameTheOffset) {
  RunningCall call(1, 16, 2, {0, 5, 16});
  call.offsets = {1, 5, 16};
  EXPECT_THAT(complaint(call), HasSubstr("cu_seqlens starts at 1; it must"));
  call.offsets = {0, 7, 5};
  EXPECT_THAT(complaint(call),
              HasSubstr("cu_seqlens falls from 7 to 5 at entry 2"));
  call.offsets = {0, 17, 16};
  EXPECT_THAT(complaint(call), HasSubstr("cu_seqlens has 17 at entry 1 but "
                                         "there are 16 tokens"));
  call.offsets = {0, 5, 15};
  EXPECT_THAT(complaint(call), HasSubstr("cu_seqlens ends at 15"));
  RunningCall rows(1, 16, 2, {0, 5, 16});
  rows.batch = 2;
  EXPECT_THAT(complaint(rows), HasSubstr("cu_seqlens needs a batch of 1"));
}

TEST(LaunchErrors, PackedKernelsAndPackedCallsGoTogether) {
  RunningCall call(1, 16, 2, {0, 5, 16});
  Kernel plain = Kernel::compile(runningSum(), runningSpec());
  EXPECT_THROW(plain.launch(call.tensors, call.sizes()), UserError);
  RunningCall dense(1, 16, 2);
  Kernel packed = Kernel::compile(runningSum(), runningSpec(true));
  EXPECT_THROW(packed.launch(dense.tensors, dense.sizes()), UserError);
}

TEST(LaunchErrors, HeadsMustFillTheirGroups) {
  Spec spec = runningSpec();
  spec.group = 2;
  RunningCall call(1, 4, 3);
  try {
    Kernel::compile(runningSum(), spec).launch(call.tensors, call.sizes());
    FAIL();
  } catch (const UserError &error) {
    EXPECT_THAT(error.what(), HasSubstr("heads = 3 is no multiple of the group "
                                        "size 2"));
  }
}

} // namespace
} // namespace recurra
