// mLSTM: a matrix memory with exponential gates.
// SPDX-License-Identifier: Apache-2.0
#include "ops/catalogue/Entries.h"

using namespace recurra::dsl;

/// mLSTM (xLSTM, arXiv 2405.04517), equations 19 to 27 in stabilised form. `i`
/// and `f` are preactivations. m cancels in the output up to the 1e-6, so it
/// takes no part in gradients.
Recurrence recurrences::mlstm() {
  return define("mlstm", [](Builder &r) {
    Axis K = r.axis("K"), V = r.axis("V");
    Expr q = r.token("q", {K}, perGroup), k = r.token("k", {K}, perGroup);
    Expr v = r.token("v", {V}), i = r.token("i", {}), f = r.token("f", {});
    Expr scale = r.scalar("scale", orElse(rsqrt(extent(K))));
    State C = r.state("C", {K, V}), n = r.state("n", {K}), m = r.state("m", {});
    Expr kept = logsigmoid(f) + m;
    m = detach(max(kept, i));
    Expr forget = exp(kept - m), write = exp(i - m), query = scale * q;
    C = forget * C + write * k * v;
    n = forget * n + write * k;
    Expr size = max(abs(sum(n * query, K)), exp(-m)) + 1e-6;
    r.output("h", sum(C * query, K) / size);
  });
}
