# The Python package: the language, the catalogue's ops, and what they compile
# to. SPDX-License-Identifier: Apache-2.0
"""Recurra: gated recurrences as differentiable torch ops.

    import recurra as rc, torch

    @rc.define
    def leaky(r):
        D = r.axis("D")
        x, g = r.token("x", (D,)), r.token("g", (), rc.non_positive)
        r.state("h", (D,))
        r.h = rc.exp(g) * r.h + x
        r.output("y", r.h)

    op = rc.compile(leaky)
    x = torch.randn(2, 100, 4, 16, requires_grad=True)   # [B, T, H, D]
    y, _ = op(x, -torch.rand(2, 100, 4))
    y.sum().backward()
    print(op.inspect("rec"))

The entries of the catalogue are ready: recurra.ops.palimpsa and others. With
RECURRA_CHECK=1 every call tests the facts that its definition states and names
the first NaN.
"""

from . import ops
from ._dsl import (Recurrence, UserError, abs, default_value, define, detach,
                   differentiate, evaluate, exp, expm1, extent, l2norm, log,
                   log1p, logsigmoid, max, mean, min, non_negative,
                   non_positive, parse, per_group, positive, previous, rename,
                   rsqrt, select, shared_by_all_heads, sigmoid, silu, softmax,
                   softplus, sqrt, square, sum, tanh, unit, within)
from ._definition import catalogue
from ._library import about, counters, set_option
from ._op import Op


def compile(recurrence):
    """An op of the calling convention of recurra.ops for a recurrence that
    `define` made, or for a canonical text. Kernels are made at the first call
    with new sizes or dtypes, or by `.warmup(K=64, V=64)`."""
    return Op(recurrence)
