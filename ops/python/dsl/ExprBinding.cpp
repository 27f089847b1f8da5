// Expressions and operators in Python.
// SPDX-License-Identifier: Apache-2.0
#include "ops/python/dsl/Binding.h"

#include <functional>

namespace recurra::python {
namespace {

using dsl::Expr;
using dsl::Operand;
using Unary = Expr (*)(dsl::Arg);
using Binary = Expr (*)(dsl::Arg, dsl::Arg);
using OverAxis = Expr (*)(dsl::Arg, const Axis &);

/// `name(x)`.
void function(py::module_ &module, const char *name, Unary operation,
              const char *text = "") {
  module.def(
      name, [operation](py::handle x) { return operation(toOperand(x)); },
      py::arg("x"), text);
}

/// `name(x, axis)`.
void function(py::module_ &module, const char *name, OverAxis operation,
              const char *text) {
  module.def(
      name,
      [operation](py::handle x, const Axis &axis) {
        return operation(toOperand(x), axis);
      },
      py::arg("x"), py::arg("axis"), text);
}

/// `a op b` with either operand on the left.
template <typename Class>
void infix(Class &type, const char *name, const char *reflected,
           Binary operation) {
  type.def(
      name,
      [operation](py::handle a, py::handle b) {
        return operation(toOperand(a), toOperand(b));
      },
      py::is_operator());
  if (reflected) {
    type.def(
        reflected,
        [operation](py::handle b, py::handle a) {
          return operation(toOperand(a), toOperand(b));
        },
        py::is_operator());
  }
}

template <typename Class>
void operators(Class &type) {
  infix(type, "__add__", "__radd__", dsl::operator+);
  infix(type, "__sub__", "__rsub__", static_cast<Binary>(dsl::operator-));
  infix(type, "__mul__", "__rmul__", dsl::operator*);
  infix(type, "__truediv__", "__rtruediv__", dsl::operator/);
  infix(type, "__lt__", nullptr, dsl::operator<);
  infix(type, "__le__", nullptr, dsl::operator<=);
  infix(type, "__gt__", nullptr, dsl::operator>);
  infix(type, "__ge__", nullptr, dsl::operator>=);
  type.def("__neg__", [](py::handle x) { return -toOperand(x); });
  type.def("__abs__", [](py::handle x) { return dsl::abs(toOperand(x)); });
  type.def("__bool__", [](py::handle) -> bool {
    throw UserError(callerLine(),
                    "a value is used as a condition of Python; it exists "
                    "per token only; use select, or min and max of the "
                    "language");
  });
  type.def(
      "at",
      [](py::handle x, const Axis &axis, int index) {
        Operand operand = toOperand(x);
        return operand.value.at(axis, index, operand.location.file.c_str(),
                                operand.location.line);
      },
      py::arg("axis"), py::arg("index"), "One entry of a small axis.");
  // NumPy numbers leave arithmetic with a value to the value.
  type.attr("__array_ufunc__") = py::none();
}

/// x ** 2 is square(x); no other power is in the language.
void power(py::class_<Expr> &expr) {
  expr.def("__pow__", [](py::handle x, double exponent) {
    if (exponent != 2) {
      throw UserError(callerLine(),
                      "a power other than 2; the language has square, sqrt "
                      "and rsqrt; write exp(n * log(x)) for others");
    }
    return dsl::square(toOperand(x));
  });
}

void elementwise(py::module_ &module) {
  function(module, "abs", dsl::abs);
  function(module, "exp", dsl::exp);
  function(module, "log", dsl::log);
  function(module, "expm1", dsl::expm1);
  function(module, "log1p", dsl::log1p);
  function(module, "sqrt", dsl::sqrt);
  function(module, "rsqrt", dsl::rsqrt);
  function(module, "tanh", dsl::tanh);
  function(module, "sigmoid", dsl::sigmoid);
  function(module, "softplus", dsl::softplus);
  function(module, "logsigmoid", dsl::logsigmoid);
  function(module, "silu", dsl::silu);
  function(module, "square", dsl::square);
  function(module, "detach", dsl::detach, "The value, but no gradient.");
  module.def(
      "min",
      [](py::handle a, py::handle b) {
        return dsl::min(toOperand(a), toOperand(b));
      },
      py::arg("a"), py::arg("b"));
  module.def(
      "select",
      [](py::handle condition, py::handle then, py::handle otherwise) {
        return dsl::select(toOperand(condition), toOperand(then),
                           toOperand(otherwise));
      },
      py::arg("condition"), py::arg("then"), py::arg("otherwise"),
      "`then` where the comparison holds, else `otherwise`.");
}

void overAxes(py::module_ &module) {
  function(module, "sum", dsl::sum, "The sum over a named axis.");
  function(module, "mean", dsl::mean, "The mean over a named axis.");
  function(module, "softmax", dsl::softmax, "Softmax over a named axis.");
  function(module, "l2norm", dsl::l2norm, "x / |x| over a named axis.");
  module.def(
      "max",
      [](py::handle a, py::handle b) {
        if (py::isinstance<Axis>(b)) {
          return dsl::max(toOperand(a), b.cast<const Axis &>());
        }
        return dsl::max(toOperand(a), toOperand(b));
      },
      py::arg("a"), py::arg("b"),
      "The larger of two values, or the largest over an axis.");
  module.def(
      "rename",
      [](py::handle x, const Axis &from, const Axis &to) {
        return dsl::rename(toOperand(x), from, to);
      },
      py::arg("x"), py::arg("from_axis"), py::arg("to_axis"),
      "The same values over another axis of the same size.");
  module.def(
      "extent",
      [](const Axis &axis) {
        SourceLocation place = callerLine();
        return dsl::extent(axis, place.file.c_str(), place.line);
      },
      py::arg("axis"), "The size of an axis, a number.");
  module.def(
      "previous",
      [](py::handle x, const std::string &name) {
        if (py::isinstance<dsl::State>(x)) {
          return x.cast<const dsl::State &>().atStart(callerLine());
        }
        return dsl::previous(toOperand(x), name);
      },
      py::arg("x"), py::arg("name") = "",
      "The last token's value; an expression needs a name.");
}

/// In-place operators of a state are updates and keep the handle.
void stateUpdates(py::class_<dsl::State> &state) {
  auto inPlace = [&](const char *name,
                     dsl::State &(dsl::State::*update)(dsl::Arg) &) {
    state.def(name, [update](py::object self, py::handle value) {
      (self.cast<dsl::State &>().*update)(toOperand(value));
      return self;
    });
  };
  inPlace("__iadd__", &dsl::State::operator+=);
  inPlace("__isub__", &dsl::State::operator-=);
  inPlace("__imul__", &dsl::State::operator*=);
  inPlace("__itruediv__", &dsl::State::operator/=);
  state.def(
      "update",
      [](dsl::State &self, py::handle value) { self = toOperand(value); },
      py::arg("value"), "Gives the state a new value.");
  state.def(
      "read", [](const dsl::State &self) { return Expr(self); },
      "Its latest value, kept: later updates do not change it.");
}

} // namespace

Operand toOperand(const py::handle &value) {
  SourceLocation place = callerLine();
  if (py::isinstance<Expr>(value)) {
    return {value.cast<const Expr &>(), place};
  }
  if (py::isinstance<dsl::State>(value)) {
    return {Expr(value.cast<const dsl::State &>()), place};
  }
  if (py::isinstance<py::float_>(value) || py::isinstance<py::int_>(value) ||
      PyNumber_Check(value.ptr()) != 0) {
    double number = py::float_(py::reinterpret_borrow<py::object>(value));
    return {number, place.file.c_str(), place.line};
  }
  std::string type = py::str(py::type::handle_of(value).attr("__name__"));
  throw UserError(place, "a " + type +
                             " is used as a value; operators take values of "
                             "the language and numbers; declare an input");
}

void bindExpr(py::module_ &module) {
  py::class_<Axis>(module, "Axis")
      .def_readonly("name", &Axis::name)
      .def("__repr__",
           [](const Axis &axis) { return "Axis('" + axis.name + "')"; });
  py::class_<Expr> expr(module, "Expr", "A value of the step.");
  expr.def_property_readonly(
      "axes", [](const Expr &x) { return toTuple(x.node->axes); },
      "Names of its axes, sorted.");
  py::class_<dsl::State> state(module, "State",
                               "A carried value; reading gives the latest.");
  operators(expr);
  operators(state);
  power(expr);
  stateUpdates(state);
  elementwise(module);
  overAxes(module);
}

} // namespace recurra::python
