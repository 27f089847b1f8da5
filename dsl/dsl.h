// The language's one user header: gated recurrences, one token at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

// # Gated recurrences in two minutes
//
// Attention keeps every past key and value. A gated recurrence keeps a state of
// fixed size, and each token changes it a little:
//
//     S  <-  exp(g) S  +  k v^T          forget, then write
//     o   =  S^T q                       read
//
// S is a matrix over the axes K (keys) and V (values); g <= 0 is the *gate*,
// the logarithm of how much is kept. Dozens of models differ only in what
// stands in these lines: a gate per key channel (GLA), an erase before the
// write (the delta rule), two states and a quotient (Palimpsa). All of them
// can be written as below; gradients, parallel algorithms and kernels follow
// from the text of the step.
//
//     using namespace recurra::dsl;
//     const Recurrence simpleGla = define("simple_gla", [](Builder &r) {
//       Axis K = r.axis("K"), V = r.axis("V");
//       Expr q = r.token("q", {K}), k = r.token("k", {K});
//       Expr v = r.token("v", {V}), g = r.token("g", {}, nonPositive);
//       Expr scale = r.scalar("scale", orElse(rsqrt(extent(K))));
//       State S = r.state("S", {K, V});
//       S = exp(g) * S + k * v;
//       r.output("o", scale * sum(S * q, K));
//     });
//
// How to read it:
// - Values live on named axes and broadcast by name: k * v is over {K, V}, an
//   outer product, since k is over {K} and v over {V}; sum(S * q, K) is S^T q.
// - Inputs vary per token, per head (parameters) or not at all (scalars). Facts
//   such as nonPositive are promises about their values; the compiler uses
//   them, and `RECURRA_CHECK=1` tests them.
// - Statements run in order, once per token, and a state read sees the latest
//   value. So whether a readout stands before or after an update matters, and
//   can be seen. `S = expr` updates, also when expr is another state; to keep
//   an old value, write `Expr old = S;`.
// - previous(x) is the last token's x. r.repeat(n, ..) runs statements n times,
//   x.at(J, 2) is one entry of an axis of few, whose number r.axis("J", 3)
//   fixes for every call. rename(x, D, E) lets a matrix over {D, E} act on a
//   vector over {D}.
// - The order of arguments is that of their declarations; orElse gives one a
//   default. States start from zero, from initial(..), or from what the caller
//   passes, and their final values can be had. r.state("S", {K, V},
//   DType::BF16) hands both over in tensors of half the size (F16 does too, up
//   to 65504); between tokens a state is kept in float32 all the same, and
//   where every input of a call is float64, all is float64.
// - log gates (token inputs that are nonPositive and reach an exp or expm1)
//   below -1e4 count as -1e4, so that -inf means "forget all".
//
// A mistake throws UserError with the line of this file's user. What exists
// after `define` is plain data (Recurrence.h): it can be printed and hashed
// (Text.h), run one token at a time (Evaluate.h), and compiled.

#include "dsl/Builder.h"
#include "dsl/Operators.h"
