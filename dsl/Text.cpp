// Printing of the canonical text, and its hash.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/Text.h"

#include "dsl/Words.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace recurra {
namespace {

/// How tightly an infix operator binds.
enum Precedence { Comparison = 1, Additive, Multiplicative, Unary, Atom };

Precedence precedenceOf(const Node &node) {
  switch (node.op) {
  case Op::Less:
  case Op::LessEqual:
    return Comparison;
  case Op::Add:
  case Op::Sub:
    return Additive;
  case Op::Mul:
  case Op::Div:
    return Multiplicative;
  case Op::Neg:
    return Unary;
  default:
    return Atom;
  }
}

std::string number(double value) {
  std::array<char, 32> buffer{};
  auto end = std::to_chars(buffer.begin(), buffer.end(), value).ptr;
  return {buffer.begin(), end};
}

bool isLeaf(const Node &node) { return node.operands.empty(); }

std::string join(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words) {
    text += (text.empty() ? "" : ", ") + word;
  }
  return text;
}

std::string listLine(const std::string &word,
                     const std::vector<std::string> &names) {
  return word + (names.empty() ? "" : " ") + join(names) + "\n";
}

std::string axesSuffix(const std::vector<std::string> &axes) {
  return axes.empty() ? "" : "[" + join(axes) + "]";
}

std::string dtypeSuffix(DType type) {
  return type == DType::F32 ? "" : " dtype " + std::string(name(type));
}

template <typename Item>
std::vector<const Item *> byName(const std::vector<Item> &items) {
  std::vector<const Item *> sorted;
  sorted.reserve(items.size());
  for (const Item &item : items) {
    sorted.push_back(&item);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const Item *a, const Item *b) { return a->name < b->name; });
  return sorted;
}

/// Prints one recurrence. Nodes that are used more than once, and updates of
/// states, get a name before their first use.
class Printer {
public:
  Printer(const Recurrence &recurrence, Locations locations)
      : recurrence(recurrence), keep(locations == Locations::Keep) {}

  std::string body() {
    declarations();
    countUses();
    for (const State *state : byName(recurrence.states)) {
      statement(state->next);
      if (printed.insert(state).second) {
        line("next " + state->name + " = " + expression(state->next, Atom),
             state->next->location);
      }
    }
    for (const Output *output : byName(recurrence.outputs)) {
      std::string value = inlined(*output);
      line("output " + output->name + axesSuffix(output->axes) + " = " + value,
           output->location);
    }
    return text;
  }

  std::string signature() {
    std::vector<std::string> axes, arguments, states, outputs;
    for (const Axis &axis : recurrence.axes) {
      axes.push_back(axis.name);
    }
    for (const Input &input : recurrence.inputs) {
      std::string fallback =
          input.fallback ? " = " + expression(input.fallback, Comparison) : "";
      arguments.push_back(input.name + fallback);
    }
    for (const State &state : recurrence.states) {
      states.push_back(state.name);
    }
    for (const Output &output : recurrence.outputs) {
      outputs.push_back((output.optional ? "optional " : "") + output.name);
    }
    return "signature\n" + listLine("axes", axes) +
           listLine("arguments", arguments) + listLine("states", states) +
           listLine("outputs", outputs);
  }

  /// `outer` is the precedence of what surrounds the value.
  std::string expression(const NodeRef &node, int outer) {
    auto named = names.find(node.get());
    if (named != names.end()) {
      return named->second;
    }
    if (isLeaf(*node)) {
      return leaf(*node);
    }
    int inner = precedenceOf(*node);
    std::string value = inner == Atom ? call(*node) : infix(*node, inner);
    return inner < outer ? "(" + value + ")" : value;
  }

private:
  void line(const std::string &statement, const SourceLocation &location) {
    text += statement;
    if (keep && location.line != 0) {
      text += "  @ " + location.file + ":" + std::to_string(location.line);
    }
    text += "\n";
  }

  void declarations() {
    std::vector<const Axis *> axes = byName(recurrence.axes);
    for (const Axis *axis : axes) {
      std::string size =
          axis->size == 0 ? "" : " " + std::to_string(axis->size);
      line("axis " + axis->name + size, axis->location);
    }
    for (const Input *input : byName(recurrence.inputs)) {
      std::string declaration(roleWord(input->role));
      declaration += " " + input->name + axesSuffix(input->axes);
      if (input->sharing != Sharing::Head) {
        declaration += " " + std::string(sharingWord(input->sharing));
      }
      line(declaration + facts(input->facts), input->location);
    }
    for (const State *state : byName(recurrence.states)) {
      line("state " + state->name + axesSuffix(state->axes) +
               dtypeSuffix(state->dtype) + facts(state->facts) + " initial " +
               expression(state->initial, Comparison),
           state->location);
    }
  }

  /// Sorted: facts hold together, in any order.
  static std::string facts(const std::vector<Fact> &facts) {
    std::set<std::string> texts;
    for (const Fact &fact : facts) {
      texts.insert(factText(fact));
    }
    std::string words;
    for (const std::string &text : texts) {
      words += " " + text;
    }
    return words;
  }

  void countUses() {
    std::vector<NodeRef> roots;
    for (const State *state : byName(recurrence.states)) {
      roots.push_back(state->next);
      ++uses[state->next.get()];
      if (!isLeaf(*state->next)) {
        updates.emplace(state->next.get(), state);
      }
    }
    for (const Output &output : recurrence.outputs) {
      roots.push_back(output.value);
      ++uses[output.value.get()];
    }
    for (const NodeRef &node : operandsFirst(roots)) {
      for (const NodeRef &operand : node->operands) {
        ++uses[operand.get()];
        strays[operand.get()] =
            strays[operand.get()] || !(operand->location == node->location);
      }
    }
  }

  bool wantsName(const NodeRef &node) {
    return !isLeaf(*node) &&
           (uses[node.get()] > 1 || updates.count(node.get()) != 0 ||
            (keep && strays[node.get()] && !isCondition(*node)));
  }

  /// Shared conditions are printed at each use: a name stands for a number.
  static bool isCondition(const Node &node) {
    return precedenceOf(node) == Comparison;
  }

  /// Prints the statements that `root` needs, its own included if it has one.
  void statement(const NodeRef &root) {
    for (const NodeRef &node : operandsFirst({root})) {
      if (names.count(node.get()) == 0 && wantsName(node) &&
          !isCondition(*node)) {
        nameIt(node);
      }
    }
  }

  void nameIt(const NodeRef &node) {
    std::string value = expression(node, Comparison);
    auto update = updates.find(node.get());
    if (update != updates.end()) {
      const State *state = update->second;
      printed.insert(state);
      names[node.get()] = state->name + "'";
      line("next " + state->name + " = " + value, node->location);
      return;
    }
    std::string name = "%" + std::to_string(++lets);
    names[node.get()] = name;
    line("let " + name + " = " + value, node->location);
  }

  /// The value of an output: its statements first, then itself.
  std::string inlined(const Output &output) {
    const NodeRef &root = output.value;
    for (const NodeRef &operand : root->operands) {
      statement(operand);
    }
    bool stray = keep && !(root->location == output.location);
    if (!isLeaf(*root) && (uses[root.get()] > 1 || stray) &&
        names.count(root.get()) == 0) {
      nameIt(root);
    }
    return expression(root, Comparison);
  }

  static std::string leaf(const Node &node) {
    switch (node.op) {
    case Op::Constant:
      return number(node.value);
    case Op::Extent:
      return "extent(" + node.axis + ")";
    default:
      return node.name;
    }
  }

  std::string infix(const Node &node, int precedence) {
    if (node.op == Op::Neg) {
      // A literal after '-' would read back as a negative constant.
      const NodeRef &operand = node.operands[0];
      bool literal = operand->op == Op::Constant;
      std::string value = expression(operand, Unary);
      return literal ? "-(" + value + ")" : "-" + value;
    }
    return expression(node.operands[0], precedence) + " " +
           std::string(spelling(node.op)) + " " +
           expression(node.operands[1], precedence + 1);
  }

  std::string call(const Node &node) {
    std::vector<std::string> arguments;
    arguments.reserve(node.operands.size() + 2);
    for (const NodeRef &operand : node.operands) {
      arguments.push_back(expression(operand, Comparison));
    }
    if (!node.axis.empty()) {
      arguments.push_back(node.axis);
    }
    if (!node.target.empty()) {
      arguments.push_back(node.target);
    }
    if (node.op == Op::At) {
      arguments.push_back(std::to_string(node.index));
    }
    return std::string(spelling(node.op)) + "(" + join(arguments) + ")";
  }

  const Recurrence &recurrence;
  bool keep;
  std::string text;
  int lets = 0;
  std::unordered_map<const Node *, int> uses;
  std::unordered_map<const Node *, bool> strays;
  std::unordered_map<const Node *, const State *> updates;
  std::unordered_set<const State *> printed;
  std::unordered_map<const Node *, std::string> names;
};

} // namespace

std::string factText(const Fact &fact) {
  std::string word(factWord(fact.kind));
  if (fact.kind == Fact::Range) {
    return word + "(" + number(fact.low) + ", " + number(fact.high) + ")";
  }
  return fact.kind == Fact::Unit ? word + "(" + fact.axis + ")" : word;
}

std::string expressionText(const NodeRef &value) {
  Recurrence empty;
  return Printer(empty, Locations::Omit).expression(value, Comparison);
}

std::string toText(const Recurrence &recurrence, Locations locations) {
  Printer printer(recurrence, locations);
  return "recurrence " + recurrence.name + "\n" + printer.body() +
         printer.signature();
}

std::uint64_t hash(const Recurrence &recurrence) {
  std::uint64_t result = 0xcbf29ce484222325; // FNV-1a
  for (unsigned char c : Printer(recurrence, Locations::Omit).body()) {
    result = (result ^ c) * 0x100000001b3;
  }
  return result;
}

} // namespace recurra
