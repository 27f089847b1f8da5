// Gated DeltaNet: forget, erase what the key reads, write.
// SPDX-License-Identifier: Apache-2.0
#include "ops/catalogue/Entries.h"

using namespace recurra::dsl;

/// Gated DeltaNet (arXiv 2412.06464), equation 10: the state decays before the
/// erase, S_t = a S (I - beta k k^T) + beta v k^T, written as an error
/// correction. Keys are normalised by the caller.
Recurrence recurrences::gatedDeltaRule() {
  return define("gated_delta_rule", [](Builder &r) {
    Axis K = r.axis("K"), V = r.axis("V");
    Expr q = r.token("q", {K}, perGroup), k = r.token("k", {K}, perGroup);
    Expr v = r.token("v", {V}), g = r.token("g", {}, nonPositive);
    Expr beta = r.token("beta", {}, nonNegative);
    Expr scale = r.scalar("scale", orElse(rsqrt(extent(K))));
    State S = r.state("S", {K, V});
    S = exp(g) * S;
    S = S + k * (beta * (v - sum(S * k, K)));
    r.output("o", scale * sum(S * q, K));
  });
}
