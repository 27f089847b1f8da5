// Finding log gates: from the values of the step down to its inputs.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/LogGates.h"

#include <algorithm>

namespace recurra {
namespace {

/// The inputs under exp and expm1.
class Exponents {
public:
  void visit(const NodeRef &node, bool inside) {
    if (!seen.insert({node.get(), inside}).second) {
      return;
    }
    if (node->op == Op::Input && inside) {
      names.insert(node->name);
    }
    inside = inside || node->op == Op::Exp || node->op == Op::Expm1;
    for (const NodeRef &operand : node->operands) {
      visit(operand, inside);
    }
  }

  std::set<std::string> names;

private:
  std::set<std::pair<const Node *, bool>> seen;
};

bool isNonPositiveToken(const Input &input) {
  return input.role == Role::Token &&
         std::any_of(
             input.facts.begin(), input.facts.end(),
             [](const Fact &fact) { return fact.kind == Fact::NonPositive; });
}

} // namespace

std::set<std::string> logGates(const Recurrence &recurrence) {
  Exponents exponents;
  for (const State &state : recurrence.states) {
    exponents.visit(state.next, false);
  }
  for (const Output &output : recurrence.outputs) {
    exponents.visit(output.value, false);
  }
  std::erase_if(exponents.names, [&](const std::string &name) {
    return !isNonPositiveToken(*recurrence.findInput(name));
  });
  return exponents.names;
}

} // namespace recurra
