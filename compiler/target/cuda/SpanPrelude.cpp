// The prelude of kernels that walk spans of tokens side by side.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanSpans.h"

namespace recurra::cuda {

const char *const spanPrelude = R"cuda(
// How long spans are, or the parts that a call's tasks have of them or of
// sequences: two to the power of `bits`, all of those if it has no parts.
template <int tokens> struct SpanCut {
  __device__ inline Index size() const { return tokens; }
  __device__ inline Index of(Index x) const { return x / tokens; }
};
struct PartCut {
  int bits;
  __device__ inline Index size() const { return (Index)1 << bits; }
  __device__ inline Index of(Index x) const { return x >> bits; }
};
// A span of a sequence's tokens, which blocks walk side by side: `number` of
// `count`. All spans have slots; between packed sequences some slots are empty.
struct TokenSpan { Index sequence; unsigned number, count; };
template <typename Cut> __device__ inline Index spansOf(Cut cut, Index length) {
  return length > cut.size() ? cut.of(length - 1) + 1 : 1;
}
// The slot of a sequence's first span.
template <typename Cut> __device__ inline Index firstSlot(Cut cut, const Shape &shape, Index sequence) {
  if (shape.offsets == nullptr || shape.tokens <= cut.size()) return sequence * spansOf(cut, shape.tokens);
  return cut.of(shape.offsets[sequence]) + sequence;
}
template <typename Cut> __device__ inline TokenSpan findSpan(Cut cut, const Shape &shape, unsigned slot) {
  if (shape.offsets == nullptr || shape.tokens <= cut.size()) {
    const unsigned count = (unsigned)spansOf(cut, shape.tokens);
    return TokenSpan{(Index)(slot / count), slot % count, count};
  }
  Index first = 0, last = shape.sequences - 1;
#pragma unroll 1
  while (first < last) {
    const Index middle = (first + last + 1) / 2;
    if (firstSlot(cut, shape, middle) <= slot) first = middle;
    else last = middle - 1;
  }
  const Index length = shape.offsets[first + 1] - shape.offsets[first];
  return TokenSpan{first, slot - (unsigned)firstSlot(cut, shape, first), (unsigned)spansOf(cut, length)};
}

// The whole span, of two to the power of `bits` tokens, that a part is of.
template <int bits> __device__ inline TokenSpan spanAround(PartCut cut, const TokenSpan &part) {
  const int parts = bits - cut.bits; // of a span, as a power of two
  return TokenSpan{part.sequence, part.number >> parts, ((part.count - 1) >> parts) + 1};
}

// Where a walk finds an element of its matrix `number`: warps of rowTiles x
// columnTiles tiles, `warpRows` of them below each other, have their lanes' fours
// side by side; backward two rows' come first.
template <int rowTiles, int columnTiles, int warpRows, int warps, bool isReverse>
__device__ inline int carriedAt(int number, int row, int column) {
  const int warp = row / 16 / rowTiles + column / 8 / columnTiles * warpRows;
  const int tile = (number * rowTiles + row / 16 % rowTiles) * columnTiles + column / 8 % columnTiles;
  const int below = row / 8 % 2, beside = column % 2;
  const int lane = row % 8 * 4 + column % 8 / 2;
  return ((tile * warps + warp) * 32 + lane) * 4 + (isReverse ? beside * 2 + below : below * 2 + beside);
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
