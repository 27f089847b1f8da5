// The prelude of kernels that walk spans of tokens side by side.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanSpans.h"

namespace recurra::cuda {

const char *const spanPrelude = R"cuda(
// A span of a sequence's tokens, which blocks walk side by side: `number` of
// `count`. All spans have slots; between packed sequences some slots are empty.
struct TokenSpan { Index sequence, number, count; };
template <int tokens> __device__ inline Index spansOf(Index length) {
  return length > tokens ? (length - 1) / tokens + 1 : 1;
}
// The slot of a sequence's first span.
template <int tokens> __device__ inline Index firstSlot(const Shape &shape, Index sequence) {
  if (shape.offsets == nullptr || shape.tokens <= tokens) return sequence * spansOf<tokens>(shape.tokens);
  return shape.offsets[sequence] / tokens + sequence;
}
template <int tokens> __device__ inline TokenSpan findSpan(const Shape &shape, unsigned slot) {
  if (shape.offsets == nullptr || shape.tokens <= tokens) {
    const unsigned count = (unsigned)spansOf<tokens>(shape.tokens);
    return TokenSpan{slot / count, slot % count, count};
  }
  Index first = 0, last = shape.sequences - 1;
#pragma unroll 1
  while (first < last) {
    const Index middle = (first + last + 1) / 2;
    if (firstSlot<tokens>(shape, middle) <= slot) first = middle;
    else last = middle - 1;
  }
  const Index length = shape.offsets[first + 1] - shape.offsets[first];
  return TokenSpan{first, slot - firstSlot<tokens>(shape, first), spansOf<tokens>(length)};
}

// By one warp, from the log decay of each token of a span: what is left of it
// at the span's end, the token's own decay excluded. Sums run from the end, so
// that no digit is lost to what lies before. Returns that of the whole span.
template <int tokens, int pitch>
__device__ inline float decayToEnd(float *logs, int lane) {
  constexpr int own = (tokens + 31) / 32;
  float sum = 0;
#pragma unroll 1
  for (int i = own - 1; i >= 0; --i) {
    if (const int t = lane * own + i; t < tokens) sum += logs[t * pitch];
  }
#pragma unroll
  for (int by = 1; by < 32; by *= 2) {
    const float behind = __shfl_sync(0xffffffffu, sum, lane + by < 32 ? lane + by : lane);
    sum += lane + by < 32 ? behind : 0;
  }
  const float behind = __shfl_sync(0xffffffffu, sum, lane < 31 ? lane + 1 : lane);
  float after = lane < 31 ? behind : 0;
#pragma unroll 1
  for (int i = own - 1; i >= 0; --i) {
    if (const int t = lane * own + i; t < tokens) {
      const float log = logs[t * pitch];
      logs[t * pitch] = expf(after);
      after += log;
    }
  }
  return expf(__shfl_sync(0xffffffffu, after, 0));
}

// A result, or what of it waits for what is to be added.
template <typename T> __device__ inline void narrowOrWait(char *to, float x, bool waits) {
  if (waits) *reinterpret_cast<float *>(to) = x;
  else narrow(*reinterpret_cast<T *>(to), x);
}
)cuda";

} // namespace recurra::cuda
