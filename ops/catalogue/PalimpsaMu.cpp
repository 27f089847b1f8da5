// Palimpsa in the form that its paper prints.
// SPDX-License-Identifier: Apache-2.0
#include "ops/catalogue/Entries.h"

using namespace recurra::dsl;

/// Palimpsa (arXiv 2602.09075) as published: I is the precision of each entry
/// of the memory, drawn back to `prior`, and mu its mean, which is not linear
/// in itself. `v` is v~, the value times its step size. The compiler finds the
/// change of variables to the form of Palimpsa.cpp.
Recurrence recurrences::palimpsaMu() {
  return define("palimpsa_mu", [](Builder &r) {
    Axis K = r.axis("K"), V = r.axis("V");
    Expr q = r.token("q", {K}, perGroup), k = r.token("k", {K}, perGroup);
    Expr v = r.token("v", {V}), g = r.token("g", {}, nonPositive);
    Expr beta = r.token("beta", {V}, nonNegative);
    Expr prior = r.head("prior", {}, positive, orElse(1));
    Expr scale = r.scalar("scale", orElse(rsqrt(extent(K))));
    State mu = r.state("mu", {K, V});
    State I = r.state("I", {K, V}, positive, initial(prior));
    Expr alpha = exp(g), before = I;
    I = alpha * I + (1 - alpha) * prior + beta * square(k);
    mu = alpha * (before / I) * mu + v * k / I;
    r.output("o", scale * sum(mu * q, K));
    r.output("o_var", scale * sum(square(q) / I, K), optional);
  });
}
