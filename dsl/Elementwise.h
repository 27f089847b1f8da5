// The values of the elementwise operators, over complex numbers too: there the
// imaginary part carries a derivative that owes nothing to Slopes.h (the
// complex step). SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/Expr.h"

#include <cmath>
#include <complex>

namespace recurra::elementwise {

using Complex = std::complex<double>;

inline double realPart(double x) { return x; }
inline double realPart(const Complex &x) { return x.real(); }

inline double expm1(double x) { return std::expm1(x); }
inline Complex expm1(const Complex &x) {
  double half = std::sin(x.imag() / 2);
  return {std::expm1(x.real()) * std::cos(x.imag()) - 2 * half * half,
          std::exp(x.real()) * std::sin(x.imag())};
}

inline double log1p(double x) { return std::log1p(x); }
inline Complex log1p(const Complex &x) {
  double a = x.real(), b = x.imag();
  return {0.5 * std::log1p(a * (2 + a) + b * b), std::atan2(b, 1 + a)};
}

template <typename Scalar>
Scalar sigmoid(const Scalar &x) {
  if (realPart(x) >= 0) {
    return 1.0 / (1.0 + std::exp(-x));
  }
  Scalar e = std::exp(x);
  return e / (1.0 + e);
}

template <typename Scalar>
Scalar softplus(const Scalar &x) {
  return realPart(x) > 0 ? x + log1p(std::exp(-x)) : log1p(std::exp(x));
}

template <typename Scalar>
Scalar unary(Op op, const Scalar &x) {
  switch (op) {
  case Op::Neg:
    return -x;
  case Op::Abs:
    return realPart(x) < 0 ? -x : x;
  case Op::Exp:
    return std::exp(x);
  case Op::Log:
    return std::log(x);
  case Op::Expm1:
    return expm1(x);
  case Op::Log1p:
    return log1p(x);
  case Op::Sqrt:
    return std::sqrt(x);
  case Op::Rsqrt:
    return 1.0 / std::sqrt(x);
  case Op::Tanh:
    return std::tanh(x);
  case Op::Sigmoid:
    return sigmoid(x);
  case Op::Softplus:
    return softplus(x);
  case Op::LogSigmoid:
    return -softplus(-x);
  case Op::Silu:
    return x * sigmoid(x);
  case Op::Square:
    return x * x;
  default: // Detach
    return realPart(x);
  }
}

/// Comparisons give 1 or 0.
template <typename Scalar>
Scalar binary(Op op, const Scalar &a, const Scalar &b) {
  switch (op) {
  case Op::Add:
    return a + b;
  case Op::Sub:
    return a - b;
  case Op::Mul:
    return a * b;
  case Op::Div:
    return a / b;
  case Op::Min:
    return realPart(a) <= realPart(b) ? a : b;
  case Op::Max:
    return realPart(a) >= realPart(b) ? a : b;
  case Op::Less:
    return realPart(a) < realPart(b) ? 1.0 : 0.0;
  default: // LessEqual
    return realPart(a) <= realPart(b) ? 1.0 : 0.0;
  }
}

} // namespace recurra::elementwise
