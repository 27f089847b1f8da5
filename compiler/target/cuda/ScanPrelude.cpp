// PTX on a device; on the host, what an emulation of it declares.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanPrelude.h"

namespace recurra::cuda {

const char *const scanPrelude = R"cuda(
// Warps hand memory to each other at barriers. The warps that walk poll theirs:
// `arrive` once per warp, `waitFor` a phase (0, 1, 0, ..) to be complete, or ask
// whether it `isOver`; what is read or written meanwhile may cross that, but not
// what stands behind the asking group's `arriveAt`. The
// others would take issue slots by that: they block at numbered barriers, where
// `threads` counts those who arrive and those who wait.
#ifdef __CUDA_ARCH__
struct Barrier { unsigned long long state; };
__device__ inline char *sharedMemory() {
  extern __shared__ __align__(128) char bytes[];
  return bytes;
}
__device__ inline unsigned sharedAddress(const void *p) {
  return (unsigned)__cvta_generic_to_shared(p);
}
__device__ inline void initialise(Barrier *barrier, unsigned threads) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sharedAddress(barrier)), "r"(threads) : "memory");
}
__device__ inline void arrive(Barrier *barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(sharedAddress(barrier)) : "memory");
}
__device__ inline void waitFor(Barrier *barrier, unsigned phase) {
  asm volatile("{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra again;\n}" ::"r"(sharedAddress(barrier)), "r"(phase) : "memory");
}
__device__ inline bool isOver(Barrier *barrier, unsigned phase) {
  unsigned is;
  asm volatile("{\n.reg .pred p;\nmbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(is) : "r"(sharedAddress(barrier)), "r"(phase));
  return is != 0;
}
template <int threads> __device__ inline void arriveAt(int number) {
  asm volatile("bar.arrive %0, %1;" ::"r"(number), "n"(threads) : "memory");
}
template <int threads> __device__ inline void blockAt(int number) {
  asm volatile("bar.sync %0, %1;" ::"r"(number), "n"(threads) : "memory");
}
__device__ inline void syncBlock() { __syncthreads(); }
template <int count> __device__ inline void takeRegisters() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}
template <int count> __device__ inline void giveRegisters() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}
__device__ inline void copyLater(void *to, const void *from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(sharedAddress(to)), "l"(from) : "memory");
}
// On its way into the L2 cache.
__device__ inline void prefetch(const void *from) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
}
__device__ inline void commitCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// All but the latest few groups have arrived.
template <int groups> __device__ inline void waitForCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory");
}
__device__ inline int uniform(int x) { return __shfl_sync(0xffffffffu, x, 0); }
// In a register: no code makes it anew.
__device__ inline int laneKept() {
  const int lane = threadIdx.x % 32;
  return __shfl_sync(0xffffffffu, lane, lane);
}
// Read each time: what is made of it takes no register in between.
__device__ inline int laneAnew() {
  int lane;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

// d += x b on tf32 operands: x a 16 x 8 tile as a lane holds it, b 8 x 8 with
// entries of the lane's two columns of x, for output column lane / 4.
__device__ inline void multiply(float (&d)[4], const float (&x)[4], float b0, float b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(__float_as_uint(x[0])), "r"(__float_as_uint(x[2])), "r"(__float_as_uint(x[1])), "r"(__float_as_uint(x[3])),
        "r"(__float_as_uint(b0)), "r"(__float_as_uint(b1)));
}
// d += a b on bf16 operands, two to a word: a 16 x 8, of which a lane holds two
// columns of its two rows, b 8 x 8.
__device__ inline void multiplyParts(float (&d)[4], const float (&a)[2], unsigned b) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(b));
}
// The same, sixteen deep: a lane holds four columns of a and of b.
__device__ inline void multiplyDeep(float (&d)[4], const float (&a)[4], const float (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])),
        "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
}
// The same to f32's precision: operands in two parts each, the product of the
// small ones left out.
__device__ inline void multiplyExactly(float (&d)[4], const float (&x)[4], float b0, float b1) {
  float high[4], low[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    high[i] = __uint_as_float(__float_as_uint(x[i]) & 0xffffe000u);
    low[i] = x[i] - high[i];
  }
  const float c0 = __uint_as_float(__float_as_uint(b0) & 0xffffe000u), c1 = __uint_as_float(__float_as_uint(b1) & 0xffffe000u);
  multiply(d, low, c0, c1);
  multiply(d, high, b0 - c0, b1 - c1);
  multiply(d, high, c0, c1);
}
#endif

struct alignas(16) Four { float x[4]; };
struct alignas(8) Two { float x[2]; };
template <int n> __device__ inline void fetch(float (&to)[n], const float *from) {
  if constexpr (n % 4 == 0) {
#pragma unroll
    for (int i = 0; i < n; i += 4) {
      const Four four = *reinterpret_cast<const Four *>(from + i);
      to[i] = four.x[0], to[i + 1] = four.x[1], to[i + 2] = four.x[2], to[i + 3] = four.x[3];
    }
  } else {
#pragma unroll
    for (int i = 0; i < n; i += 2) {
      const Two two = *reinterpret_cast<const Two *>(from + i);
      to[i] = two.x[0], to[i + 1] = two.x[1];
    }
  }
}
// Two entries that lie side by side, from an even place on.
__device__ inline void fetchPair(float (&to)[4], int e, const float *from) {
  const Two two = *reinterpret_cast<const Two *>(from);
  to[e] = two.x[0], to[e + 1] = two.x[1];
}
// Where part k of n of a lane lies among those of its warp: up to four side by
// side, with gaps that keep the readers of one part on different banks.
template <int n> __device__ inline int partAt(int k, int lane) {
  constexpr int whole = n / 4 * 4, pair = n % 4 / 2 * 2;
  return k < whole          ? k / 4 * 144 + lane * 4 + k % 4
         : k < whole + pair ? n / 4 * 144 + lane * 2 + k - whole
                            : n / 4 * 144 + 32 * pair + lane;
}
// The same where four lie side by side.
__device__ inline int partOfFour(int k, int lane) { return k / 4 * 144 + lane * 4 + k % 4; }
template <int n> __device__ inline void putParts(float *to, const float (&parts)[n], int lane, bool hasLast = true) {
#pragma unroll
  for (int k = 0; k + 4 <= n; k += 4)
    *reinterpret_cast<Four *>(to + partAt<n>(k, lane)) = Four{{parts[k], parts[k + 1], parts[k + 2], parts[k + 3]}};
  if constexpr (n % 4 >= 2)
    *reinterpret_cast<Two *>(to + partAt<n>(n / 4 * 4, lane)) = Two{{parts[n / 4 * 4], parts[n / 4 * 4 + 1]}};
  if constexpr (n % 2 == 1)
    if (hasLast) to[partAt<n>(n - 1, lane)] = parts[n - 1];
}
__device__ inline void addFour(Four &sum, const float *from, bool isFirst) {
  const Four four = *reinterpret_cast<const Four *>(from);
#pragma unroll
  for (int e = 0; e < 4; ++e) sum.x[e] = isFirst ? four.x[e] : sum.x[e] + four.x[e];
}
// Adds what a lane has in two halves, then what lanes 16 apart have, and if four
// share, 8 apart: each keeps half of the four, the upper lane the upper half.
template <int shares> __device__ inline void addShares(Four &sum, const Four &other, int lane) {
#pragma unroll
  for (int e = 0; e < 4; ++e) sum.x[e] += other.x[e];
#pragma unroll
  for (int count = 2; count >= 4 / shares; count /= 2) {
    const bool isUpper = (lane & 8 * count) != 0;
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      if (e >= count) continue;
      const float kept = isUpper ? sum.x[count + e] : sum.x[e], sent = isUpper ? sum.x[e] : sum.x[count + e];
      sum.x[e] = kept + __shfl_xor_sync(0xffffffffu, sent, 8 * count);
    }
  }
}
// Number k of a four that lane `holder` and those after it share.
template <int shares> __device__ inline float shareOf(const Four &sum, int holder, int k) {
  if constexpr (shares == 4) return __shfl_sync(0xffffffffu, sum.x[0], holder + 8 * k);
  const float even = __shfl_sync(0xffffffffu, sum.x[0], holder + k / 2 * 16);
  const float odd = __shfl_sync(0xffffffffu, sum.x[1], holder + k / 2 * 16);
  return k % 2 ? odd : even;
}
// The leading eight bits of x, as bf16 in the upper half of a word; the rest of
// x stays. Three such parts are all of it.
__device__ inline unsigned takePart(float &x) {
  const unsigned part = __float_as_uint(x) & 0xffff0000u;
  x -= __uint_as_float(part);
  return part;
}
// Two parts in one word.
__device__ inline float pairOf(unsigned low, unsigned high) {
  return __uint_as_float(__byte_perm(low, high, 0x7632));
}
// Of two words of two tokens each, eight tokens apart, those whose bit is set.
__device__ inline void keep(float (&words)[2], unsigned tokens) {
#pragma unroll
  for (int i = 0; i < 2; ++i, tokens >>= 8)
    words[i] = __uint_as_float(__float_as_uint(words[i]) & ((tokens & 1 ? 0xffffu : 0u) | (tokens & 2 ? 0xffff0000u : 0u)));
}
template <bool isTrue> struct Choice { static constexpr bool value = isTrue; };

// Rows of `extent` elements of `count` tokens: 16 bytes at a time where they
// lie so, else one by one.
template <typename T>
__device__ inline void copyTokens(T *to, int pitch, const T *from, Index perToken, Index stride, int count, int extent, int thread, int threads) {
  constexpr int piece = 16 / sizeof(T);
  const bool isWide = stride == 1 && extent % piece == 0 && perToken % piece == 0 && reinterpret_cast<unsigned long long>(from) % 16 == 0;
  if (isWide) {
    const int pieces = extent / piece;
#pragma unroll 1
    for (int i = thread; i < count * pieces; i += threads) {
      const int t = i / pieces, p = i % pieces * piece;
      copyLater(to + t * pitch + p, from + t * perToken + p);
    }
  } else {
#pragma unroll 1
    for (int i = thread; i < count * extent; i += threads) {
      const int t = i / extent, p = i % extent;
      to[t * pitch + p] = from[t * perToken + p * stride];
    }
  }
}

// Flags of a unit of tokens.
enum { isFirstUnit = 1, isLastUnit = 2, isTrace = 4, isHeld = 8, isStop = 16, isCut = 32 };

// What is known of a run of tokens before it is walked. A segment is a part of
// it whose decay after its first token stays within exp(+-limit).
struct Segments { unsigned long long first; int last; short count; bool isStrong; };

// A unit of the tokens that a pass over a run covers; pass 0 walks to the
// segments' ends.
struct Place {
  Index chunk;
  int run, end, u, pass, half;
  bool isHeld;
  int at, count;
  __device__ inline int units() const { return (end + 15) / 16; }
  __device__ inline Place atUnit(bool isBackward) const {
    Place place = *this;
    place.at = 16 * (isBackward ? units() - 1 - u : u);
    place.count = end - place.at < 16 ? end - place.at : 16;
    return place;
  }
};

// From the log decay of each token, by one warp: logScale, the log of the decay
// since the first token of its segment; which tokens start one. Every sum starts
// anew at a cut: no digit is lost to what lies before it.
__device__ inline void findSegments(const float *logDecay, float *logScale, int count, float limit, Segments &segments, int lane) {
  unsigned long long starts = 1;
  int first = 0, found = 1;
  const int t = 2 * lane;
  const float x = t < count ? logDecay[t] : 0, y = t + 1 < count ? logDecay[t + 1] : 0;
  while (true) {
    const float mine = t > first ? x : 0;
    float sum = mine + (t + 1 > first ? y : 0);
#pragma unroll
    for (int by = 1; by < 32; by *= 2) {
      const float before = __shfl_sync(0xffffffffu, sum, lane >= by ? lane - by : lane);
      sum += lane >= by ? before : 0;
    }
    const float last = __shfl_sync(0xffffffffu, sum, lane > 0 ? lane - 1 : 0);
    const float even = (lane > 0 ? last : 0) + mine;
    const bool isEvenCut = t > first && t < count && !(fabsf(even) <= limit);
    const bool isOddCut = t + 1 > first && t + 1 < count && !(fabsf(sum) <= limit);
    const unsigned evens = __ballot_sync(0xffffffffu, isEvenCut), odds = __ballot_sync(0xffffffffu, isOddCut);
    const int evenCut = evens ? 2 * (__ffs(evens) - 1) : count, oddCut = odds ? 2 * __ffs(odds) - 1 : count;
    const int next = evenCut < oddCut ? evenCut : oddCut;
    if (t >= first && t < next) logScale[t] = even;
    if (t + 1 >= first && t + 1 < next) logScale[t + 1] = sum;
    if (next >= count) break;
    first = next;
    starts |= 1ull << first;
    ++found;
  }
  if (lane == 0) {
    segments.first = starts;
    segments.last = first;
    segments.count = found;
    segments.isStrong = !(fabsf(x) <= limit);
  }
}

// The same from the end on: what is left for the first segment is the shorter, so
// that the last one, to whose start a run is walked twice, is long.
__device__ inline void findSegmentsBack(const float *logDecay, float *logScale, int count, float limit, Segments &segments, int lane) {
  unsigned long long starts = 0;
  int end = count, found = 0;
  const int t = 2 * lane;
  const float x = t < count ? logDecay[t] : 0, y = t + 1 < count ? logDecay[t + 1] : 0;
  while (end > 0) {
    const float later = t + 1 < end ? y : 0;
    float sum = (t < end ? x : 0) + later;
#pragma unroll
    for (int by = 1; by < 32; by *= 2) {
      const float behind = __shfl_sync(0xffffffffu, sum, lane + by < 32 ? lane + by : lane);
      sum += lane + by < 32 ? behind : 0;
    }
    // The decay of the segment's tokens after the odd and after the even one.
    const float next = __shfl_sync(0xffffffffu, sum, lane < 31 ? lane + 1 : lane);
    const float odd = lane < 31 ? next : 0, even = odd + later;
    const unsigned evens = __ballot_sync(0xffffffffu, t < end && !(fabsf(even) <= limit));
    const unsigned odds = __ballot_sync(0xffffffffu, t + 1 < end && !(fabsf(odd) <= limit));
    const int evenCut = evens ? 2 * (31 - __clz(evens)) + 1 : 0, oddCut = odds ? 2 * (31 - __clz(odds)) + 2 : 0;
    const int first = evenCut > oddCut ? evenCut : oddCut;
    const float ofEven = __shfl_sync(0xffffffffu, even, first / 2), ofOdd = __shfl_sync(0xffffffffu, odd, first / 2);
    const float all = first % 2 ? ofOdd : ofEven;
    if (t >= first && t < end) logScale[t] = all - even;
    if (t + 1 >= first && t + 1 < end) logScale[t + 1] = all - odd;
    if (found == 0 && lane == 0) segments.last = first;
    starts |= 1ull << first;
    end = first;
    ++found;
  }
  if (lane == 0) {
    segments.first = starts;
    segments.count = found;
    segments.isStrong = !(fabsf(x) <= limit);
  }
}

// Where the segment of token `from` ends, or `end`, if that comes earlier.
__device__ inline int segmentEnd(unsigned long long first, int from, int end) {
  const unsigned long long later = first >> from >> 1;
  const int next = later ? from + __ffsll(later) : end;
  return next < end ? next : end;
}

// Of places found in a unit, the earlier; bit 5 if either has it.
__device__ inline int earlier(int a, int b) {
  const int place = a & 31, other = b & 31;
  return (place < other ? place : other) | ((a | b) & 32);
}
// The earliest of all threads that prepare; `votes` has one for each warp.
template <int warps>
__device__ inline int vote(int place, int *votes, int warp, int lane) {
#pragma unroll
  for (int by = 16; by > 0; by /= 2)
    place = earlier(place, __shfl_xor_sync(0xffffffffu, place, by));
  if (lane == 0) votes[warp] = place;
  blockAt<32 * warps>(1);
#pragma unroll
  for (int w = 0; w < warps; ++w) place = earlier(place, votes[w]);
  return place;
}
)cuda";

} // namespace recurra::cuda
