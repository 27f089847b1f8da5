// Runs a block's fibers: warps take turns, lane after lane up to the next
// exchange. Lanes of a warp that do not meet at the same exchanges are an
// error; so is a block that waits for ever. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "warp_fibers.h"

namespace emulation {

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
