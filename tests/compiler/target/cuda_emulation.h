// Runs printed CUDA text on the host: the names that it uses, over warps made
// of fibers. Slow, exact, and strict.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "block_turns.h"

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

template <typename To, typename From>
To sameBits(From from) {
  To to;
  memcpy(&to, &from, sizeof(To));
  return to;
}
inline float __int_as_float(int bits) { return sameBits<float>(bits); }
inline float __uint_as_float(unsigned bits) { return sameBits<float>(bits); }
inline unsigned __float_as_uint(float x) { return sameBits<unsigned>(x); }
inline float __half_as_float(unsigned short bits) {
  return sameBits<_Float16>(bits);
}
inline unsigned short __float_as_half(float x) {
  return sameBits<unsigned short>(static_cast<_Float16>(x));
}
inline float rsqrtf(float x) { return 1 / sqrtf(x); }
inline double rsqrt(double x) { return 1 / sqrt(x); }

// What kernels in scan form use of a block.

inline char *sharedMemory() { return emulation::block.shared; }
struct Barrier {
  int expected, pending;
  unsigned phase;
};
static_assert(sizeof(Barrier) <= 16);
inline void initialise(Barrier *barrier, int warps) {
  *barrier = {warps, warps, 0};
}
inline void arrive(Barrier *barrier, int lane) {
  emulation::meet();
  ++emulation::block.progress;
  if (lane == 0 && --barrier->pending == 0) {
    barrier->pending = barrier->expected;
    ++barrier->phase;
  }
}
/// Complete: a phase of the other parity is under way.
inline void waitFor(Barrier *barrier, unsigned parity) {
  emulation::waitUntil([&] { return barrier->phase % 2 != parity; });
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
inline void syncBlock() { emulation::syncThreads(0, emulation::block.threads); }
template <int count>
void takeRegisters() {}
template <int count>
void giveRegisters() {}
inline void copyLater(void *to, const void *from) { memcpy(to, from, 16); }
inline void commitCopies() {}
template <int groups>
void waitForCopies() {}
inline int uniform(int x) { return emulation::exchange(x, 0); }

inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const unsigned long long bytes = static_cast<unsigned long long>(b) << 32 | a;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned from = selector >> 4 * i & 7;
    result |= static_cast<unsigned>(bytes >> 8 * from & 0xff) << 8 * i;
  }
  return result;
}
/// Of bf16 operands, two to a word.
inline void multiplyParts(float (&d)[4], const float (&a)[2], unsigned b) {
  struct Operands {
    float a[2];
    unsigned b;
  } mine{{a[0], a[1]}, b}, all[emulation::lanes];
  emulation::gather(mine, all);
  const int g = emulation::block.lane / 4, c = emulation::block.lane % 4;
  auto half = [](unsigned word, int k) {
    return __uint_as_float(k % 2 ? word & 0xffff0000U : word << 16);
  };
  for (int e = 0; e < 4; ++e) {
    for (int k = 0; k < 8; ++k) {
      const unsigned left = __float_as_uint(all[g * 4 + k / 2].a[e / 2]);
      d[e] += half(left, k) * half(all[(2 * c + e % 2) * 4 + k / 2].b, k);
    }
  }
}
/// Of whole f32 operands: what a GPU rounds off is judged there.
inline void multiply(float (&d)[4], const float (&x)[4], float b0, float b1) {
  struct Operands {
    float x[4], b[2];
  } mine{{x[0], x[1], x[2], x[3]}, {b0, b1}}, all[emulation::lanes];
  emulation::gather(mine, all);
  const int g = emulation::block.lane / 4, c = emulation::block.lane % 4;
  for (int e = 0; e < 4; ++e) {
    for (int k = 0; k < 8; ++k) {
      const float left = all[g * 4 + k / 2].x[e / 2 * 2 + k % 2];
      const float right = all[(2 * c + e % 2) * 4 + k / 2].b[k % 2];
      d[e] += left * right;
    }
  }
}
inline void multiplyExactly(float (&d)[4], const float (&x)[4], float b0,
                            float b1) {
  multiply(d, x, b0, b1);
}
