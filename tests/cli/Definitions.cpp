// A shared library of a user's own definitions, for --load.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/Text.h"
#include "dsl/dsl.h"

using namespace recurra::dsl;

extern "C" __attribute__((visibility("default"))) const char *
recurra_definitions() {
  static const std::string text =
      recurra::toText(define("from_library",
                             [](Builder &r) {
                               Axis D = r.axis("D");
                               Expr x = r.token("x", {D});
                               Expr g = r.token("g", {D}, nonPositive);
                               State h = r.state("h", {D});
                               h = exp(g) * h + x;
                               r.output("o", tanh(h));
                             }),
                      recurra::Locations::Keep);
  return text.c_str();
}
