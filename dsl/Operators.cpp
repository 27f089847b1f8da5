// Operators of the notation: each makes one node.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/Operators.h"

#include "dsl/Builder.h"
#include "dsl/Draft.h"

namespace recurra::dsl {
namespace {

NodeRef number(double value, const SourceLocation &location) {
  Node node;
  node.op = Op::Constant;
  node.value = value;
  node.location = location;
  return makeNode(std::move(node));
}

void checkDefined(const Operand &operand) {
  if (!operand.value.node) {
    throw UserError(operand.location,
                    "an empty Expr is used; a value must be defined before it "
                    "is used; assign to it first");
  }
}

/// The one recurrence that the operands belong to; null for numbers.
std::shared_ptr<Draft> commonDraft(const std::vector<Operand> &operands) {
  std::shared_ptr<Draft> common;
  for (const Operand &operand : operands) {
    checkDefined(operand);
    const std::shared_ptr<Draft> &draft = operand.value.draft;
    if (common && draft && draft != common) {
      throw UserError(operand.location,
                      "a value of recurrence '" + draft->recurrence.name +
                          "' is used in '" + common->recurrence.name +
                          "'; a recurrence reads its own values only; declare "
                          "the value in this one");
    }
    common = common ? common : draft;
  }
  return common;
}

Expr apply(Node node, const std::vector<Operand> &operands) {
  std::shared_ptr<Draft> draft = commonDraft(operands);
  for (const Operand &operand : operands) {
    node.operands.push_back(operand.value.node);
  }
  node.location = operands.front().location;
  return {makeNode(std::move(node)), draft};
}

std::string nameOfPrevious(const Operand &value, const std::string &name) {
  const Node &node = *value.value.node;
  if (!name.empty()) {
    return "previous_" + name;
  }
  if (node.op == Op::Input || node.op == Op::State) {
    return "previous_" + node.name;
  }
  throw UserError(value.location,
                  "previous of an expression without a name; the last token's "
                  "value is a state and needs one; write previous(x, \"x\")");
}

/// Axes in the input's declared order, else sorted.
std::vector<std::string> memoryOrder(const Recurrence &recurrence,
                                     const Node &node) {
  const Input *input =
      node.op == Op::Input ? recurrence.findInput(node.name) : nullptr;
  return input ? input->axes : node.axes;
}

} // namespace

Expr::Expr(double value, const char *file, int line)
    : node(number(value, {file, line})) {}

Operand::Operand(const Expr &value, const char *file, int line)
    : value(value), location{file, line} {}

Operand::Operand(const recurra::dsl::State &state, const char *file, int line)
    : value(state), location{file, line} {}

Operand::Operand(double value, const char *file, int line)
    : value(value, file, line), location{file, line} {}

Expr apply(Op op, const std::vector<Operand> &operands) {
  Node node;
  node.op = op;
  return apply(std::move(node), operands);
}

Expr applyOver(Op op, const Operand &operand, const Axis &axis) {
  Node node;
  node.op = op;
  node.axis = axis.name;
  return apply(std::move(node), {operand});
}

Expr Expr::at(const Axis &axis, int index, const char *file, int line) const {
  Node node;
  node.op = Op::At;
  node.axis = axis.name;
  node.index = index;
  return apply(std::move(node), {Operand(*this, file, line)});
}

Expr rename(Arg x, const Axis &from, const Axis &to) {
  Node node;
  node.op = Op::Rename;
  node.axis = from.name;
  node.target = to.name;
  return apply(std::move(node), {x});
}

Expr extent(const Axis &axis, const char *file, int line) {
  Node node;
  node.op = Op::Extent;
  node.axis = axis.name;
  node.location = {file, line};
  return {makeNode(std::move(node)), nullptr};
}

Expr previous(const State &state, const char *file, int line) {
  return state.atStart({file, line});
}

Expr previous(Arg value, const std::string &name) {
  checkDefined(value);
  const std::shared_ptr<Draft> &draft = value.value.draft;
  if (!draft || !variesByToken(draft->recurrence, value.value.node)) {
    throw UserError(value.location,
                    "previous of a value that is the same at every token; it "
                    "takes a token's value or a state; use the value itself");
  }
  Recurrence &recurrence = draft->recurrence;
  recurra::State hidden;
  hidden.name = nameOfPrevious(value, name);
  hidden.axes = memoryOrder(recurrence, *value.value.node);
  hidden.location = value.location;
  hidden.initial = number(0, value.location);
  const recurra::State *known = recurrence.findState(hidden.name);
  std::size_t index = known ? known - recurrence.states.data() : 0;
  if (!known || draft->latest[index] != value.value.node) {
    checkName(recurrence, hidden.name, value.location);
    index = recurrence.states.size();
    recurrence.states.push_back(hidden);
    draft->latest.push_back(value.value.node);
  }
  return {readState(recurrence.states[index], value.location), draft};
}

} // namespace recurra::dsl
