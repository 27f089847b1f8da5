// The selective scan of Mamba.
// SPDX-License-Identifier: Apache-2.0
#include "ops/catalogue/Entries.h"

using namespace recurra::dsl;

/// Mamba (arXiv 2312.00752), equation 2 with the discretisation of section 3.2:
/// h = exp(dt A) h + (dt u) B, y = C h + D u. B and C are shared by all
/// channels; dt is positive and A negative.
Recurrence recurrences::mamba1() {
  return define("mamba1", [](Builder &r) {
    Axis D = r.axis("D"), N = r.axis("N");
    Expr u = r.token("u", {D}), dt = r.token("dt", {D}, nonNegative);
    Expr A = r.head("A", {D, N}, nonPositive);
    Expr B = r.token("B", {N}, sharedByAllHeads);
    Expr C = r.token("C", {N}, sharedByAllHeads);
    Expr skip = r.head("D_skip", {D});
    State h = r.state("h", {D, N});
    h = exp(dt * A) * h + dt * u * B;
    r.output("y", sum(h * C, N) + skip * u);
  });
}
