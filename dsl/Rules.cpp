// Rules of names, updates and values that are checked statement by statement.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/Rules.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace recurra {
namespace {

using Names = std::vector<std::string>;

Names sorted(Names names) {
  std::sort(names.begin(), names.end());
  return names;
}

bool isWordOfTheLanguage(const std::string &name) {
  static const std::set<std::string> words = {
      "at",
      "extent",
      "rename",
      "select",
      "inf",
      "nan",
      "token",
      "head",
      "scalar",
      "state",
      "output",
      "next",
      "let",
      "axes",
      "states",
      "arguments",
      "outputs",
      "signature",
      "initial",
      "optional",
      "recurrence",
#define X(Name, Text) Text,
      RECURRA_UNARY_OPS(X) RECURRA_BINARY_OPS(X) RECURRA_AXIS_OPS(X)
#undef X
  };
  return words.count(name) != 0;
}

bool isIdentifier(const std::string &name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) {
    return false;
  }
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return c < 128 && (std::isalnum(c) || c == '_');
  });
}

/// How many entries of the axis `at` reads of the input, if nothing reads it
/// whole; else 0.
int entriesRead(const std::vector<NodeRef> &roots, const Input &input,
                const Axis &axis) {
  auto reads = [&](const NodeRef &node) {
    return node->op == Op::Input && node->name == input.name;
  };
  if (std::any_of(roots.begin(), roots.end(), reads)) {
    return 0;
  }
  int entries = 0;
  for (const NodeRef &node : operandsFirst(roots)) {
    if (std::any_of(node->operands.begin(), node->operands.end(), reads)) {
      if (node->op != Op::At || node->axis != axis.name) {
        return 0;
      }
      entries = std::max(entries, node->index + 1);
    }
  }
  return entries;
}

std::string unreadWarning(const Input &input, const Axis &axis,
                          const std::string &entries) {
  std::string message = "of input '" + input.name + "' the entries of axis '" +
                        axis.name + "' from " + entries +
                        " on are never read; a call may have them; fix the "
                        "size with r.axis(\"" +
                        axis.name + "\", " + entries + ")";
  return UserError(input.location, message).what();
}

std::string placeOf(const SourceLocation &location) {
  return location.line == 0
             ? ""
             : " at " + location.file + ":" + std::to_string(location.line);
}

} // namespace

void checkName(const Recurrence &recurrence, const std::string &name,
               const SourceLocation &location) {
  if (!isIdentifier(name)) {
    throw UserError(location, "'" + name +
                                  "' is no name; names are letters, digits "
                                  "and _, not first a digit; rename it");
  }
  if (isWordOfTheLanguage(name)) {
    throw UserError(location, "'" + name +
                                  "' is a word of the language; names differ "
                                  "from its words; rename it");
  }
  const SourceLocation *first = nullptr;
  for (const Axis &axis : recurrence.axes) {
    first = axis.name == name ? &axis.location : first;
  }
  const Input *input = recurrence.findInput(name);
  const State *state = recurrence.findState(name);
  const Output *output = recurrence.findOutput(name);
  first = input    ? &input->location
          : state  ? &state->location
          : output ? &output->location
                   : first;
  if (first) {
    throw UserError(location, "'" + name + "' is declared already" +
                                  placeOf(*first) +
                                  "; axes, inputs, states and outputs have "
                                  "distinct names; rename one");
  }
}

void checkAxisSize(const Axis &axis) {
  if (axis.size < 1) {
    throw UserError(axis.location, "axis '" + axis.name + "' has the size " +
                                       std::to_string(axis.size) +
                                       "; a fixed size is at least 1; leave it "
                                       "out to let each call choose");
  }
}

void failStateType(const std::string &state, std::string_view spelling,
                   const SourceLocation &location) {
  throw UserError(location, "state '" + state + "' has the dtype '" +
                                std::string(spelling) +
                                "'; the tensors of a state are f32, f16 or "
                                "bf16 (f64 by themselves where every input "
                                "is); name one of the three, or none for f32");
}

void checkUpdateAxes(const State &state, const NodeRef &update,
                     const SourceLocation &location) {
  Names own = sorted(state.axes);
  if (update->axes == own) {
    return;
  }
  Names missing, extra;
  std::set_difference(own.begin(), own.end(), update->axes.begin(),
                      update->axes.end(), std::back_inserter(missing));
  std::set_difference(update->axes.begin(), update->axes.end(), own.begin(),
                      own.end(), std::back_inserter(extra));
  std::string remedy = missing.empty()
                           ? "sum over " + listAxes(extra)
                           : "multiply by a value over " + listAxes(missing);
  throw UserError(
      location, "state '" + state.name + "' has axes " + listAxes(state.axes) +
                    " but its update has " + listAxes(update->axes) +
                    "; the two must agree; " + remedy + ", or declare " +
                    state.name + " over " + listAxes(update->axes));
}

bool variesByToken(const Recurrence &recurrence, const NodeRef &value) {
  for (const NodeRef &node : operandsFirst({value})) {
    const Input *input =
        node->op == Op::Input ? recurrence.findInput(node->name) : nullptr;
    if (node->op == Op::State || (input && input->role == Role::Token)) {
      return true;
    }
  }
  return false;
}

NodeRef readState(const State &state, const SourceLocation &location) {
  Node node;
  node.op = Op::State;
  node.name = state.name;
  node.axes = state.axes;
  node.location = location;
  return makeNode(std::move(node));
}

NodeRef readInput(const Input &input, const SourceLocation &location) {
  Node node;
  node.op = Op::Input;
  node.name = input.name;
  node.axes = input.axes;
  node.location = location;
  return makeNode(std::move(node));
}

std::vector<std::string> unreadEntries(const Recurrence &recurrence) {
  std::vector<NodeRef> roots;
  for (const State &state : recurrence.states) {
    roots.push_back(state.next);
  }
  for (const Output &output : recurrence.outputs) {
    roots.push_back(output.value);
  }
  std::vector<std::string> warnings;
  for (const Input &input : recurrence.inputs) {
    for (const Axis &axis : recurrence.axes) {
      int entries = axis.size == 0 ? entriesRead(roots, input, axis) : 0;
      if (entries > 0) {
        warnings.push_back(unreadWarning(input, axis, std::to_string(entries)));
      }
    }
  }
  return warnings;
}

} // namespace recurra
