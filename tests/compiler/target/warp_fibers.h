// A block as fibers on the host, one per thread: they take turns, and change
// places at every exchange. Lanes of a warp that do not meet at the same
// exchanges are an error; so is a block that waits for ever.
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

inline void startWarp(int number) {
  Warp &warp = block.warps[number];
  for (int lane = 0; lane < lanes; ++lane) {
    warp.done[lane] = false;
    warp.exchanges[lane] = 0;
    getcontext(&warp.fibers[lane]);
    warp.fibers[lane].uc_stack.ss_sp =
        block.stacks + (number * lanes + lane) * stackBytes;
    warp.fibers[lane].uc_stack.ss_size = stackBytes;
    warp.fibers[lane].uc_link = &block.scheduler;
    makecontext(&warp.fibers[lane], runLane, 0);
  }
}

/// Every lane of one warp up to its next exchange.
inline void turn(int number) {
  Warp &warp = block.warps[number];
  block.warp = number;
  for (block.lane = 0; block.lane < lanes; ++block.lane) {
    threadIdx.x = number * lanes + block.lane;
    swapcontext(&block.scheduler, &warp.fibers[block.lane]);
    if (warp.done[block.lane] != warp.done[0] ||
        warp.exchanges[block.lane] != warp.exchanges[0]) {
      complain("lanes part at a shuffle");
    }
  }
  block.progress += warp.done[0];
}

inline void runBlock(int warps) {
  constexpr int patience = 100000; // turns of all warps
  for (int number = 0; number < warps; ++number) {
    startWarp(number);
  }
  int idle = 0;
  for (bool isRunning = true; isRunning;) {
    isRunning = false;
    long before = block.progress;
    for (int number = 0; number < warps; ++number) {
      if (!block.warps[number].done[0]) {
        turn(number);
        isRunning = true;
      }
    }
    idle = block.progress == before ? idle + 1 : 0;
    if (idle > patience) {
      complain("a block waits for ever");
    }
  }
}

template <typename Kernel>
void launch(unsigned blocks, unsigned warps, Kernel &kernel) {
  block.body = [](void *argument) { (*static_cast<Kernel *>(argument))(); };
  block.argument = &kernel;
  gridDim.x = blocks;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    memset(block.arrived, 0, sizeof(block.arrived));
    memset(block.shared, 0xff, 1 << 18);
    block.threads = static_cast<int>(warps) * lanes;
    runBlock(static_cast<int>(warps));
  }
}

} // namespace emulation
