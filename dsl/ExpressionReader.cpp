// Reading one expression of the canonical text.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/ExpressionReader.h"

#include "dsl/Rules.h"

#include <algorithm>
#include <cmath>

namespace recurra {
namespace {

struct Spelled {
  std::string_view word;
  std::size_t operands;
  Op op;
  bool axis;
};

/// `max` is two operators: of two values, and over an axis.
constexpr Spelled spelled[] = {{"rename", 1, Op::Rename, true},
                               {"at", 1, Op::At, true},
                               {"select", 3, Op::Select, false},
#define X(Name, Text) {Text, 1, Op::Name, false},
                               RECURRA_UNARY_OPS(X)
#undef X
#define X(Name, Text) {Text, 2, Op::Name, false},
                                   RECURRA_BINARY_OPS(X)
#undef X
#define X(Name, Text) {Text, 1, Op::Name, true},
                                       RECURRA_AXIS_OPS(X)
#undef X
};

} // namespace

bool hasAxis(const Recurrence &recurrence, const std::string &name) {
  return std::any_of(recurrence.axes.begin(), recurrence.axes.end(),
                     [&](const Axis &axis) { return axis.name == name; });
}

NodeRef ExpressionReader::number(double value) {
  Node node;
  node.value = value;
  node.location = line.location();
  return makeNode(std::move(node));
}

NodeRef ExpressionReader::binary(Op op, NodeRef left, NodeRef right) {
  Node node;
  node.op = op;
  node.operands = {std::move(left), std::move(right)};
  node.location = line.location();
  return makeNode(std::move(node));
}

NodeRef ExpressionReader::comparison() {
  NodeRef left = additive();
  if (line.take("<")) {
    return binary(Op::Less, left, additive());
  }
  if (line.take("<=")) {
    return binary(Op::LessEqual, left, additive());
  }
  return left;
}

NodeRef ExpressionReader::additive() {
  NodeRef left = multiplicative();
  while (true) {
    if (line.take("+")) {
      left = binary(Op::Add, left, multiplicative());
    } else if (line.take("-")) {
      left = binary(Op::Sub, left, multiplicative());
    } else {
      return left;
    }
  }
}

NodeRef ExpressionReader::multiplicative() {
  NodeRef left = unary();
  while (true) {
    if (line.take("*")) {
      left = binary(Op::Mul, left, unary());
    } else if (line.take("/")) {
      left = binary(Op::Div, left, unary());
    } else {
      return left;
    }
  }
}

NodeRef ExpressionReader::unary() {
  if (!line.take("-")) {
    return atom();
  }
  if (line.isNumber()) {
    return number(-line.number());
  }
  Node node;
  node.op = Op::Neg;
  node.operands = {unary()};
  node.location = line.location();
  return makeNode(std::move(node));
}

NodeRef ExpressionReader::atom() {
  if (line.isNumber()) {
    return number(line.number());
  }
  if (line.take("(")) {
    NodeRef inner = read();
    line.expect(")");
    return inner;
  }
  std::string word = line.word();
  return line.take("(") ? call(word) : value(word);
}

NodeRef ExpressionReader::value(const std::string &name) {
  auto found = named.find(name);
  if (found != named.end()) {
    return found->second;
  }
  if (const Input *input = recurrence.findInput(name)) {
    return readInput(*input, line.location());
  }
  if (const State *state = recurrence.findState(name)) {
    return readState(*state, line.location());
  }
  line.fail("'" + name +
            "' is used before it is defined; a value is declared "
            "above its first use; move its line up");
}

void ExpressionReader::axisArguments(Node &node) {
  node.axis = line.identifier();
  if (node.op == Op::Rename) {
    line.expect(",");
    node.target = line.identifier();
  } else if (node.op == Op::At) {
    line.expect(",");
    double index = line.signedNumber();
    if (index != std::trunc(index)) {
      line.fail("the entry of at is no integer; an entry is a whole number; "
                "write one from 0 to 15");
    }
    node.index = static_cast<int>(index);
  }
}

NodeRef ExpressionReader::call(const std::string &word) {
  Node node;
  node.location = line.location();
  if (word == "extent") {
    node.op = Op::Extent;
    node.axis = line.identifier();
    line.expect(")");
    return makeNode(std::move(node));
  }
  bool axis = false;
  do {
    axis = hasAxis(recurrence, line.peek());
    if (!axis) {
      node.operands.push_back(read());
    }
  } while (!axis && line.take(","));
  node.op = opOf(word, node.operands.size(), axis);
  if (axis) {
    axisArguments(node);
  }
  line.expect(")");
  return makeNode(std::move(node));
}

Op ExpressionReader::opOf(const std::string &word, std::size_t operands,
                          bool axis) {
  bool known = false;
  for (const Spelled &candidate : spelled) {
    known = known || candidate.word == word;
    if (candidate.word == word && candidate.operands == operands &&
        candidate.axis == axis) {
      return candidate.op;
    }
  }
  if (!known) {
    line.fail("'" + word +
              "' is no operator; the operators are those of the "
              "language; correct the word");
  }
  line.fail("'" + word +
            "' has the wrong operands; reductions, rename and at "
            "name a declared axis, other operators none; correct "
            "the call");
}

} // namespace recurra
