// Bits of numbers, and vectors that one instruction reads or writes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "warp_fibers.h"

template <typename To, typename From>
To sameBits(From from) {
  To to;
  memcpy(&to, &from, sizeof(To));
  return to;
}
inline float __int_as_float(int bits) { return sameBits<float>(bits); }
inline float __uint_as_float(unsigned bits) { return sameBits<float>(bits); }
inline unsigned __float_as_uint(float x) { return sameBits<unsigned>(x); }
inline unsigned long long __double_as_longlong(double x) {
  return sameBits<unsigned long long>(x);
}
inline double __longlong_as_double(long long bits) {
  return sameBits<double>(bits);
}
/// The address of a vector that one instruction reads or writes.
template <int bytes>
void checkVector(const void *p) {
  constexpr int size = bytes < 16 ? bytes : 16;
  if (reinterpret_cast<unsigned long long>(p) % size != 0) {
    emulation::complain("a vector's address is not aligned");
  }
}
template <int bytes>
void readVector(unsigned *words, const void *p) {
  checkVector<bytes>(p);
  memcpy(words, p, bytes);
}
template <int bytes>
void writeVector(void *p, const unsigned *words) {
  checkVector<bytes>(p);
  memcpy(p, words, bytes);
}
inline float __half_as_float(unsigned short bits) {
  return sameBits<_Float16>(bits);
}
inline unsigned short __float_as_half(float x) {
  return sameBits<unsigned short>(static_cast<_Float16>(x));
}
