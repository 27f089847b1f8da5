// The oracle on NumPy arrays; sizes are read off their shapes.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/Evaluate.h"
#include "ops/python/dsl/Binding.h"

#include <algorithm>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

namespace recurra::python {
namespace {

using Numbers = py::array_t<double, py::array::c_style | py::array::forcecast>;
using Given = std::map<std::string, Numbers>;
using Extents = std::map<std::string, std::int64_t>;
using Offsets = std::optional<std::vector<std::int64_t>>;

Array toArray(const Numbers &numbers) {
  Array array;
  array.sizes.assign(numbers.shape(), numbers.shape() + numbers.ndim());
  array.values.assign(numbers.data(), numbers.data() + numbers.size());
  return array;
}

Arrays toArrays(const Given &given) {
  Arrays arrays;
  for (const auto &[name, numbers] : given) {
    arrays[name] = toArray(numbers);
  }
  return arrays;
}

py::dict toDict(const Arrays &arrays) {
  py::dict dict;
  for (const auto &[name, array] : arrays) {
    std::vector<py::ssize_t> shape(array.sizes.begin(), array.sizes.end());
    Numbers numbers(shape);
    std::copy(array.values.begin(), array.values.end(), numbers.mutable_data());
    dict[py::str(name)] = numbers;
  }
  return dict;
}

/// Reads the sizes of the axes off the end of a shape, and returns how many
/// dimensions are before them.
std::size_t readAxes(const std::vector<std::string> &axes, const Array &array,
                     Extents &extents) {
  std::size_t before =
      array.sizes.size() - std::min(array.sizes.size(), axes.size());
  for (std::size_t i = 0; i < axes.size() && before + i < array.sizes.size();
       ++i) {
    extents.emplace(axes[i], array.sizes[before + i]);
  }
  return before;
}

void readInput(const Input &input, const Array &array, Call &call,
               std::int64_t &groups) {
  if (input.role == Role::Scalar) {
    return;
  }
  std::size_t before = readAxes(input.axes, array, call.extents);
  bool token = input.role == Role::Token;
  bool heads = input.sharing != Sharing::All;
  if (before != (token ? 2u : 0u) + (heads ? 1u : 0u)) {
    return; // the call's own check words the mistake
  }
  if (token) {
    call.batch = array.sizes[0];
    call.tokens = array.sizes[1];
  }
  if (heads) {
    std::int64_t size = array.sizes[before - 1];
    (input.sharing == Sharing::Group ? groups : call.heads) = size;
  }
}

Call makeCall(const Recurrence &recurrence, const Given &inputs,
              const Given &states, const Offsets &offsets,
              const Extents &extents, std::int64_t heads) {
  Call call;
  call.inputs = toArrays(inputs);
  call.initialStates = toArrays(states);
  call.offsets = offsets.value_or(std::vector<std::int64_t>{});
  call.extents = extents;
  call.heads = 0;
  std::int64_t groups = 0;
  for (const Input &input : recurrence.inputs) {
    auto given = call.inputs.find(input.name);
    if (given != call.inputs.end()) {
      readInput(input, given->second, call, groups);
    }
  }
  for (const recurra::State &state : recurrence.states) {
    auto given = call.initialStates.find(state.name);
    if (given != call.initialStates.end() &&
        readAxes(state.axes, given->second, call.extents) == 2) {
      call.heads = std::max(call.heads, given->second.sizes[1]);
    }
  }
  call.heads =
      heads != 0 ? heads : std::max({call.heads, groups, std::int64_t{1}});
  call.group = groups == 0 ? 1 : std::max<std::int64_t>(call.heads / groups, 1);
  return call;
}

constexpr const char *evaluateText =
    "(outputs, final states) by name, of float64 arrays: the token loop that "
    "everything else is compared with. inputs and initial_states map names to "
    "arrays; offsets is cu_seqlens.";
constexpr const char *differentiateText =
    "(gradients of inputs, of initial states) by name, given cotangents of "
    "outputs and of final states.";

} // namespace

void bindOracle(py::module_ &module) {
  module.def(
      "evaluate",
      [](const Recurrence &recurrence, const Given &inputs, const Given &states,
         const Offsets &offsets, const Extents &extents, std::int64_t heads) {
        Call call =
            makeCall(recurrence, inputs, states, offsets, extents, heads);
        Values values;
        {
          py::gil_scoped_release released;
          values = evaluate(recurrence, call);
        }
        return py::make_tuple(toDict(values.outputs),
                              toDict(values.finalStates));
      },
      py::arg("recurrence"), py::arg("inputs"),
      py::arg("initial_states") = Given{}, py::arg("offsets") = py::none(),
      py::arg("extents") = Extents{}, py::arg("heads") = 0, evaluateText);
  module.def(
      "differentiate",
      [](const Recurrence &recurrence, const Given &inputs,
         const Given &outputs, const Given &finals, const Given &states,
         const Offsets &offsets, const Extents &extents, std::int64_t heads) {
        Call call =
            makeCall(recurrence, inputs, states, offsets, extents, heads);
        Values cotangents{toArrays(outputs), toArrays(finals)};
        Gradients gradients;
        {
          py::gil_scoped_release released;
          gradients = differentiate(recurrence, call, cotangents);
        }
        return py::make_tuple(toDict(gradients.inputs),
                              toDict(gradients.initialStates));
      },
      py::arg("recurrence"), py::arg("inputs"), py::arg("output_cotangents"),
      py::arg("final_state_cotangents") = Given{},
      py::arg("initial_states") = Given{}, py::arg("offsets") = py::none(),
      py::arg("extents") = Extents{}, py::arg("heads") = 0, differentiateText);
  module.def(
      "default_value",
      [](const Recurrence &recurrence, const std::string &name,
         const Extents &extents) {
        const Input *input = recurrence.findInput(name);
        if (!input) {
          throw UserError("the recurrence has no input '" + name +
                          "'; names are those of its declaration; correct it");
        }
        return evaluateDefault(*input, extents);
      },
      py::arg("recurrence"), py::arg("name"), py::arg("extents"),
      "The number that stands for an input with a default, at these sizes.");
}

} // namespace recurra::python
