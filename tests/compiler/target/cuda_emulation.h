// Runs printed CUDA text on the host: the names that it uses, over warps made
// of fibers. Slow, exact, and strict.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "warp_fibers.h"

#include <math.h>

#define __device__
#define __global__ __attribute__((visibility("default")))
#define __shared__ static
#define __grid_constant__
#define __launch_bounds__(threads)

using emulation::blockIdx;
using emulation::gridDim;
using emulation::threadIdx;

template <typename T>
T __shfl_sync(unsigned, T value, int from) {
  return emulation::exchange(value, from);
}
template <typename T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  return emulation::exchange(value, emulation::warp.lane ^ mask);
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
