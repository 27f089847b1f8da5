// Longhorn in its diagonal form, as released.
// SPDX-License-Identifier: Apache-2.0
#include "ops/catalogue/Entries.h"

using namespace recurra::dsl;

/// Longhorn (arXiv 2407.14207), its online regression with the diagonal form of
/// its released code: step = s / (1 + s k.k), s = sigmoid(dt). Keys and queries
/// are shared by all channels.
Recurrence recurrences::longhorn() {
  return define("longhorn", [](Builder &r) {
    Axis D = r.axis("D"), N = r.axis("N");
    Expr x = r.token("x", {D}), dt = r.token("dt", {D});
    Expr k = r.token("k", {N}, sharedByAllHeads);
    Expr q = r.token("q", {N}, sharedByAllHeads);
    Expr skip = r.head("D_skip", {D});
    State h = r.state("h", {D, N});
    Expr s = sigmoid(dt), step = s / (1 + s * sum(square(k), N));
    h = (1 - step * square(k)) * h + step * x * k;
    r.output("y", sum(h * q, N) + skip * x);
  });
}
