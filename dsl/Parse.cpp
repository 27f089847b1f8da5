// Reading the canonical text back: a statement a line, infix expressions.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/ExpressionReader.h"
#include "dsl/Rules.h"
#include "dsl/Text.h"
#include "dsl/Words.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace recurra {
namespace {

template <typename Words, typename Value>
bool findWord(const Words &words, std::string_view word, Value &value) {
  for (const auto &[candidate, spelled] : words) {
    if (spelled == word) {
      value = candidate;
      return true;
    }
  }
  return false;
}

/// Builds the recurrence line by line.
class Parser {
public:
  Recurrence run(const std::string &text);

private:
  void statement();
  void axis();
  void input(Role role);
  void state();
  void let();
  void next();
  void output();
  void axesLine();
  void argumentsLine();
  void outputsLine();
  void finishStates();

  std::string newName();
  std::vector<std::string> axesList();
  DType dtype(const std::string &state);
  std::vector<Fact> facts();
  Fact fact(Fact::Kind kind);

  NodeRef expression() { return ExpressionReader(result, named, line).read(); }
  NodeRef zero();

  template <typename Item>
  void reorder(std::vector<Item> &items, const std::vector<std::string> &names);
  std::vector<std::string> nameList();

  Recurrence result;
  std::map<std::string, NodeRef> named; ///< lets and updates
  bool inSignature = false;
  TokenLine line;
};

Recurrence Parser::run(const std::string &text) {
  std::istringstream lines(text);
  std::string content;
  for (int number = 1; std::getline(lines, content); ++number) {
    line = TokenLine(content, number);
    if (!line.atEnd()) {
      statement();
      line.expectEnd();
    }
  }
  if (result.name.empty()) {
    line.fail("the text has no recurrence; its first line names it; write "
              "'recurrence NAME'");
  }
  finishStates();
  shareNodes(result);
  validate(result);
  return result;
}

void Parser::statement() {
  std::string word = line.identifier();
  Role role{};
  if (word == "recurrence") {
    result.name = newName();
  } else if (word == "axis") {
    axis();
  } else if (findWord(roleWords, word, role)) {
    input(role);
  } else if (word == "state") {
    state();
  } else if (word == "let") {
    let();
  } else if (word == "next") {
    next();
  } else if (word == "output") {
    output();
  } else if (word == "signature") {
    inSignature = true;
  } else if (inSignature && word == "axes") {
    axesLine();
  } else if (inSignature && word == "arguments") {
    argumentsLine();
  } else if (inSignature && word == "states") {
    reorder(result.states, nameList());
  } else if (inSignature && word == "outputs") {
    outputsLine();
  } else {
    line.fail("'" + word +
              "' begins no statement; a line begins with axis, "
              "token, head, scalar, state, let, next, output or "
              "signature; correct the word");
  }
}

std::string Parser::newName() {
  std::string name = line.identifier();
  checkName(result, name, line.location());
  return name;
}

std::vector<std::string> Parser::axesList() {
  std::vector<std::string> axes;
  if (!line.take("[")) {
    return axes;
  }
  do {
    axes.push_back(line.identifier());
    if (!hasAxis(result, axes.back())) {
      line.fail("the unknown axis '" + axes.back() +
                "'; axes are declared first; add 'axis " + axes.back() + "'");
    }
  } while (line.take(","));
  line.expect("]");
  return axes;
}

Fact Parser::fact(Fact::Kind kind) {
  Fact fact{kind, 0, 0, ""};
  if (kind == Fact::Unit) {
    line.expect("(");
    fact.axis = line.identifier();
    line.expect(")");
  } else if (kind == Fact::Range) {
    line.expect("(");
    fact.low = line.signedNumber();
    line.expect(",");
    fact.high = line.signedNumber();
    line.expect(")");
  }
  return fact;
}

std::vector<Fact> Parser::facts() {
  std::vector<Fact> facts;
  Fact::Kind kind{};
  while (findWord(factWords, line.peek(), kind)) {
    line.identifier();
    facts.push_back(fact(kind));
  }
  return facts;
}

DType Parser::dtype(const std::string &state) {
  std::string spelling = line.identifier();
  std::optional<DType> type = parseDType(spelling);
  if (!type) {
    failStateType(state, spelling, line.location());
  }
  return *type;
}

void Parser::axis() {
  std::string name = newName();
  result.axes.push_back({name, line.location()});
  if (line.isNumber()) {
    double size = line.number();
    if (size < 1 || size > 1e9 || size != std::floor(size)) {
      line.fail("axis '" + name +
                "' has a size that is no whole number from 1 to 1e9; it "
                "counts entries; correct it, or leave it out");
    }
    result.axes.back().size = static_cast<std::int64_t>(size);
  }
}

void Parser::input(Role role) {
  Input input;
  input.role = role;
  input.name = newName();
  input.axes = axesList();
  if (findWord(sharingWords, line.peek(), input.sharing)) {
    line.identifier();
  }
  input.facts = facts();
  input.location = line.location();
  result.inputs.push_back(std::move(input));
}

void Parser::state() {
  State state;
  state.name = newName();
  state.axes = axesList();
  state.dtype = line.take("dtype") ? dtype(state.name) : DType::F32;
  state.facts = facts();
  state.location = line.location();
  state.initial = line.take("initial") ? expression() : zero();
  result.states.push_back(std::move(state));
}

void Parser::let() {
  std::string name = line.let();
  line.expect("=");
  named[name] = expression();
}

void Parser::next() {
  std::string name = line.identifier();
  const State *known = result.findState(name);
  if (!known) {
    line.fail("'" + name +
              "' is used before it is defined; a state is "
              "declared above its update; add 'state " +
              name + "'");
  }
  State &state = result.states[known - result.states.data()];
  if (state.next) {
    line.fail("state '" + name +
              "' is updated twice; the text has one next "
              "for each state; use let for the first");
  }
  line.expect("=");
  state.next = expression();
  checkUpdateAxes(state, state.next, line.location());
  named[name + "'"] = state.next;
}

void Parser::output() {
  Output output;
  output.name = newName();
  output.axes = axesList();
  output.location = line.location();
  line.expect("=");
  output.value = expression();
  result.outputs.push_back(std::move(output));
}

std::vector<std::string> Parser::nameList() {
  std::vector<std::string> names;
  while (!line.atEnd()) {
    names.push_back(line.identifier());
    if (!line.take(",")) {
      break;
    }
  }
  return names;
}

template <typename Item>
void Parser::reorder(std::vector<Item> &items,
                     const std::vector<std::string> &names) {
  std::vector<Item> ordered;
  for (const std::string &name : names) {
    auto found =
        std::find_if(items.begin(), items.end(),
                     [&](const Item &item) { return item.name == name; });
    if (found == items.end()) {
      line.fail("the signature names '" + name +
                "' twice or without a declaration; it orders what is "
                "declared; correct the name");
    }
    ordered.push_back(std::move(*found));
    items.erase(found);
  }
  if (!items.empty()) {
    line.fail("the signature leaves out '" + items.front().name +
              "'; it orders all that is declared; add the name");
  }
  items = std::move(ordered);
}

void Parser::axesLine() { reorder(result.axes, nameList()); }

void Parser::argumentsLine() {
  std::vector<std::string> names;
  while (!line.atEnd()) {
    names.push_back(line.identifier());
    const Input *input = result.findInput(names.back());
    if (line.take("=")) {
      NodeRef fallback = expression();
      if (input) {
        result.inputs[input - result.inputs.data()].fallback = fallback;
      }
    }
    if (!line.take(",")) {
      break;
    }
  }
  reorder(result.inputs, names);
}

void Parser::outputsLine() {
  std::vector<std::string> names;
  while (!line.atEnd()) {
    bool optional = line.take("optional");
    names.push_back(line.identifier());
    const Output *output = result.findOutput(names.back());
    if (output && optional) {
      result.outputs[output - result.outputs.data()].optional = true;
    }
    if (!line.take(",")) {
      break;
    }
  }
  reorder(result.outputs, names);
}

/// A state without an update is left to `validate`.
void Parser::finishStates() {
  for (State &state : result.states) {
    state.initial = state.initial ? state.initial : zero();
  }
}

NodeRef Parser::zero() {
  Node node;
  node.location = line.location();
  return makeNode(std::move(node));
}

} // namespace

Recurrence parse(const std::string &text) { return Parser().run(text); }

} // namespace recurra
