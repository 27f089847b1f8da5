// Runs printed CUDA text on the host: the names that it uses, over warps made
// of fibers. Slow, exact, and strict.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "block_turns.h"
#include "memory_emulation.h"

#include <math.h>

#define __device__
#define __global__ __attribute__((visibility("default")))
#define __shared__ static
#define __grid_constant__
#define __launch_bounds__(...)

using emulation::blockIdx;
using emulation::gridDim;
using emulation::threadIdx;

template <typename T>
T __shfl_sync(unsigned, T value, int from) {
  return emulation::exchange(value, from);
}
template <typename T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  return emulation::exchange(value, emulation::block.lane ^ mask);
}
inline void __syncwarp() { emulation::meet(); }

inline float rsqrtf(float x) { return 1 / sqrtf(x); }
inline double rsqrt(double x) { return 1 / sqrt(x); }

// What kernels in scan form use of a block.

inline char *sharedMemory() { return emulation::block.shared; }
struct Barrier {
  int expected, pending;
  unsigned phase;
};
static_assert(sizeof(Barrier) <= 16);
inline void initialise(Barrier *barrier, int threads) {
  *barrier = {threads, threads, 0};
}
inline void arrive(Barrier *barrier) {
  ++emulation::block.progress;
  if (--barrier->pending == 0) {
    barrier->pending = barrier->expected;
    ++barrier->phase;
  }
}
/// Complete: a phase of the other parity is under way.
inline bool isOver(Barrier *barrier, unsigned parity) {
  return barrier->phase % 2 != parity;
}
inline void waitFor(Barrier *barrier, unsigned parity) {
  emulation::waitUntil([&] { return isOver(barrier, parity); });
}
template <int threads>
void arriveAt(int number) {
  emulation::arriveAt(number, threads);
}
template <int threads>
void blockAt(int number) {
  emulation::syncThreads(number, threads);
}
inline unsigned __ballot_sync(unsigned, bool is) {
  bool all[emulation::lanes];
  emulation::gather(is, all);
  unsigned ballot = 0;
  for (int lane = 0; lane < emulation::lanes; ++lane) {
    ballot |= static_cast<unsigned>(all[lane]) << lane;
  }
  return ballot;
}
inline int __ffs(unsigned bits) {
  return __builtin_ffs(static_cast<int>(bits));
}
inline int __ffsll(unsigned long long bits) {
  return __builtin_ffsll(static_cast<long long>(bits));
}
inline int __clz(unsigned bits) { return __builtin_clz(bits); }
inline void syncBlock() { emulation::syncThreads(0, emulation::block.threads); }
template <int count>
void takeRegisters() {}
template <int count>
void giveRegisters() {}
inline void copyLater(void *to, const void *from) { memcpy(to, from, 16); }
inline void prefetch(const void *) {}
inline void commitCopies() {}
template <int groups>
void waitForCopies() {}
inline int uniform(int x) { return emulation::exchange(x, 0); }
inline int laneAnew() { return threadIdx.x % 32; }
inline int laneKept() { return threadIdx.x % 32; }
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const unsigned long long bytes = static_cast<unsigned long long>(b) << 32 | a;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned from = selector >> 4 * i & 7;
    result |= static_cast<unsigned>(bytes >> 8 * from & 0xff) << 8 * i;
  }
  return result;
}

#include "matrix_emulation.h"
