// Words and PTX on a device; on the host, what an emulation of it declares.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/PointPrelude.h"

const char *const recurra::cuda::pointPrelude = R"cuda(
// Neighbours along an axis, as memory has them.
template <typename T, int n> struct Entries {
  unsigned words[(n * sizeof(T) + 3) / 4];
};

// At an address that 16 divides, or `bytes` if they are fewer.
template <int bytes>
__device__ inline void readWords(unsigned *words, const void *p) {
#ifdef __CUDA_ARCH__
  if constexpr (bytes == 4) {
    words[0] = __ldg(static_cast<const unsigned *>(p));
  } else if constexpr (bytes == 8) {
    const uint2 x = __ldg(static_cast<const uint2 *>(p));
    words[0] = x.x, words[1] = x.y;
  } else {
#pragma unroll
    for (int i = 0; i < bytes / 16; ++i) {
      const uint4 x = __ldg(static_cast<const uint4 *>(p) + i);
      words[4 * i] = x.x, words[4 * i + 1] = x.y;
      words[4 * i + 2] = x.z, words[4 * i + 3] = x.w;
    }
  }
#else
  readVector<bytes>(words, p);
#endif
}
template <int bytes>
__device__ inline void writeWords(void *p, const unsigned *words) {
#ifdef __CUDA_ARCH__
  // A store of uint4 may fall apart into four.
  const unsigned long long to = __cvta_generic_to_global(p);
  if constexpr (bytes == 4) {
    asm volatile("st.global.b32 [%0], %1;" ::"l"(to), "r"(words[0]) : "memory");
  } else if constexpr (bytes == 8) {
    asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(to), "r"(words[0]), "r"(words[1]) : "memory");
  } else {
#pragma unroll
    for (int i = 0; i < bytes; i += 16) {
      const unsigned *const w = words + i / 4;
      asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to + i), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]) : "memory");
    }
  }
#else
  writeVector<bytes>(p, words);
#endif
}

template <typename T, int n>
__device__ inline void put(Entries<T, n> &to, int i, T x) {
  if constexpr (sizeof(T) == 2) {
    const unsigned bits = x.bits;
    to.words[i / 2] = i % 2 == 0 ? bits : to.words[i / 2] | bits << 16;
  } else if constexpr (sizeof(T) == 4) {
    to.words[i] = __float_as_uint(x);
  } else {
    const unsigned long long bits = __double_as_longlong(x);
    to.words[2 * i] = (unsigned)bits, to.words[2 * i + 1] = bits >> 32;
  }
}
template <typename T, int n>
__device__ inline auto entryOf(const Entries<T, n> &from, int i) {
  if constexpr (sizeof(T) == 2) {
    const T x{(unsigned short)(from.words[i / 2] >> 16 * (i % 2))};
    return widen(x);
  } else if constexpr (sizeof(T) == 4) {
    return __uint_as_float(from.words[i]);
  } else {
    return __longlong_as_double(
        (long long)((unsigned long long)from.words[2 * i + 1] << 32 |
                    from.words[2 * i]));
  }
}

// The same number, which the compiler does not know: else it keeps products with
// strides in registers through a loop.
__device__ inline Index opaque(Index x) {
#ifdef __CUDA_ARCH__
  asm volatile("" : "+l"(x));
#endif
  return x;
}
__device__ inline unsigned opaque(unsigned x) {
#ifdef __CUDA_ARCH__
  asm volatile("" : "+r"(x));
#endif
  return x;
}

// The same place, `tokens` later. In bytes: two instructions.
template <typename T>
__device__ inline T *after(T *p, unsigned tokens, Index stride) {
  return (T *)((const char *)p + (Index)(tokens * (unsigned)sizeof(T)) * stride);
}

// `isWide`: the entries lie side by side at an address for vectors.
template <typename T, int n>
__device__ inline void take(Entries<T, n> &to, const T *p, Index stride,
                            bool isWide) {
  if (isWide) {
    readWords<n * sizeof(T)>(to.words, p);
    return;
  }
  stride = opaque(stride);
#pragma unroll
  for (int i = 0; i < n; ++i) {
    put(to, i, readOnly(&p[i * stride]));
  }
}
template <typename T> __device__ inline void take(Entries<T, 1> &to, const T *p) {
  put(to, 0, readOnly(p));
}

// Two entries in a word, rounded to nearest even.
__device__ inline unsigned pairOf(bf16, float low, float high) {
#ifdef __CUDA_ARCH__
  unsigned word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
#else
  bf16 a, b;
  narrow(a, low), narrow(b, high);
  return (unsigned)b.bits << 16 | a.bits;
#endif
}
__device__ inline unsigned pairOf(f16, float low, float high) {
  f16 a, b;
  narrow(a, low), narrow(b, high);
  return (unsigned)b.bits << 16 | a.bits;
}
template <typename T, int n, typename F>
__device__ inline void give(T *p, Index stride, bool isWide, const F *x) {
  if (isWide) {
    Entries<T, n> to;
#pragma unroll
    for (int i = 0; i < n; ++i) {
      if constexpr (sizeof(T) > 2) {
        T y;
        narrow(y, x[i]);
        put(to, i, y);
      } else if (i % 2 == 0) {
        to.words[i / 2] = pairOf(T{}, x[i], x[i + 1]);
      }
    }
    writeWords<n * sizeof(T)>(p, to.words);
    return;
  }
  stride = opaque(stride);
#pragma unroll
  for (int i = 0; i < n; ++i) {
    narrow(p[i * stride], x[i]);
  }
}

// That vectors of n entries may be used, along dimension `last`.
template <typename T, int n>
__device__ inline bool isWide(const Buffer &buffer, int last) {
  constexpr int bytes = n * sizeof(T) < 16 ? n * sizeof(T) : 16;
  Index rest = reinterpret_cast<Index>(buffer.data) % bytes;
#pragma unroll
  for (int i = 0; i < last; ++i) {
    rest |= buffer.strides[i] % n;
  }
  return rest == 0 && buffer.strides[last] == 1;
}

// That token 0 of a row follows the last one of the row before.
__device__ inline bool rowsFollow(const Buffer &buffer, const Shape &shape) {
  return shape.rows == 1 ||
         buffer.strides[0] == shape.tokens * buffer.strides[1];
}

// Workers are shared out first to heads, then to rows, then to tokens: each has
// the first of these, and all of `heads`, `rows`, `tokens` are between it and
// its next ones. Rows that follow each other are one.
struct Share {
  Index head, heads, row, rows, token;
  unsigned tokens;
  Index allRows, begin, end; // of all the work
  bool isMine;               // else nothing is left for this worker
};
__device__ inline Share shareOut(const Shape &shape, Index heads, bool areOne,
                                 unsigned worker, unsigned workers) {
  Share s;
  s.allRows = areOne ? 1 : shape.rows;
  s.begin = shape.offsets ? shape.offsets[0] : 0;
  s.end = shape.offsets ? shape.offsets[shape.sequences]
          : areOne      ? shape.rows * shape.tokens
                        : shape.tokens;
  const unsigned wide = heads < workers ? (unsigned)heads : workers;
  const unsigned across = workers / wide, column = worker / wide;
  const unsigned high = s.allRows < across ? (unsigned)s.allRows : across;
  s.heads = wide, s.head = worker % wide;
  s.rows = high, s.row = column % high;
  s.tokens = across / high, s.token = column / high;
  s.isMine = s.token < s.tokens;
  return s;
}

// Combines a number over the lanes of a point: every lane gets the same result.
template <bool isMax, int lanes, typename T>
__device__ inline void overPoint(T &x, int lane) {
  constexpr unsigned all = 0xffffffffu;
  if constexpr (lanes % 3 != 0) {
#pragma unroll
    for (int mask = lanes / 2; mask > 0; mask /= 2) {
      x = combine<isMax>(x, __shfl_xor_sync(all, x, mask));
    }
  } else {
    const int mine = lane % lanes, first = lane - mine;
    if constexpr (lanes == 6) {
      const T other = __shfl_sync(all, x, (first + (mine + 3) % 6) % 32);
      x = combine<isMax>(x, other);
    }
    const T a = __shfl_sync(all, x, first);
    const T b = __shfl_sync(all, x, (first + 1) % 32);
    const T c = __shfl_sync(all, x, (first + 2) % 32);
    x = combine<isMax>(combine<isMax>(a, b), c);
  }
}

// 1 / (1 + exp(-x)) within a few ulp and, for x < 0, |x| 2^-24 of it.
__device__ inline float sigmoidOf(float x) {
#ifdef __CUDA_ARCH__
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x * -1.442695041f));
  return reciprocal(1.0f + power);
#else
  return 1.0f / (1.0f + expf(-x));
#endif
}
)cuda";
