// sLSTM: exponential gates that see the last output.
// SPDX-License-Identifier: Apache-2.0
#include "ops/catalogue/Entries.h"

using namespace recurra::dsl;

/// sLSTM (xLSTM, arXiv 2405.04517), equations 8 to 18 in stabilised form, with
/// one matrix R per head and gate acting on the last output y. The output does
/// not depend on m, which takes no part in gradients; it starts so low that the
/// first token sets it.
Recurrence recurrences::slstm() {
  return define("slstm", [](Builder &r) {
    Axis D = r.axis("D"), E = r.axis("E");
    Expr i = r.token("i", {D}), f = r.token("f", {D});
    Expr z = r.token("z", {D}), o = r.token("o", {D});
    Expr Ri = r.head("R_i", {D, E}), Rf = r.head("R_f", {D, E});
    Expr Rz = r.head("R_z", {D, E}), Ro = r.head("R_o", {D, E});
    State y = r.state("y", {D}), c = r.state("c", {D});
    State n = r.state("n", {D}, nonNegative);
    State m = r.state("m", {D}, initial(-1e30));
    Expr last = rename(y, D, E);
    Expr enter = i + sum(Ri * last, E), kept = f + sum(Rf * last, E);
    Expr logKept = logsigmoid(kept) + m;
    m = detach(max(enter, logKept));
    Expr write = exp(enter - m), forget = exp(logKept - m);
    c = forget * c + write * tanh(z + sum(Rz * last, E));
    n = forget * n + write;
    y = sigmoid(o + sum(Ro * last, E)) * c / n;
    r.output("h", y);
  });
}
