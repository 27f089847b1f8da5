// A new operator must enter it: Gradient.AgreesForEveryOperator sees to that.
// SPDX-License-Identifier: Apache-2.0
#include "tests/dsl/EveryOperator.h"

#include "dsl/dsl.h"

recurra::Recurrence recurra::everyOperator() {
  using namespace recurra::dsl;
  return define("every_operator", [](Builder &r) {
    Axis A = r.axis("D"), B = r.axis("E");
    Expr x = r.token("x", {A}), y = r.token("y", {A, B}, positive, perGroup);
    Expr z = r.token("z", {A}, range(-0.9, 0.9), sharedByAllHeads);
    Expr w = r.head("w", {B, A}, perGroup), p = r.scalar("p", positive);
    recurra::dsl::State s = r.state("s", {A}, initial(sum(w, B) * p));
    Expr smooth = exp(x) + log(y) + expm1(z) + log1p(z) + sqrt(y) + rsqrt(y) +
                  tanh(x) + sigmoid(y) + softplus(x) + logsigmoid(x) + silu(x) +
                  square(z) + abs(x) + min(x, z) + max(x, y) +
                  select(x < z, x * y, z / y) + select(z <= x, x, -z) +
                  detach(x) * z;
    Expr over = sum(y * w, B) + mean(smooth, B) + max(y, B) +
                softmax(x * p, A) + l2norm(x - 1, A);
    s = tanh(-s) * over + previous(x) * previous(over * z, "both");
    Expr wide = rename(s, A, B);
    r.output("o", wide + y.at(A, 2) + extent(A), optional);
    r.output("twice", softmax(y, B) * w);
  });
}
