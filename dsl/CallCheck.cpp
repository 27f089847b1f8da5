// Shapes of a call of the oracle.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/CallCheck.h"

namespace recurra {
namespace {

using Sizes = std::vector<std::int64_t>;

std::string listSizes(const Sizes &sizes) {
  std::string text = "[";
  for (std::int64_t size : sizes) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  }
  return text + "]";
}

std::int64_t product(const Sizes &sizes) {
  std::int64_t result = 1;
  for (std::int64_t size : sizes) {
    result *= size;
  }
  return result;
}

void append(Sizes &sizes, const std::vector<std::string> &axes,
            const Call &call) {
  for (const std::string &axis : axes) {
    sizes.push_back(call.extents.at(axis));
  }
}

void checkArray(const std::string &what, const Array &array,
                const Sizes &wanted) {
  if (array.sizes != wanted ||
      static_cast<std::int64_t>(array.values.size()) != product(wanted)) {
    throw UserError(what + " has sizes " + listSizes(array.sizes) + " and " +
                    std::to_string(array.values.size()) +
                    " values; the call needs " + listSizes(wanted) +
                    "; reshape it");
  }
}

using Extents = std::map<std::string, std::int64_t>;

std::string findMistake(const Axis &axis, const Extents &extents) {
  auto extent = extents.find(axis.name);
  if (extent == extents.end() || extent->second < 1) {
    return "axis '" + axis.name +
           "' has no size; every axis of the recurrence has one of at least 1; "
           "set extents[\"" +
           axis.name + "\"]";
  }
  std::string fixed = std::to_string(axis.size);
  return axis.size == 0 || axis.size == extent->second
             ? ""
             : "axis '" + axis.name + "' has size " +
                   std::to_string(extent->second) +
                   "; the definition fixes it at " + fixed +
                   "; pass tensors with " + axis.name + " = " + fixed;
}

std::string findMistake(const Node &node, const Extents &extents) {
  std::string message;
  if (node.op == Op::Rename &&
      extents.at(node.axis) != extents.at(node.target)) {
    message = "rename of axis '" + node.axis + "' to '" + node.target +
              "' of another size; the two must agree; call with equal sizes";
  } else if (node.op == Op::At && node.index >= extents.at(node.axis)) {
    message = "at(" + node.axis + ", " + std::to_string(node.index) +
              ") of an axis of size " + std::to_string(extents.at(node.axis)) +
              "; the entry must exist; call with a larger axis";
  }
  return message.empty() ? "" : UserError(node.location, message).what();
}

void checkSizes(const Recurrence &recurrence, const Call &call) {
  if (call.batch < 0 || call.tokens < 0 || call.heads < 1 || call.group < 1 ||
      call.heads % call.group != 0) {
    throw UserError("the call has " + std::to_string(call.batch) + " rows, " +
                    std::to_string(call.tokens) + " tokens, " +
                    std::to_string(call.heads) + " heads in groups of " +
                    std::to_string(call.group) +
                    "; sizes are not negative and a group divides the heads; "
                    "correct them");
  }
  std::string mistake = findSizeMistake(recurrence, call.extents);
  if (!mistake.empty()) {
    throw UserError(mistake);
  }
}

void checkOffsets(const Call &call) {
  const Sizes &offsets = call.offsets;
  if (offsets.empty()) {
    return;
  }
  bool ordered = offsets.front() == 0 && offsets.back() == call.tokens;
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    ordered = ordered && offsets[i - 1] <= offsets[i];
  }
  if (!ordered || call.batch != 1) {
    throw UserError("offsets " + listSizes(offsets) + " with " +
                    std::to_string(call.batch) + " rows of " +
                    std::to_string(call.tokens) +
                    " tokens; packed sequences lie in one row, from 0 to its "
                    "end, in order; correct the offsets");
  }
}

[[noreturn]] void failUnknown(const std::string &kind,
                              const std::string &name) {
  throw UserError("the recurrence has no " + kind + " '" + name +
                  "'; names are those of its declaration; correct it");
}

template <typename Find>
void checkNames(const Arrays &arrays, const std::string &kind, Find find) {
  for (const auto &[name, array] : arrays) {
    if (!find(name)) {
      failUnknown(kind, name);
    }
  }
}

} // namespace

std::string findSizeMistake(const Recurrence &recurrence,
                            const Extents &extents) {
  std::string mistake;
  for (const Axis &axis : recurrence.axes) {
    mistake = mistake.empty() ? findMistake(axis, extents) : mistake;
  }
  if (!mistake.empty()) {
    return mistake;
  }
  std::vector<NodeRef> roots;
  for (const State &state : recurrence.states) {
    roots.insert(roots.end(), {state.initial, state.next});
  }
  for (const Output &output : recurrence.outputs) {
    roots.push_back(output.value);
  }
  for (const NodeRef &node : operandsFirst(roots)) {
    mistake = mistake.empty() ? findMistake(*node, extents) : mistake;
  }
  return mistake;
}

std::vector<Sequence> sequencesOf(const Call &call) {
  std::vector<Sequence> sequences;
  if (call.offsets.empty()) {
    for (std::int64_t row = 0; row < call.batch; ++row) {
      sequences.push_back({row, 0, call.tokens});
    }
    return sequences;
  }
  for (std::size_t n = 0; n + 1 < call.offsets.size(); ++n) {
    sequences.push_back({0, call.offsets[n], call.offsets[n + 1]});
  }
  return sequences;
}

std::vector<std::int64_t> shapeOf(const Input &input, const Call &call) {
  Sizes sizes;
  if (input.role == Role::Scalar) {
    return sizes;
  }
  if (input.role == Role::Token) {
    sizes = {call.batch, call.tokens};
  }
  if (input.sharing != Sharing::All) {
    sizes.push_back(input.sharing == Sharing::Group ? call.heads / call.group
                                                    : call.heads);
  }
  append(sizes, input.axes, call);
  return sizes;
}

std::vector<std::int64_t> shapeOf(const Output &output, const Call &call) {
  Sizes sizes = {call.batch, call.tokens, call.heads};
  append(sizes, output.axes, call);
  return sizes;
}

std::vector<std::int64_t> shapeOf(const State &state, const Call &call) {
  Sizes sizes = {static_cast<std::int64_t>(sequencesOf(call).size()),
                 call.heads};
  append(sizes, state.axes, call);
  return sizes;
}

Array makeArray(const std::vector<std::int64_t> &sizes) {
  return {sizes, std::vector<double>(product(sizes), 0.0)};
}

void checkCall(const Recurrence &recurrence, const Call &call) {
  checkSizes(recurrence, call);
  checkOffsets(call);
  checkNames(call.inputs, "input",
             [&](const auto &name) { return recurrence.findInput(name); });
  checkNames(call.initialStates, "state",
             [&](const auto &name) { return recurrence.findState(name); });
  for (const Input &input : recurrence.inputs) {
    auto given = call.inputs.find(input.name);
    if (given != call.inputs.end()) {
      checkArray("input '" + input.name + "'", given->second,
                 shapeOf(input, call));
    } else if (!input.fallback) {
      throw UserError("input '" + input.name +
                      "' is missing; it has no default; pass it");
    }
  }
  for (const auto &[name, array] : call.initialStates) {
    checkArray("initial state '" + name + "'", array,
               shapeOf(*recurrence.findState(name), call));
  }
}

void checkValues(const Recurrence &recurrence, const Call &call,
                 const Values &values) {
  checkNames(values.outputs, "output",
             [&](const auto &name) { return recurrence.findOutput(name); });
  checkNames(values.finalStates, "state",
             [&](const auto &name) { return recurrence.findState(name); });
  for (const auto &[name, array] : values.outputs) {
    checkArray("the cotangent of output '" + name + "'", array,
               shapeOf(*recurrence.findOutput(name), call));
  }
  for (const auto &[name, array] : values.finalStates) {
    checkArray("the cotangent of state '" + name + "'", array,
               shapeOf(*recurrence.findState(name), call));
  }
}

} // namespace recurra
