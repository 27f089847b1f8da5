// Declarations and statements in Python.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/Rules.h"
#include "dsl/Text.h"
#include "ops/python/dsl/Binding.h"

#include <map>
#include <optional>
#include <pybind11/stl.h>

namespace recurra::python {
namespace {

/// The builder, and the handles of its states for `r.M`.
struct PyBuilder {
  explicit PyBuilder(const std::string &name) : builder(toName(name)) {}
  dsl::Builder builder;
  std::map<std::string, py::object> states;
};

using PyBuilderClass = py::class_<PyBuilder, std::shared_ptr<PyBuilder>>;

/// Facts and sharings stand as positional arguments.
std::vector<dsl::Option> toOptions(const py::args &given) {
  std::vector<dsl::Option> options;
  for (const py::handle &option : given) {
    if (py::isinstance<Fact>(option)) {
      options.emplace_back(option.cast<Fact>());
    } else if (py::isinstance<Sharing>(option)) {
      options.emplace_back(option.cast<Sharing>());
    } else {
      std::string text = py::repr(option);
      throw UserError(callerLine(),
                      text + " is no fact and no sharing; a declaration takes "
                             "those, and default= or initial=; correct it");
    }
  }
  return options;
}

std::vector<Axis> toAxes(const py::handle &axes) {
  if (py::isinstance<Axis>(axes)) {
    return {axes.cast<Axis>()};
  }
  std::vector<Axis> result;
  for (const py::handle &axis : axes) {
    if (!py::isinstance<Axis>(axis)) {
      std::string text = py::repr(axis);
      throw UserError(callerLine(), text + " is no axis; axes come from "
                                           "r.axis; write (K, V)");
    }
    result.push_back(axis.cast<Axis>());
  }
  return result;
}

dsl::Expr declare(PyBuilder &self, Role role, const std::string &name,
                  const std::vector<Axis> &axes, const py::args &given,
                  const py::object &fallback) {
  std::vector<dsl::Option> options = toOptions(given);
  if (!fallback.is_none()) {
    options.emplace_back(dsl::OrElse{toOperand(fallback).value});
  }
  return self.builder.input(role, toName(name), axes, options);
}

/// From "bfloat16", "bf16" or torch.bfloat16.
DType toDType(const std::string &state, const py::handle &given) {
  std::string spelling = py::str(given);
  if (spelling.starts_with("torch.")) {
    spelling.erase(0, 6);
  }
  std::optional<DType> type = parseDType(spelling);
  if (!type) {
    failStateType(state, spelling, callerLine());
  }
  return *type;
}

py::object declareState(PyBuilder &self, const std::string &name,
                        const py::object &axes, const py::args &given,
                        const py::object &dtype, const py::object &initial) {
  std::vector<dsl::Option> options = toOptions(given);
  if (!dtype.is_none()) {
    options.emplace_back(toDType(name, dtype));
  }
  if (!initial.is_none()) {
    options.emplace_back(dsl::Initial{toOperand(initial).value});
  }
  std::unique_ptr<dsl::State> state(
      new dsl::State(self.builder.carry(toName(name), toAxes(axes), options)));
  return self.states[name] = py::cast(std::move(state));
}

void declareOutput(PyBuilder &self, const std::string &name,
                   const py::object &value, const py::object &axes,
                   bool optional) {
  dsl::Name at = toName(name);
  if (axes.is_none() && optional) {
    self.builder.output(at, toOperand(value), dsl::optional);
  } else if (axes.is_none()) {
    self.builder.output(at, toOperand(value));
  } else if (optional) {
    self.builder.output(at, toAxes(axes), toOperand(value), dsl::optional);
  } else {
    self.builder.output(at, toAxes(axes), toOperand(value));
  }
}

py::object readState(const PyBuilder &self, const std::string &name) {
  auto found = self.states.find(name);
  if (found == self.states.end()) {
    throw py::attribute_error("the recurrence has no state '" + name +
                              "'; r.NAME reads a state; declare it with "
                              "r.state");
  }
  return found->second;
}

void updateState(PyBuilder &self, const std::string &name,
                 const py::object &value) {
  auto found = self.states.find(name);
  if (found == self.states.end()) {
    throw UserError(callerLine(), "r." + name + " = ..: no state is called '" +
                                      name +
                                      "'; assignments to r update states; "
                                      "declare it with r.state");
  }
  found->second.cast<dsl::State &>() = toOperand(value);
}

Recurrence defineWith(const std::string &name, const py::function &body) {
  auto self = std::make_shared<PyBuilder>(name);
  body(self);
  Recurrence result = self->builder.finish();
  for (const std::string &warning : result.warnings) {
    if (PyErr_WarnEx(PyExc_UserWarning, warning.c_str(), 1) != 0) {
      throw py::error_already_set();
    }
  }
  return result;
}

py::object repeatRange(PyBuilder &self, int n) {
  SourceLocation place = callerLine();
  self.builder.repeat(n, [](int) {}, place.file.c_str(), place.line);
  return py::module_::import("builtins").attr("range")(n);
}

void bindOptions(py::module_ &module) {
  py::class_<Fact> fact(module, "Fact");
  fact.def("__repr__", factText);
  py::enum_<Sharing> sharing(module, "Sharing");
  sharing.value("head", Sharing::Head)
      .value("group", Sharing::Group)
      .value("all", Sharing::All);
  module.attr("positive") = dsl::positive;
  module.attr("non_negative") = dsl::nonNegative;
  module.attr("non_positive") = dsl::nonPositive;
  module.def("within", dsl::range, py::arg("low"), py::arg("high"),
             "The fact that low <= x <= high.");
  module.def("unit", dsl::unit, py::arg("axis"),
             "The fact that the l2 norm over the axis is 1.");
  module.attr("per_group") = Sharing::Group;
  module.attr("shared_by_all_heads") = Sharing::All;
}

void bindDeclarations(PyBuilderClass &builder) {
  builder.def(
      "axis",
      [](PyBuilder &self, const std::string &name,
         std::optional<std::int64_t> size) {
        return size ? self.builder.axis(toName(name), *size)
                    : self.builder.axis(toName(name));
      },
      py::arg("name"), py::arg("size") = py::none(),
      "A named axis; calls choose its size unless it is given here.");
  builder.def(
      "token",
      [](PyBuilder &self, const std::string &name, const py::object &axes,
         const py::args &options, const py::object &fallback) {
        return declare(self, Role::Token, name, toAxes(axes), options,
                       fallback);
      },
      py::arg("name"), py::arg("axes"), py::kw_only(),
      py::arg("default") = py::none(), "One value per token and head.");
  builder.def(
      "head",
      [](PyBuilder &self, const std::string &name, const py::object &axes,
         const py::args &options, const py::object &fallback) {
        return declare(self, Role::Head, name, toAxes(axes), options, fallback);
      },
      py::arg("name"), py::arg("axes"), py::kw_only(),
      py::arg("default") = py::none(), "A parameter: one value per head.");
  builder.def(
      "scalar",
      [](PyBuilder &self, const std::string &name, const py::args &options,
         const py::object &fallback) {
        return declare(self, Role::Scalar, name, {}, options, fallback);
      },
      py::arg("name"), py::kw_only(), py::arg("default") = py::none(),
      "One number.");
  builder.def("state", declareState, py::arg("name"), py::arg("axes"),
              py::kw_only(), py::arg("dtype") = py::none(),
              py::arg("initial") = py::none(),
              "A value carried over tokens. dtype is that of its tensors: "
              "float32, float16 or bfloat16; its arithmetic is float32 all the "
              "same.");
  builder.def("output", declareOutput, py::arg("name"), py::arg("value"),
              py::arg("axes") = py::none(), py::arg("optional") = false,
              "A result per token; optional ones are computed when asked for.");
}

} // namespace

void bindBuilder(py::module_ &module) {
  bindOptions(module);
  PyBuilderClass builder(module, "Builder");
  bindDeclarations(builder);
  builder.def("repeat", repeatRange, py::arg("n"),
              "`for j in r.repeat(2): ..` runs statements 1 to 16 times.");
  builder.def("__getattr__", readState);
  builder.def("__setattr__", updateState);
  module.def(
      "define",
      [](const py::object &name, const py::object &body) {
        if (body.is_none()) {
          py::function function = name;
          std::string own = py::str(function.attr("__name__"));
          return defineWith(own, function);
        }
        return defineWith(py::str(name), body);
      },
      py::arg("name"), py::arg("body") = py::none(),
      "define(\"name\", body), or @define over body(r), whose name it takes.");
}

} // namespace recurra::python
