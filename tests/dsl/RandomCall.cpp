// Drawing random calls.
// SPDX-License-Identifier: Apache-2.0
#include "tests/dsl/RandomCall.h"

#include "dsl/CallCheck.h"

#include <algorithm>
#include <cmath>

namespace recurra {
namespace {

double draw(const std::vector<Fact> &facts, std::mt19937 &random) {
  double x = std::normal_distribution<double>()(random);
  for (const Fact &fact : facts) {
    switch (fact.kind) {
    case Fact::Positive:
      x = 0.5 + std::abs(x);
      break;
    case Fact::NonNegative:
      x = std::abs(x);
      break;
    case Fact::NonPositive:
      x = -std::abs(x);
      break;
    case Fact::Range:
      x = fact.low + (fact.high - fact.low) / (1 + std::exp(-x));
      break;
    case Fact::Unit:
      break;
    }
  }
  return x;
}

Array drawArray(const std::vector<std::int64_t> &sizes,
                const std::vector<Fact> &facts, std::mt19937 &random) {
  Array array = makeArray(sizes);
  for (double &value : array.values) {
    value = draw(facts, random);
  }
  return array;
}

} // namespace

std::map<std::string, std::int64_t> smallExtents(const Recurrence &recurrence) {
  std::map<std::string, std::int64_t> extents;
  std::int64_t next = 3;
  for (const Axis &axis : recurrence.axes) {
    extents[axis.name] = axis.size != 0     ? axis.size
                         : axis.name == "E" ? extents.at("D")
                                            : next++;
  }
  return extents;
}

Call randomCall(const Recurrence &recurrence, const Sizes &sizes,
                std::mt19937 &random) {
  Call call;
  call.batch = sizes.batch;
  call.tokens = sizes.tokens;
  call.heads = sizes.heads;
  call.group = sizes.group;
  call.offsets = sizes.offsets;
  call.extents = smallExtents(recurrence);
  for (auto &[axis, size] : sizes.extents) {
    call.extents[axis] = size;
  }
  for (const Input &input : recurrence.inputs) {
    call.inputs[input.name] =
        drawArray(shapeOf(input, call), input.facts, random);
  }
  for (const State &state : recurrence.states) {
    call.initialStates[state.name] =
        drawArray(shapeOf(state, call), state.facts, random);
  }
  return call;
}

Values randomCotangents(const Recurrence &recurrence, const Call &call,
                        std::mt19937 &random,
                        const std::vector<std::string> &skip) {
  Values values;
  for (const Output &output : recurrence.outputs) {
    values.outputs[output.name] = drawArray(shapeOf(output, call), {}, random);
  }
  for (const State &state : recurrence.states) {
    if (std::find(skip.begin(), skip.end(), state.name) == skip.end()) {
      values.finalStates[state.name] =
          drawArray(shapeOf(state, call), {}, random);
    }
  }
  return values;
}

Gradients randomDirection(const Call &call, std::mt19937 &random) {
  Gradients direction;
  for (const auto &[name, array] : call.inputs) {
    direction.inputs[name] = drawArray(array.sizes, {}, random);
  }
  for (const auto &[name, array] : call.initialStates) {
    direction.initialStates[name] = drawArray(array.sizes, {}, random);
  }
  return direction;
}

double inner(const Arrays &left, const Arrays &right) {
  double sum = 0;
  for (const auto &[name, array] : left) {
    auto other = right.find(name);
    for (std::size_t i = 0; other != right.end() && i < array.values.size();
         ++i) {
      sum += array.values[i] * other->second.values[i];
    }
  }
  return sum;
}

double inner(const Values &left, const Values &right) {
  return inner(left.outputs, right.outputs) +
         inner(left.finalStates, right.finalStates);
}

double inner(const Gradients &left, const Gradients &right) {
  return inner(left.inputs, right.inputs) +
         inner(left.initialStates, right.initialStates);
}

} // namespace recurra
