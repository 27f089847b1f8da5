// Linear attention: a sum of outer products, never forgotten.
// SPDX-License-Identifier: Apache-2.0
#include "ops/catalogue/Entries.h"

using namespace recurra::dsl;

/// Linear attention (arXiv 2006.16236), equations 16 to 20 without the
/// normaliser; feature maps are applied by the caller.
Recurrence recurrences::linearAttention() {
  return define("linear_attention", [](Builder &r) {
    Axis K = r.axis("K"), V = r.axis("V");
    Expr q = r.token("q", {K}, perGroup), k = r.token("k", {K}, perGroup);
    Expr v = r.token("v", {V});
    Expr scale = r.scalar("scale", orElse(rsqrt(extent(K))));
    State S = r.state("S", {K, V});
    S += k * v;
    r.output("o", scale * sum(S * q, K));
  });
}
