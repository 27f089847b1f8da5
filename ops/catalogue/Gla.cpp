// Gated linear attention, one gate per key channel.
// SPDX-License-Identifier: Apache-2.0
#include "ops/catalogue/Entries.h"

using namespace recurra::dsl;

/// GLA (arXiv 2312.06635), equation 3: S_t = diag(a_t) S_{t-1} + k_t v_t^T with
/// a = exp(g) over the keys.
Recurrence recurrences::gla() {
  return define("gla", [](Builder &r) {
    Axis K = r.axis("K"), V = r.axis("V");
    Expr q = r.token("q", {K}, perGroup), k = r.token("k", {K}, perGroup);
    Expr v = r.token("v", {V}), g = r.token("g", {K}, nonPositive);
    Expr scale = r.scalar("scale", orElse(rsqrt(extent(K))));
    State S = r.state("S", {K, V});
    S = exp(g) * S + k * v;
    r.output("o", scale * sum(S * q, K));
  });
}
