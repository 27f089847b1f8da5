// A block's threads as fibers on the host: what they share, and how they hand
// it over. They change places at every exchange.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

namespace emulation {

struct Place {
  unsigned x;
};
inline Place threadIdx, blockIdx, gridDim;

constexpr int lanes = 32;
constexpr int maxWarps = 32;
constexpr int stackBytes = 1 << 18;
constexpr int slotBytes = 32;

struct Warp {
  ucontext_t fibers[lanes];
  bool done[lanes];
  unsigned exchanges[lanes];
  char slots[2][lanes][slotBytes];
};

struct Block {
  ucontext_t scheduler;
  Warp warps[maxWarps];
  char *stacks = static_cast<char *>(malloc(maxWarps * lanes * stackBytes));
  char *shared = static_cast<char *>(aligned_alloc(128, 1 << 18));
  void (*body)(void *);
  void *argument;
  int warp, lane, threads;
  int arrived[16];         ///< at the barriers of roles
  unsigned generation[16]; ///< how often each was complete
  long progress;           ///< exchanges that were no waiting
};
inline Block block;

inline Warp &thisWarp() { return block.warps[block.warp]; }

inline void runLane() {
  block.body(block.argument);
  thisWarp().done[block.lane] = true;
}

/// Everyone in the warp runs up to here before anyone runs on.
inline void meet() {
  Warp &warp = thisWarp();
  ++warp.exchanges[block.lane];
  swapcontext(&warp.fibers[block.lane], &block.scheduler);
}

template <typename T>
T exchange(T value, int from) {
  static_assert(sizeof(T) <= slotBytes);
  Warp &warp = thisWarp();
  auto &slots = warp.slots[warp.exchanges[block.lane] % 2];
  memcpy(slots[block.lane], &value, sizeof(T));
  meet();
  memcpy(&value, slots[from], sizeof(T));
  return value;
}

/// Everyone's value; `others` has one per lane.
template <typename T>
void gather(const T &value, T *others) {
  static_assert(sizeof(T) <= slotBytes);
  Warp &warp = thisWarp();
  auto &slots = warp.slots[warp.exchanges[block.lane] % 2];
  memcpy(slots[block.lane], &value, sizeof(T));
  meet();
  for (int lane = 0; lane < lanes; ++lane) {
    memcpy(&others[lane], slots[lane], sizeof(T));
  }
}

inline void complain(const char *what) {
  fprintf(stderr, "cuda emulation: %s\n", what);
  abort();
}

/// Waits until `isReady` says so to lane 0, whose word all lanes take.
template <typename Ready>
void waitUntil(Ready isReady) {
  while (!exchange(isReady(), 0)) {
  }
  ++block.progress;
}

/// One warp more at a barrier where `threads` threads meet.
inline void arriveAt(int number, int threads) {
  meet();
  ++block.progress;
  if (block.lane == 0 && ++block.arrived[number] * lanes == threads) {
    block.arrived[number] = 0;
    ++block.generation[number];
  }
}

/// Arrives, and waits until all have.
inline void syncThreads(int number, int threads) {
  unsigned before = exchange(block.generation[number], 0);
  arriveAt(number, threads);
  waitUntil([&] { return block.generation[number] != before; });
}

} // namespace emulation
