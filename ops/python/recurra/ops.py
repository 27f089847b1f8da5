# The catalogue: one function per entry, made from its definition.
# SPDX-License-Identifier: Apache-2.0
"""Each function takes tensors laid out as flash-linear-attention does and
returns its outputs and the final state; help(recurra.ops.palimpsa) says more.
`.text`, `.inspect(stage)` and `.warmup()` show and prepare what it runs."""

from ._definition import catalogue
from ._op import Op


def _make(recurrence):
    op = Op(recurrence)
    function = op.function
    function.op, function.text = op, op.text
    function.inspect, function.warmup = op.inspect, op.warmup
    return function


__all__ = []
for _recurrence in catalogue():
    _entry = _make(_recurrence)
    globals()[_entry.__name__] = _entry
    __all__.append(_entry.__name__)
