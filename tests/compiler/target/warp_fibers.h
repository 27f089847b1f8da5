// A warp as 32 fibers on the host: they take turns, and change places at every
// exchange. Lanes that do not meet at the same exchanges are an error.
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
constexpr int stackBytes = 1 << 20;

struct Warp {
  ucontext_t scheduler;
  ucontext_t fibers[lanes];
  bool done[lanes];
  unsigned exchanges[lanes];
  char slots[2][lanes][8];
  char *stacks = static_cast<char *>(malloc(lanes * stackBytes));
  void (*body)(void *);
  void *argument;
  int lane;
};
inline Warp warp;

inline void runLane() {
  warp.body(warp.argument);
  warp.done[warp.lane] = true;
}

/// Everyone runs up to here before anyone runs on.
inline void meet() {
  ++warp.exchanges[warp.lane];
  swapcontext(&warp.fibers[warp.lane], &warp.scheduler);
}

template <typename T>
T exchange(T value, int from) {
  auto &slots = warp.slots[warp.exchanges[warp.lane] % 2];
  memcpy(slots[warp.lane], &value, sizeof(T));
  meet();
  memcpy(&value, slots[from], sizeof(T));
  return value;
}

inline void complain(const char *what) {
  fprintf(stderr, "cuda emulation: %s\n", what);
  abort();
}

inline void runWarp(unsigned number) {
  for (int lane = 0; lane < lanes; ++lane) {
    warp.done[lane] = false;
    warp.exchanges[lane] = 0;
    getcontext(&warp.fibers[lane]);
    warp.fibers[lane].uc_stack.ss_sp = warp.stacks + lane * stackBytes;
    warp.fibers[lane].uc_stack.ss_size = stackBytes;
    warp.fibers[lane].uc_link = &warp.scheduler;
    makecontext(&warp.fibers[lane], runLane, 0);
  }
  while (!warp.done[0]) {
    for (warp.lane = 0; warp.lane < lanes; ++warp.lane) {
      threadIdx.x = number * lanes + warp.lane;
      swapcontext(&warp.scheduler, &warp.fibers[warp.lane]);
      if (warp.done[warp.lane] != warp.done[0] ||
          warp.exchanges[warp.lane] != warp.exchanges[0]) {
        complain("lanes part at a shuffle");
      }
    }
  }
}

template <typename Kernel>
void launch(unsigned blocks, unsigned warps, Kernel &kernel) {
  warp.body = [](void *argument) { (*static_cast<Kernel *>(argument))(); };
  warp.argument = &kernel;
  gridDim.x = blocks;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    for (unsigned number = 0; number < warps; ++number) {
      runWarp(number);
    }
  }
}

} // namespace emulation
