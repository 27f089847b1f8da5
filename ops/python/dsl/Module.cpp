// The module recurra._dsl.
// SPDX-License-Identifier: Apache-2.0
#include "ops/python/dsl/Binding.h"

namespace recurra::python {

constexpr const char *documentation = R"(The language of Recurra in Python.

    from recurra import _dsl as dsl

    @dsl.define
    def simple_gla(r):
        K, V = r.axis("K"), r.axis("V")
        q, k = r.token("q", (K,)), r.token("k", (K,))
        v, g = r.token("v", (V,)), r.token("g", (), dsl.non_positive)
        scale = r.scalar("scale", default=dsl.rsqrt(dsl.extent(K)))
        r.state("S", (K, V))
        r.S = dsl.exp(g) * r.S + k * v
        r.output("o", scale * dsl.sum(r.S * q, K))

Statements run in order: `r.S = ..` (or S.update(..), S *= .., S += ..) updates a
state, r.S reads its latest value. A plain `S = ..` would only rebind a Python
variable. Mistakes raise UserError with the line of your file.)";

SourceLocation callerLine() {
  py::object frame = py::module_::import("sys").attr("_getframe")();
  while (!frame.is_none()) {
    py::object name = frame.attr("f_globals").attr("get")("__name__", "");
    std::string module = py::str(name);
    if (module != "recurra" && module.rfind("recurra.", 0) != 0) {
      std::string file = py::str(frame.attr("f_code").attr("co_filename"));
      return {file, frame.attr("f_lineno").cast<int>()};
    }
    frame = frame.attr("f_back");
  }
  return {};
}

dsl::Name toName(const std::string &text) {
  SourceLocation place = callerLine();
  return {text, place.file.c_str(), place.line};
}

py::tuple toTuple(const std::vector<std::string> &words) {
  py::tuple tuple(words.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    tuple[i] = words[i];
  }
  return tuple;
}

PYBIND11_MODULE(_dsl, module) {
  module.doc() = documentation;
  py::register_exception<UserError>(module, "UserError", PyExc_ValueError);
  bindExpr(module);
  bindRecurrence(module);
  bindBuilder(module);
  bindOracle(module);
}

} // namespace recurra::python
