// Simple gated linear attention, one gate per head: the core of Mamba-2.
// SPDX-License-Identifier: Apache-2.0
#include "ops/catalogue/Entries.h"

using namespace recurra::dsl;

/// Mamba-2, state space duality (arXiv 2405.21060), the scalar-
/// identity SSM: S_t = a_t S_{t-1} + k_t v_t^T, o_t = S_t^T q_t, a = exp(g).
Recurrence recurrences::simpleGla() {
  return define("simple_gla", [](Builder &r) {
    Axis K = r.axis("K"), V = r.axis("V");
    Expr q = r.token("q", {K}, perGroup), k = r.token("k", {K}, perGroup);
    Expr v = r.token("v", {V}), g = r.token("g", {}, nonPositive);
    Expr scale = r.scalar("scale", orElse(rsqrt(extent(K))));
    State S = r.state("S", {K, V});
    S = exp(g) * S + k * v;
    r.output("o", scale * sum(S * q, K));
  });
}
