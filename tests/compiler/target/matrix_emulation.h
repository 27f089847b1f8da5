// Matrix instructions of a warp on the host, over what its lanes hold.
// SPDX-License-Identifier: Apache-2.0
#pragma once

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
/// The same, sixteen deep.
inline void multiplyDeep(float (&d)[4], const float (&a)[4],
                         const float (&b)[2]) {
  multiplyParts(d, {a[0], a[1]}, __float_as_uint(b[0]));
  multiplyParts(d, {a[2], a[3]}, __float_as_uint(b[1]));
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
