// The slopes of the elementwise operators.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/Elementwise.h"

namespace recurra::elementwise {

/// d unary(x) / dx, given y = unary(x).
inline double slope(Op op, double x, double y) {
  switch (op) {
  case Op::Neg:
    return -1;
  case Op::Abs:
    return x < 0 ? -1 : 1;
  case Op::Exp:
    return y;
  case Op::Log:
    return 1 / x;
  case Op::Expm1:
    return std::exp(x);
  case Op::Log1p:
    return 1 / (1 + x);
  case Op::Sqrt:
    return 0.5 / y;
  case Op::Rsqrt:
    return -0.5 * y / x;
  case Op::Tanh:
    return 1 - y * y;
  case Op::Sigmoid:
    return y * (1 - y);
  case Op::Softplus:
    return sigmoid(x);
  case Op::LogSigmoid:
    return sigmoid(-x);
  case Op::Silu:
    return sigmoid(x) * (1 + x * sigmoid(-x));
  case Op::Square:
    return 2 * x;
  default: // Detach
    return 0;
  }
}

struct Slopes {
  double left = 0, right = 0;
};

inline Slopes slopes(Op op, double a, double b) {
  switch (op) {
  case Op::Add:
    return {1, 1};
  case Op::Sub:
    return {1, -1};
  case Op::Mul:
    return {b, a};
  case Op::Div:
    return {1 / b, -a / (b * b)};
  case Op::Min:
    return a <= b ? Slopes{1, 0} : Slopes{0, 1};
  case Op::Max:
    return a >= b ? Slopes{1, 0} : Slopes{0, 1};
  default: // comparisons
    return {0, 0};
  }
}

} // namespace recurra::elementwise
