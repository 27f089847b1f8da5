// The prelude's text. It compiles with NVRTC, with nvcc, and, given the few
// names of the device that it uses, as C++.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/Prelude.h"

const char *const recurra::cuda::prelude = R"cuda(
typedef long long Index;
struct Buffer { char *data; Index strides[8]; };
struct Shape { Index rows, tokens, heads, sequences; const Index *offsets; Index partBits; };
struct bf16 { unsigned short bits; };
struct f16 { unsigned short bits; };

__device__ inline float widen(float x) { return x; }
__device__ inline double widen(double x) { return x; }
__device__ inline float widen(bf16 x) {
  return __uint_as_float((unsigned)x.bits << 16);
}
__device__ inline float widen(f16 x) {
#ifdef __CUDA_ARCH__
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
#else
  return __half_as_float(x.bits);
#endif
}

// What no thread writes: such loads need not wait for stores before them.
template <typename T> __device__ inline T readOnly(const T *p) {
#ifdef __CUDA_ARCH__
  T x;
  if constexpr (sizeof(T) == 2) {
    unsigned short bits = __ldg(reinterpret_cast<const unsigned short *>(p));
    reinterpret_cast<unsigned short &>(x) = bits;
  } else {
    x = __ldg(p);
  }
  return x;
#else
  return *p;
#endif
}

// Rounded to nearest even.
__device__ inline void narrow(float &to, double x) { to = (float)x; }
__device__ inline void narrow(double &to, double x) { to = x; }
__device__ inline void narrow(bf16 &to, float x) {
#ifdef __CUDA_ARCH__
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(to.bits) : "f"(x));
#else
  unsigned bits = __float_as_uint(x);
  bool isNan = (bits & 0x7fffffff) > 0x7f800000;
  to.bits = isNan ? 0x7fc0 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
#endif
}
__device__ inline void narrow(f16 &to, float x) {
#ifdef __CUDA_ARCH__
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to.bits) : "f"(x));
#else
  to.bits = __float_as_half(x);
#endif
}

// 1 / x within 1 ulp: one instruction.
__device__ inline float reciprocal(float x) {
#ifdef __CUDA_ARCH__
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return 1.0f / x;
#endif
}
// NaN if one of them is.
template <typename T> __device__ inline T larger(T a, T b) {
  return a > b || a != a ? a : b;
}
template <bool isMax, typename T> __device__ inline T combine(T a, T b) {
  return isMax ? larger(a, b) : a + b;
}

// Combines each of n numbers over the lanes of the warp; every lane gets all
// results. Halves what a lane holds at each step, in an order that depends on n
// alone, then hands the results round.
template <bool isMax, int n, typename T>
__device__ inline void overLanes(T (&x)[n], int lane) {
  int count = n;
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) {
    const bool upper = (lane & mask) != 0;
    const int half = (count + 1) / 2;
    if (count == 1) {
      x[0] = combine<isMax>(x[0], __shfl_xor_sync(0xffffffffu, x[0], mask));
      continue;
    }
#pragma unroll
    for (int i = 0; i < n; ++i) {
      if (i < half) {
        const T high = i + half < count ? x[i + half < n ? i + half : 0] : x[i];
        const T sent = __shfl_xor_sync(0xffffffffu, upper ? x[i] : high, mask);
        x[i] = combine<isMax>(upper ? high : x[i], sent);
      }
    }
    count = half;
  }
  if constexpr (n == 1) return; // every lane has it
  T mine[(n + 31) / 32];
#pragma unroll
  for (int i = 0; i < (n + 31) / 32; ++i) {
    mine[i] = x[i];
  }
#pragma unroll
  for (int i = 0; i < n; ++i) {
    int slot = i, from = 0, left = n;
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) {
      const int half = (left + 1) / 2;
      const bool upper = left > 1 && slot >= half;
      from += upper ? mask : 0;
      slot -= upper ? half : 0;
      left = half;
    }
    x[i] = __shfl_sync(0xffffffffu, mine[slot], from);
  }
}
template <bool isMax, typename T>
__device__ inline void overLanes(T &x, int lane) {
  T one[1] = {x};
  overLanes<isMax, 1>(one, lane);
  x = one[0];
}
)cuda";
