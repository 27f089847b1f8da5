// Values of the notation: expressions, and every operator on them. Each
// operator records the line of the user's file that calls it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/Expr.h"
#include "dsl/Recurrence.h"

namespace recurra::dsl {

using recurra::Axis;
using recurra::DType;
using recurra::Recurrence;

struct Draft; ///< the recurrence under construction
class State;

/// A name for a value; copying is cheap. Numbers convert.
class Expr {
public:
  Expr() = default;
  Expr(double value, const char *file = __builtin_FILE(),
       int line = __builtin_LINE());
  Expr(NodeRef node, std::shared_ptr<Draft> draft)
      : node(std::move(node)), draft(std::move(draft)) {}

  /// One entry of a small axis.
  Expr at(const Axis &axis, int index, const char *file = __builtin_FILE(),
          int line = __builtin_LINE()) const;

  NodeRef node;
  std::shared_ptr<Draft> draft; ///< null for numbers
};

/// What an operator takes. The conversion to it happens on the user's line,
/// so its default arguments know that line; overloaded operators, which may
/// not have default arguments, learn it from here.
struct Operand {
  Operand(const Expr &value, const char *file = __builtin_FILE(),
          int line = __builtin_LINE());
  Operand(const State &state, const char *file = __builtin_FILE(),
          int line = __builtin_LINE());
  Operand(double value, const char *file = __builtin_FILE(),
          int line = __builtin_LINE());
  Operand(Expr value, SourceLocation location)
      : value(std::move(value)), location(std::move(location)) {}

  Expr value;
  SourceLocation location;
};

/// How operators take their operands.
using Arg = const Operand &;

/// The node `op` over `operands`, at the first operand's place.
Expr apply(Op op, const std::vector<Operand> &operands);
/// The same for an operator that acts on `axis`.
Expr applyOver(Op op, const Operand &operand, const Axis &axis);

inline Expr operator+(Arg a, Arg b) { return apply(Op::Add, {a, b}); }
inline Expr operator-(Arg a, Arg b) { return apply(Op::Sub, {a, b}); }
inline Expr operator*(Arg a, Arg b) { return apply(Op::Mul, {a, b}); }
inline Expr operator/(Arg a, Arg b) { return apply(Op::Div, {a, b}); }
inline Expr operator-(Arg a) { return apply(Op::Neg, {a}); }

// Comparisons are conditions of `select`, not numbers.
inline Expr operator<(Arg a, Arg b) { return apply(Op::Less, {a, b}); }
inline Expr operator>(Arg a, Arg b) { return apply(Op::Less, {b, a}); }
inline Expr operator<=(Arg a, Arg b) { return apply(Op::LessEqual, {a, b}); }
inline Expr operator>=(Arg a, Arg b) { return apply(Op::LessEqual, {b, a}); }
inline Expr select(Arg condition, Arg then, Arg otherwise) {
  return apply(Op::Select, {condition, then, otherwise});
}

inline Expr min(Arg a, Arg b) { return apply(Op::Min, {a, b}); }
inline Expr max(Arg a, Arg b) { return apply(Op::Max, {a, b}); }
inline Expr abs(Arg x) { return apply(Op::Abs, {x}); }
inline Expr exp(Arg x) { return apply(Op::Exp, {x}); }
inline Expr log(Arg x) { return apply(Op::Log, {x}); }
inline Expr expm1(Arg x) { return apply(Op::Expm1, {x}); }
inline Expr log1p(Arg x) { return apply(Op::Log1p, {x}); }
inline Expr sqrt(Arg x) { return apply(Op::Sqrt, {x}); }
inline Expr rsqrt(Arg x) { return apply(Op::Rsqrt, {x}); }
inline Expr tanh(Arg x) { return apply(Op::Tanh, {x}); }
inline Expr sigmoid(Arg x) { return apply(Op::Sigmoid, {x}); }
inline Expr softplus(Arg x) { return apply(Op::Softplus, {x}); }
inline Expr logsigmoid(Arg x) { return apply(Op::LogSigmoid, {x}); }
inline Expr silu(Arg x) { return apply(Op::Silu, {x}); }
inline Expr square(Arg x) { return apply(Op::Square, {x}); }
/// The value, but no gradient.
inline Expr detach(Arg x) { return apply(Op::Detach, {x}); }

inline Expr sum(Arg x, const Axis &a) { return applyOver(Op::Sum, x, a); }
inline Expr mean(Arg x, const Axis &a) { return applyOver(Op::Mean, x, a); }
inline Expr max(Arg x, const Axis &a) { return applyOver(Op::MaxOver, x, a); }
inline Expr softmax(Arg x, const Axis &a) {
  return applyOver(Op::Softmax, x, a);
}
inline Expr l2norm(Arg x, const Axis &a) { return applyOver(Op::L2Norm, x, a); }
/// The same values over another axis of the same size.
Expr rename(Arg x, const Axis &from, const Axis &to);
/// The size of an axis, a number.
Expr extent(const Axis &axis, const char *file = __builtin_FILE(),
            int line = __builtin_LINE());

/// The last token's value (zero at the first token). Of a token's value it
/// makes a hidden state, "previous_" and the value's name; an expression that
/// is no input needs one.
Expr previous(Arg value, const std::string &name = "");
Expr previous(const State &state, const char *file = __builtin_FILE(),
              int line = __builtin_LINE());

} // namespace recurra::dsl
