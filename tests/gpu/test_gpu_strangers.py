# Recurrences that nobody named, drawn at random from Palimpsa's class: planned in
# the same form, right, and as fast for each counted operation.
# SPDX-License-Identifier: Apache-2.0
import re

import pytest
import torch

import recurra
from draw import Shape
from harness import leaves, make
from on_gpu import DEVICE, check, form, on_gpu, stage
from strangers import counted, draw
from timing import Clock, interleaved, median

SEEDS = range(12)
FAST = (0, 1, 2, 3)  # each gate once, four readouts; timing is alone on the GPU
SHAPE = Shape(96, 192, 4, 1024, 16)


@pytest.fixture(scope="module")
def strangers():
    return {seed: draw(seed) for seed in SEEDS}


def outputs(op):
    return [x.name for x in op.recurrence.outputs if not x.optional]


@pytest.mark.host
def test_the_analysis_puts_strangers_beside_palimpsa(strangers):
    """The same form for the scan, whatever the names."""
    def verdict(op, **sizes):
        text = op.inspect("linear", outputs=outputs(op), **sizes)
        return re.findall(r'rec\.form = "(\w+)"', text)

    expected = verdict(recurra.ops.palimpsa.op, K=16, V=16)
    for stranger in strangers.values():
        op = recurra.compile(stranger.recurrence)
        assert verdict(op, **stranger.sizes(16, 16)) == expected, stranger.kind


@pytest.mark.host
def test_operations_are_counted():
    op = recurra.ops.palimpsa.op
    # Two decays, two writes of two operations, the denominator, the quotient,
    # the query's product and its sum.
    assert counted(op.inspect("linear")) == 10
    assert counted(op.inspect("backward")) > 25


@pytest.mark.parametrize("seed", SEEDS)
def test_strangers_are_planned_like_palimpsa(strangers, seed):
    stranger = strangers[seed]
    op = recurra.compile(stranger.recurrence)
    for backward in (False, True):
        expected = form(recurra.ops.palimpsa.op, backward, K=96, V=192)
        found = form(op, backward, outputs=outputs(op), **stranger.sizes(96, 192))
        assert found == expected, stranger.kind


@pytest.mark.parametrize("K, V, T", ((20, 12, 70), (96, 192, 130)))
@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16), ids=("f32", "bf16"))
@pytest.mark.parametrize("seed", SEEDS)
def test_strangers_equal_the_oracle(strangers, seed, dtype, K, V, T):
    stranger = strangers[seed]
    op = recurra.compile(stranger.recurrence)
    check(make(op, B=1, T=T, H=2, dtype=dtype, **stranger.sizes(K, V)))


@pytest.mark.parametrize("seed", SEEDS[:4])
def test_packed_strangers(strangers, seed):
    stranger = strangers[seed]
    op = recurra.compile(stranger.recurrence)
    check(make(op, B=1, T=193, H=2, offsets=[0, 0, 63, 64, 128, 193],
               dtype=torch.bfloat16, **stranger.sizes(48, 33)))


def operations(op, **sizes):
    """Of forward, and of forward and backward."""
    ahead, back = (counted(stage(op, name, **sizes)) for name in ("linear", "backward"))
    return ahead, ahead + back


def functions(case):
    """The forward call, and forward with backward."""
    inputs = leaves(case.inputs)
    names = outputs(case.op)

    def forward():
        with torch.no_grad():
            return case.op(**inputs, outputs=names)

    def both():
        *values, _ = case.op(**inputs, outputs=names)
        torch.autograd.grad(values, list(inputs.values()),
                            [torch.ones_like(x) for x in values])

    return forward, both


def timed(cases):
    """Median ms of forward and of both, interleaved."""
    clock = Clock(DEVICE)
    calls = {n: functions(c) for n, c in cases.items()}
    found = []
    for mode in range(2):
        once = {n: [f[mode]] for n, f in calls.items()}
        for (function,) in once.values():
            function()
        times = interleaved(clock, once, {n: 15 for n in once}, fail)
        found.append({n: median(t[3:]) for n, t in times.items()})
    return found


def fail(name, error):
    raise AssertionError(f"{name}: {error}") from error


@pytest.mark.alone
def test_strangers_are_as_fast_for_each_operation(strangers):
    """Within a factor of two of palimpsa, at (96, 192)."""
    sizes = dict(B=SHAPE.B, T=SHAPE.T, H=SHAPE.H, initial=False, dtype=torch.bfloat16)
    ops = {"palimpsa": (recurra.ops.palimpsa.op, dict(K=SHAPE.K, V=SHAPE.V))}
    ops |= {f"stranger {s} ({strangers[s].kind})": (
        recurra.compile(strangers[s].recurrence), strangers[s].sizes(SHAPE.K, SHAPE.V))
        for s in FAST}
    cases = {n: on_gpu(make("palimpsa" if n == "palimpsa" else op, **sizes, **axes))
             for n, (op, axes) in ops.items()}
    counts = {n: operations(op, **axes) for n, (op, axes) in ops.items()}
    slow = []
    for mode, times in enumerate(timed(cases)):
        each = {n: t / counts[n][mode] for n, t in times.items()}
        for n, t in times.items():
            ratio = each[n] / each["palimpsa"]
            print(f"{('forward', 'forward+backward')[mode]} {n}: {t:.3f} ms, "
                  f"{counts[n][mode]} operations, {ratio:.2f} of palimpsa's time for each")
            if ratio > 2:
                slow.append(f"{n}: {ratio:.2f}")
    assert not slow, "slower for each operation than palimpsa by " + ", ".join(slow)
