// Gated DeltaProduct: several delta steps for each token.
// SPDX-License-Identifier: Apache-2.0
#include "ops/catalogue/Entries.h"

using namespace recurra::dsl;

/// Gated DeltaProduct (arXiv 2502.10297), with two Householder-like steps: one
/// decay, then for each step j an erase and a write with k_j, v_j, beta_j.
Recurrence recurrences::gatedDeltaProduct() {
  return define("gated_delta_product", [](Builder &r) {
    Axis K = r.axis("K"), V = r.axis("V"), R = r.axis("R", 2);
    Expr q = r.token("q", {K}, perGroup), k = r.token("k", {R, K}, perGroup);
    Expr v = r.token("v", {R, V}), g = r.token("g", {}, nonPositive);
    Expr beta = r.token("beta", {R}, nonNegative);
    Expr scale = r.scalar("scale", orElse(rsqrt(extent(K))));
    State S = r.state("S", {K, V});
    S *= exp(g);
    r.repeat(2, [&](int j) {
      Expr key = k.at(R, j);
      S += key * (beta.at(R, j) * (v.at(R, j) - sum(S * key, K)));
    });
    r.output("o", scale * sum(S * q, K));
  });
}
