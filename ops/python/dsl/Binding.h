// What the bindings share: the user's Python line, and values from objects.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/dsl.h"

#include <pybind11/pybind11.h>

namespace recurra::python {

namespace py = pybind11;

/// The line of the innermost Python frame outside of this package.
SourceLocation callerLine();

/// An Expr, a State or a number as an operand at the caller's line.
dsl::Operand toOperand(const py::handle &value);

/// A declaration's name at the caller's line.
dsl::Name toName(const std::string &text);

py::tuple toTuple(const std::vector<std::string> &words);

void bindExpr(py::module_ &module);
void bindBuilder(py::module_ &module);
void bindRecurrence(py::module_ &module);
void bindOracle(py::module_ &module);

} // namespace recurra::python
