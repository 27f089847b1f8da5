// The oracle forward, its derivative by the complex step, and defaults.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/Evaluate.h"

#include "dsl/Walk.h"

#include <algorithm>

namespace recurra {
namespace {

using Complex = elementwise::Complex;

constexpr double complexStep = 1e-100;

/// Runs `walk` and takes `part` of every value.
template <typename Scalar, typename Part>
Values runWalk(Walk<Scalar> &walk, Part part) {
  Values result;
  typename Walk<Scalar>::Named outputs, finals;
  for (const Output &output : walk.recurrence.outputs) {
    Array &array = result.outputs[output.name] =
        makeArray(shapeOf(output, walk.call));
    outputs[output.name].resize(array.values.size());
  }
  for (const State &state : walk.recurrence.states) {
    Array &array = result.finalStates[state.name] =
        makeArray(shapeOf(state, walk.call));
    finals[state.name].resize(array.values.size());
  }
  walk.run(outputs, finals);
  auto take = [&](const auto &from, Arrays &into) {
    for (const auto &[name, flat] : from) {
      std::transform(flat.begin(), flat.end(), into[name].values.begin(), part);
    }
  };
  take(outputs, result.outputs);
  take(finals, result.finalStates);
  return result;
}

/// Adds `complexStep` times the direction as imaginary parts.
void perturb(const Arrays &direction, Walk<Complex>::Named &values) {
  for (const auto &[name, array] : direction) {
    Flat<Complex> &flat = values.at(name);
    for (std::size_t i = 0; i < flat.size(); ++i) {
      flat[i] += Complex(0, complexStep * array.values.at(i));
    }
  }
}

} // namespace

Values evaluate(const Recurrence &recurrence, const Call &call) {
  checkCall(recurrence, call);
  Walk<double> walk(recurrence, call);
  return runWalk(walk, [](double value) { return value; });
}

Values tangent(const Recurrence &recurrence, const Call &call,
               const Gradients &direction) {
  checkCall(recurrence, call);
  Walk<Complex> walk(recurrence, call);
  perturb(direction.inputs, walk.inputs);
  perturb(direction.initialStates, walk.initialStates);
  return runWalk(
      walk, [](const Complex &value) { return value.imag() / complexStep; });
}

double evaluateDefault(const Input &input,
                       const std::map<std::string, std::int64_t> &extents) {
  if (!input.fallback) {
    throw UserError(input.location, "input '" + input.name +
                                        "' has no default; a missing input "
                                        "takes its default; pass it");
  }
  Program program({input.fallback}, extents);
  auto values = program.makeValues<double>();
  program.forward(values);
  return values[program.slot(input.fallback)].front();
}

} // namespace recurra
