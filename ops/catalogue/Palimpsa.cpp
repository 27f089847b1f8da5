// Palimpsa: a Bayesian memory whose entries learn at their own rates.
// SPDX-License-Identifier: Apache-2.0
#include "ops/catalogue/Entries.h"

using namespace recurra::dsl;

/// Palimpsa (arXiv 2602.09075) in its linear form, M = I mu and J = I - prior:
/// J gathers how certain each entry of the memory is, and the readout divides
/// by it. `v` is v~, the value times its step size. o_var is the uncertainty of
/// o; `scale` enters it once, as in the published kernels.
Recurrence recurrences::palimpsa() {
  return define("palimpsa", [](Builder &r) {
    Axis K = r.axis("K"), V = r.axis("V");
    Expr q = r.token("q", {K}, perGroup), k = r.token("k", {K}, perGroup);
    Expr v = r.token("v", {V});
    Expr g = r.token("g", {}, nonPositive); // log forget gate
    Expr beta = r.token("beta", {V}, nonNegative);
    Expr prior = r.head("prior", {}, positive, orElse(1));
    Expr scale = r.scalar("scale", orElse(rsqrt(extent(K))));
    State M = r.state("M", {K, V}), J = r.state("J", {K, V}, nonNegative);
    M = exp(g) * M + v * k;
    J = exp(g) * J + beta * square(k);
    r.output("o", scale * sum(M / (J + prior) * q, K));
    r.output("o_var", scale * sum(square(q) / (J + prior), K), optional);
  });
}
