/* The object code of the compiler's double: y_t = S_t = S_{t-1} + x_t over K = 4
 * numbers, in two nests over [N, H], with scratch and a workspace.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <string.h>

enum { width = 4, maxRank = 8 };
typedef struct {
  char *data;
  int64_t strides[maxRank];
} Buffer;
typedef struct {
  int64_t rows, tokens, heads, sequences;
  const int64_t *offsets;
} Shape;

static float *at(const Buffer *b, int64_t i, int64_t j, int64_t k, int64_t l) {
  return (float *)b->data + i * b->strides[0] + j * b->strides[1] +
         k * b->strides[2] + l * b->strides[3];
}

/* Nest 0: the workspace [N, H] takes the number of tokens. */
void countTokens(const Buffer *buffers, const Shape *shape, int64_t begin,
                 int64_t end, char *scratch) {
  (void)scratch;
  for (int64_t task = begin; task < end; ++task) {
    int64_t n = task / shape->heads, h = task % shape->heads;
    int64_t count = shape->offsets
                        ? shape->offsets[n + 1] - shape->offsets[n]
                        : shape->tokens;
    *at(&buffers[4], n, h, 0, 0) = (float)count;
  }
}

/* Nest 1: buffers x, initial S, y, final S, workspace. */
void runningSum(const Buffer *buffers, const Shape *shape, int64_t begin,
                int64_t end, char *scratch) {
  float *sum = (float *)scratch;
  for (int64_t task = begin; task < end; ++task) {
    int64_t n = task / shape->heads, h = task % shape->heads;
    int64_t row = shape->offsets ? 0 : n;
    int64_t first = shape->offsets ? shape->offsets[n] : 0;
    int64_t count = (int64_t)*at(&buffers[4], n, h, 0, 0);
    for (int64_t k = 0; k < width; ++k) {
      sum[k] = *at(&buffers[1], n, h, k, 0);
    }
    for (int64_t t = first; t < first + count; ++t) {
      for (int64_t k = 0; k < width; ++k) {
        sum[k] += *at(&buffers[0], row, t, h, k);
        *at(&buffers[2], row, t, h, k) = sum[k];
      }
    }
    for (int64_t k = 0; k < width; ++k) {
      *at(&buffers[3], n, h, k, 0) = sum[k];
    }
  }
  memset(scratch, 0xff, width * sizeof(float)); /* scratch is ours to spoil */
}
