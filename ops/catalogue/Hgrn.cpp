// HGRN: a gated vector state.
// SPDX-License-Identifier: Apache-2.0
#include "ops/catalogue/Entries.h"

using namespace recurra::dsl;

/// HGRN (arXiv 2311.04823), the real form of its recurrence, h_t = f_t h_{t-1}
/// + x_t with f = exp(g); the caller multiplies the input by 1 - f.
Recurrence recurrences::hgrn() {
  return define("hgrn", [](Builder &r) {
    Axis D = r.axis("D");
    Expr x = r.token("x", {D}), g = r.token("g", {D}, nonPositive);
    State h = r.state("h", {D});
    h = exp(g) * h + x;
    r.output("o", h);
  });
}
