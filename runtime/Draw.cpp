// Draw: uniform and normal numbers from a generator of our own, since those of
// the standard library differ from one library to the next.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Draw.h"

#include "dsl/CallCheck.h"
#include "dsl/Program.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <set>

namespace recurra {
namespace {

class Generator {
public:
  explicit Generator(unsigned seed) : engine(seed) {}
  double uniform(double low, double high) {
    double unit = (static_cast<double>(engine() >> 11) + 0.5) * 0x1p-53;
    return low + (high - low) * unit;
  }
  double normal() {
    double radius = std::sqrt(-2 * std::log(uniform(0, 1)));
    return radius * std::cos(2 * std::numbers::pi * uniform(0, 1));
  }

private:
  std::mt19937_64 engine;
};

/// Scales every line along one axis to norm 1.
void normalise(Array &array, const std::vector<std::string> &axes,
               const std::string &axis) {
  auto position = std::find(axes.begin(), axes.end(), axis) - axes.begin();
  std::size_t dimension = array.sizes.size() - axes.size() + position;
  std::size_t inner = 1;
  for (std::size_t i = dimension + 1; i < array.sizes.size(); ++i) {
    inner *= array.sizes[i];
  }
  std::size_t size = array.sizes[dimension];
  for (std::size_t line = 0; line < array.values.size() / size; ++line) {
    std::size_t first = line / inner * inner * size + line % inner;
    double square = 0;
    for (std::size_t i = 0; i < size; ++i) {
      square += std::pow(array.values[first + i * inner], 2);
    }
    for (std::size_t i = 0; i < size; ++i) {
      array.values[first + i * inner] /= std::sqrt(square);
    }
  }
}

double drawOne(const std::vector<Fact> &facts, Generator &generator) {
  for (const Fact &fact : facts) {
    switch (fact.kind) {
    case Fact::Positive:
      return generator.uniform(0.5, 1.5);
    case Fact::NonNegative:
      return generator.uniform(0, 1);
    case Fact::NonPositive:
      return generator.uniform(-1, 0);
    case Fact::Range:
      return generator.uniform(fact.low, fact.high);
    case Fact::Unit:
      break;
    }
  }
  return generator.normal();
}

Array draw(const std::vector<std::int64_t> &sizes,
           const std::vector<std::string> &axes, const std::vector<Fact> &facts,
           Generator &generator) {
  Array array = makeArray(sizes);
  for (double &value : array.values) {
    value = drawOne(facts, generator);
  }
  for (const Fact &fact : facts) {
    if (fact.kind == Fact::Unit) {
      normalise(array, axes, fact.axis);
    }
  }
  return array;
}

/// The axes that some statement sums over.
class SummedAxes {
public:
  explicit SummedAxes(const Recurrence &recurrence) {
    for (const State &state : recurrence.states) {
      visit(state.next);
    }
    for (const Output &output : recurrence.outputs) {
      visit(output.value);
    }
  }
  bool contains(const std::string &axis) const { return axes.contains(axis); }

private:
  std::set<const Node *> seen;
  std::set<std::string> axes;

  void visit(const NodeRef &node) {
    if (!seen.insert(node.get()).second) {
      return;
    }
    if (node->op == Op::Sum) {
      axes.insert(node->axis);
    }
    for (const NodeRef &operand : node->operands) {
      visit(operand);
    }
  }
};

double defaultOf(const Input &input, const Call &call) {
  Program program({input.fallback}, call.extents);
  auto values = program.makeValues<double>();
  program.forward(values);
  return values[program.slot(input.fallback)].at(0);
}

Array drawInput(const Input &input, const Call &call, const SummedAxes &summed,
                Generator &generator) {
  Array array = draw(shapeOf(input, call), input.axes, input.facts, generator);
  if (input.fallback) {
    for (double &value : array.values) {
      value = defaultOf(input, call) * generator.uniform(0.5, 1.5);
    }
  } else if (input.facts.empty()) {
    for (const std::string &axis : input.axes) {
      if (summed.contains(axis)) {
        normalise(array, input.axes, axis);
        break;
      }
    }
  }
  return array;
}

} // namespace

void drawInputs(const Recurrence &recurrence, Call &call, unsigned seed,
                bool withStates) {
  Generator generator(seed);
  SummedAxes summed(recurrence);
  for (const Input &input : recurrence.inputs) {
    call.inputs[input.name] = drawInput(input, call, summed, generator);
  }
  for (const State &state : recurrence.states) {
    if (withStates) {
      call.initialStates[state.name] =
          draw(shapeOf(state, call), state.axes, state.facts, generator);
    }
  }
}

Values drawCotangents(const Recurrence &recurrence, const Call &call,
                      unsigned seed) {
  Generator generator(seed);
  Values values;
  for (const Output &output : recurrence.outputs) {
    values.outputs[output.name] =
        draw(shapeOf(output, call), output.axes, {}, generator);
  }
  for (const State &state : recurrence.states) {
    values.finalStates[state.name] =
        draw(shapeOf(state, call), state.axes, {}, generator);
  }
  return values;
}

} // namespace recurra
