// A finished recurrence in Python: its signature as plain objects, its text.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/Text.h"
#include "dsl/Words.h"
#include "ops/catalogue/Catalogue.h"
#include "ops/python/dsl/Binding.h"

#include <pybind11/stl.h>

namespace recurra::python {
namespace {

py::object textOf(const NodeRef &value) {
  return value ? py::cast(expressionText(value)) : py::none();
}

py::tuple factTexts(const std::vector<Fact> &facts) {
  std::vector<std::string> texts;
  texts.reserve(facts.size());
  for (const Fact &fact : facts) {
    texts.push_back(factText(fact));
  }
  return toTuple(texts);
}

std::string sharingName(Sharing sharing) {
  return sharing == Sharing::Head    ? "head"
         : sharing == Sharing::Group ? "group"
                                     : "all";
}

py::dict describe(const Input &input) {
  py::dict result;
  result["name"] = input.name;
  result["role"] = std::string(roleWord(input.role));
  result["sharing"] = sharingName(input.sharing);
  result["axes"] = toTuple(input.axes);
  result["facts"] = factTexts(input.facts);
  result["default"] = textOf(input.fallback);
  return result;
}

py::dict describe(const recurra::State &state) {
  py::dict result;
  result["name"] = state.name;
  result["axes"] = toTuple(state.axes);
  result["facts"] = factTexts(state.facts);
  result["dtype"] = std::string(longName(state.dtype));
  result["initial"] = textOf(state.initial);
  return result;
}

py::dict describe(const Output &output) {
  py::dict result;
  result["name"] = output.name;
  result["axes"] = toTuple(output.axes);
  result["optional"] = output.optional;
  return result;
}

template <typename Item>
py::list describeAll(const std::vector<Item> &items) {
  py::list list;
  for (const Item &item : items) {
    list.append(describe(item));
  }
  return list;
}

py::tuple axisNames(const Recurrence &recurrence) {
  std::vector<std::string> names;
  names.reserve(recurrence.axes.size());
  for (const Axis &axis : recurrence.axes) {
    names.push_back(axis.name);
  }
  return toTuple(names);
}

py::dict fixedSizes(const Recurrence &recurrence) {
  py::dict sizes;
  for (const Axis &axis : recurrence.axes) {
    if (axis.size != 0) {
      sizes[py::str(axis.name)] = axis.size;
    }
  }
  return sizes;
}

py::dict catalogueByName() {
  py::dict entries;
  for (const Recurrence &entry : catalogue()) {
    entries[py::str(entry.name)] = entry;
  }
  return entries;
}

} // namespace

void bindRecurrence(py::module_ &module) {
  py::class_<Recurrence>(module, "Recurrence")
      .def_readonly("name", &Recurrence::name)
      .def_readonly("warnings", &Recurrence::warnings)
      .def_property_readonly("axes", axisNames)
      .def_property_readonly("fixed_sizes", fixedSizes,
                             "Sizes by axis, where the definition fixes them.")
      .def_property_readonly(
          "inputs", [](const Recurrence &r) { return describeAll(r.inputs); },
          "Dicts with name, role (token, head, scalar), sharing (head, group, "
          "all), axes, facts, default (text or None), in argument order.")
      .def_property_readonly(
          "states", [](const Recurrence &r) { return describeAll(r.states); },
          "Dicts with name, axes, facts, dtype, initial (text).")
      .def_property_readonly(
          "outputs", [](const Recurrence &r) { return describeAll(r.outputs); },
          "Dicts with name, axes, optional.")
      .def(
          "to_text",
          [](const Recurrence &r, bool locations) {
            return toText(r, locations ? Locations::Keep : Locations::Omit);
          },
          py::arg("locations") = false, "The canonical text.")
      .def(
          "hash", [](const Recurrence &r) { return recurra::hash(r); },
          "Of the canonical text without name, signature and locations.")
      .def("__repr__",
           [](const Recurrence &r) { return "<Recurrence " + r.name + ">"; })
      .def(py::pickle(
          [](const Recurrence &r) { return toText(r, Locations::Keep); },
          [](const std::string &text) { return parse(text); }));
  module.def("parse", parse, py::arg("text"),
             "The recurrence that a canonical text describes.");
  module.def("catalogue", catalogueByName,
             "The recurrences that come with Recurra, by name.");
}

} // namespace recurra::python
