// The rules of a definition. Every message names the thing, the rule and the
// remedy, at the user's line.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/Rules.h"

#include <algorithm>

namespace recurra {
namespace {

using Names = std::vector<std::string>;

Names sorted(Names names) {
  std::sort(names.begin(), names.end());
  return names;
}

void checkDistinctAxes(const std::string &what, const Names &axes,
                       const SourceLocation &location) {
  Names order = sorted(axes);
  auto twice = std::adjacent_find(order.begin(), order.end());
  if (twice != order.end()) {
    throw UserError(location, what + " lists axis '" + *twice +
                                  "' twice; axes of a value are distinct; "
                                  "declare a second axis and rename");
  }
}

/// The checks of one recurrence, in the order of a reader's interest.
class Validator {
public:
  explicit Validator(const Recurrence &recurrence) : recurrence(recurrence) {}

  void run() {
    declarations();
    for (const Input &input : recurrence.inputs) {
      checkInput(input);
    }
    for (const State &state : recurrence.states) {
      checkState(state);
    }
    checkOutputs();
    checkReads();
  }

private:
  void declarations();
  void checkInput(const Input &input);
  void checkState(const State &state);
  void checkInitial(const State &state);
  void checkOutputs();
  void checkOutput(const Output &output);
  void checkReads();
  void checkGraph(const NodeRef &root);
  void checkAxisName(const std::string &axis, const std::string &what,
                     const SourceLocation &location);
  void checkEntry(const Node &node);
  void checkFacts(const std::vector<Fact> &facts, const Names &axes,
                  const std::string &what, const SourceLocation &location);
  void checkNumber(const NodeRef &value, const std::string &what,
                   const SourceLocation &location);

  const Recurrence &recurrence;
};

void Validator::declarations() {
  Recurrence seen;
  for (const Axis &axis : recurrence.axes) {
    checkName(seen, axis.name, axis.location);
    if (axis.size != 0) {
      checkAxisSize(axis);
    }
    seen.axes.push_back(axis);
  }
  for (const Input &input : recurrence.inputs) {
    checkName(seen, input.name, input.location);
    seen.inputs.push_back(input);
  }
  for (const State &state : recurrence.states) {
    checkName(seen, state.name, state.location);
    seen.states.push_back(state);
  }
  for (const Output &output : recurrence.outputs) {
    checkName(seen, output.name, output.location);
    seen.outputs.push_back(output);
  }
}

void Validator::checkAxisName(const std::string &axis, const std::string &what,
                              const SourceLocation &location) {
  for (const Axis &known : recurrence.axes) {
    if (known.name == axis) {
      return;
    }
  }
  throw UserError(location, what + " has the unknown axis '" + axis +
                                "'; axes are declared in the recurrence that "
                                "uses them; add r.axis(\"" +
                                axis + "\")");
}

/// Where the definition fixes the size, the entry is known to exist or not.
void Validator::checkEntry(const Node &node) {
  for (const Axis &axis : recurrence.axes) {
    if (axis.name == node.axis && axis.size != 0 && node.index >= axis.size) {
      throw UserError(node.location,
                      "at(" + node.axis + ", " + std::to_string(node.index) +
                          ") of an axis declared with " +
                          std::to_string(axis.size) +
                          " entries; entries count from 0; name a smaller one "
                          "or declare a larger axis");
    }
  }
}

void Validator::checkFacts(const std::vector<Fact> &facts, const Names &axes,
                           const std::string &what,
                           const SourceLocation &location) {
  for (const Fact &fact : facts) {
    if (fact.kind == Fact::Unit &&
        std::count(axes.begin(), axes.end(), fact.axis) == 0) {
      throw UserError(location, what + " is declared unit over axis '" +
                                    fact.axis +
                                    "', which it does not have; the norm is "
                                    "taken over an axis of the value; name "
                                    "one of " +
                                    listAxes(axes));
    }
    if (fact.kind == Fact::Range && !(fact.low < fact.high)) {
      throw UserError(location, what + " has an empty range; its low end is "
                                       "below its high end; swap the two");
    }
  }
}

void Validator::checkNumber(const NodeRef &value, const std::string &what,
                            const SourceLocation &location) {
  for (const NodeRef &node : operandsFirst({value})) {
    if (node->op == Op::Input || node->op == Op::State) {
      throw UserError(location, what + " reads '" + node->name +
                                    "'; a default is a number; write one of "
                                    "constants and extents");
    }
  }
}

void Validator::checkInput(const Input &input) {
  std::string what = "input '" + input.name + "'";
  for (const std::string &axis : input.axes) {
    checkAxisName(axis, what, input.location);
  }
  checkDistinctAxes(what, input.axes, input.location);
  checkFacts(input.facts, input.axes, what, input.location);
  if (input.role == Role::Scalar &&
      (!input.axes.empty() || input.sharing != Sharing::Head)) {
    throw UserError(input.location,
                    what + " is a scalar with axes or a sharing; a scalar is "
                           "one number; declare it with r.head");
  }
  if (input.fallback) {
    checkNumber(input.fallback, what, input.location);
    checkGraph(input.fallback);
  }
}

void Validator::checkInitial(const State &state) {
  std::string what = "the initial value of state '" + state.name + "'";
  for (const NodeRef &node : operandsFirst({state.initial})) {
    const Input *input =
        node->op == Op::Input ? recurrence.findInput(node->name) : nullptr;
    if (node->op == Op::State || (input && input->role == Role::Token)) {
      throw UserError(state.location,
                      what + " reads '" + node->name +
                          "', which varies by token; it exists before any "
                          "token; use constants, head or scalar inputs");
    }
  }
  Names own = sorted(state.axes);
  const Names &axes = state.initial->axes;
  if (!std::includes(own.begin(), own.end(), axes.begin(), axes.end())) {
    throw UserError(state.location,
                    what + " has axes " + listAxes(axes) + " but the state " +
                        listAxes(state.axes) +
                        "; it is broadcast to the state; sum over the others");
  }
  checkGraph(state.initial);
}

void Validator::checkState(const State &state) {
  std::string what = "state '" + state.name + "'";
  for (const std::string &axis : state.axes) {
    checkAxisName(axis, what, state.location);
  }
  checkDistinctAxes(what, state.axes, state.location);
  checkFacts(state.facts, state.axes, what, state.location);
  if (state.dtype == DType::F64) {
    failStateType(state.name, name(state.dtype), state.location);
  }
  checkInitial(state);
  bool unchanged = state.next && state.next->op == Op::State &&
                   state.next->name == state.name;
  if (!state.next || unchanged) {
    throw UserError(state.location,
                    what +
                        " is never updated; a state changes from token to "
                        "token; assign to it (in Python: r." +
                        state.name + " = ..), or declare a head input");
  }
  checkGraph(state.next);
  checkUpdateAxes(state, state.next, state.next->location);
}

void Validator::checkOutputs() {
  if (recurrence.outputs.empty()) {
    throw UserError(
        recurrence.states.empty() ? SourceLocation{}
                                  : recurrence.states.front().location,
        "recurrence '" + recurrence.name +
            "' has no output; a call returns at least one; add r.output");
  }
  for (const Output &output : recurrence.outputs) {
    checkOutput(output);
  }
}

void Validator::checkOutput(const Output &output) {
  std::string what = "output '" + output.name + "'";
  for (const std::string &axis : output.axes) {
    checkAxisName(axis, what, output.location);
  }
  checkDistinctAxes(what, output.axes, output.location);
  checkGraph(output.value);
  if (sorted(output.axes) != output.value->axes) {
    throw UserError(output.location,
                    what + " is declared over " + listAxes(output.axes) +
                        " but its value has axes " +
                        listAxes(output.value->axes) +
                        "; the two must agree; sum over an axis or multiply "
                        "by a value that has it");
  }
  if (!variesByToken(recurrence, output.value)) {
    throw UserError(output.location,
                    what + " is the same at every token; an output is a "
                           "token's value; read a token input or a state");
  }
}

/// A state must be read by an output or by another state's update, at the
/// start of a token: else nothing of it is carried.
void Validator::checkReads() {
  for (const State &state : recurrence.states) {
    std::vector<NodeRef> readers;
    readers.reserve(recurrence.outputs.size() + recurrence.states.size());
    for (const Output &output : recurrence.outputs) {
      readers.push_back(output.value);
    }
    for (const State &other : recurrence.states) {
      if (other.name != state.name) {
        readers.push_back(other.next);
      }
    }
    std::vector<NodeRef> nodes = operandsFirst(readers);
    bool read = std::any_of(nodes.begin(), nodes.end(), [&](const auto &node) {
      return node->op == Op::State && node->name == state.name;
    });
    if (!read) {
      throw UserError(state.location,
                      "state '" + state.name +
                          "' is never read; what is carried over must reach "
                          "an output or another state; read it, or make it a "
                          "plain Expr");
    }
  }
}

void Validator::checkGraph(const NodeRef &root) {
  for (const NodeRef &node : operandsFirst({root})) {
    bool input = node->op == Op::Input;
    if ((input && !recurrence.findInput(node->name)) ||
        (node->op == Op::State && !recurrence.findState(node->name))) {
      throw UserError(node->location,
                      "'" + node->name +
                          "' is used before it is defined; declare it in "
                          "this recurrence, above its first use");
    }
    std::string what = "'" + std::string(spelling(node->op)) + "'";
    if (!node->axis.empty()) {
      checkAxisName(node->axis, what, node->location);
    }
    if (!node->target.empty()) {
      checkAxisName(node->target, what, node->location);
    }
    if (node->op == Op::At) {
      checkEntry(*node);
    }
  }
  if (root->op == Op::Less || root->op == Op::LessEqual) {
    throw UserError(root->location,
                    "a comparison is used as a value; only select reads one; "
                    "write select(condition, 1, 0)");
  }
}

} // namespace

void validate(Recurrence &recurrence) {
  Validator(recurrence).run();
  recurrence.warnings = unprotectedDivisions(recurrence);
  for (const std::string &warning : unreadEntries(recurrence)) {
    recurrence.warnings.push_back(warning);
  }
}

} // namespace recurra
