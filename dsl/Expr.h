// Immutable expression nodes over named axes, and the operators on them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/Error.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

// Every operator of the language, once: enumerator, spelling in the canonical
// text, and the number of operands. Leaves, reductions and axis operators carry
// further fields of Node, named beside them.
#define RECURRA_UNARY_OPS(X)                                                   \
  X(Neg, "neg")                                                                \
  X(Abs, "abs")                                                                \
  X(Exp, "exp")                                                                \
  X(Log, "log")                                                                \
  X(Expm1, "expm1")                                                            \
  X(Log1p, "log1p")                                                            \
  X(Sqrt, "sqrt")                                                              \
  X(Rsqrt, "rsqrt")                                                            \
  X(Tanh, "tanh")                                                              \
  X(Sigmoid, "sigmoid")                                                        \
  X(Softplus, "softplus")                                                      \
  X(LogSigmoid, "logsigmoid")                                                  \
  X(Silu, "silu")                                                              \
  X(Square, "square")                                                          \
  X(Detach, "detach")
#define RECURRA_BINARY_OPS(X)                                                  \
  X(Add, "+")                                                                  \
  X(Sub, "-")                                                                  \
  X(Mul, "*")                                                                  \
  X(Div, "/")                                                                  \
  X(Min, "min")                                                                \
  X(Max, "max")                                                                \
  X(Less, "<")                                                                 \
  X(LessEqual, "<=")
// Kinks: min and max take the first operand on a tie, abs has slope 1 at 0, the
// largest entries over an axis share the slope equally. l2norm(x) is
// x * rsqrt(sum(x^2) + 1e-12).
#define RECURRA_AXIS_OPS(X) /* one operand, Node::axis */                      \
  X(Sum, "sum")                                                                \
  X(Mean, "mean")                                                              \
  X(MaxOver, "max")                                                            \
  X(Softmax, "softmax")                                                        \
  X(L2Norm, "l2norm")

namespace recurra {

enum class Op {
  Constant, ///< Node::value
  Input,    ///< Node::name: a token, head or scalar input
  State,    ///< Node::name: the state's value at the start of the token
  Extent,   ///< Node::axis: the size of an axis, a number
  Rename,   ///< Node::axis -> Node::target
  At,       ///< Node::axis, Node::index: one entry of a small axis
  Select,   ///< operands condition, then, otherwise
#define X(Name, Text) Name,
  RECURRA_UNARY_OPS(X) RECURRA_BINARY_OPS(X) RECURRA_AXIS_OPS(X)
#undef X
};

struct Node;
using NodeRef = std::shared_ptr<const Node>;

/// One operation. `axes` is sorted: broadcasting is by axis name, and the axes
/// of an elementwise result are the union of its operands'.
struct Node {
  Op op = Op::Constant;
  std::vector<NodeRef> operands;
  std::vector<std::string> axes;
  double value = 0;
  std::string name;
  std::string axis;
  std::string target;
  int index = 0;
  SourceLocation location;
};

/// The word or sign of an operator in the canonical text.
std::string_view spelling(Op op);

/// A finished node: checks the rule of `node.op` on its operands, fills `axes`
/// (but for Input and State, whose axes are the declaration's, in any order).
/// Throws UserError with the node's location.
NodeRef makeNode(Node node);

/// Every node under `roots` once, operands before users.
std::vector<NodeRef> operandsFirst(const std::vector<NodeRef> &roots);

/// "{K, V}"
std::string listAxes(const std::vector<std::string> &axes);

} // namespace recurra
