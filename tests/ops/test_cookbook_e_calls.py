# Behaviours that broke the peers, by their cookbook number: sizes, first calls,
# dtypes and strides (E30 to E53).
# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys

import pytest
import torch

import recurra
from harness import call, cases, check, make, run

FIRST_CALL = """
import sys, time, torch, recurra
recurra.set_option("cache_dir", sys.argv[1])
x = [torch.randn(1, 256, 4, 64, requires_grad=True) for _ in range(3)]
g = -torch.rand(1, 256, 4, requires_grad=True)
start = time.perf_counter()
o, _ = recurra.ops.simple_gla(*x, g)
o.sum().backward()
first = time.perf_counter() - start
later = []
for _ in range(5):
    start = time.perf_counter()
    o, _ = recurra.ops.simple_gla(*x, g)
    o.sum().backward()
    later.append(time.perf_counter() - start)
print(first, min(later))
"""


@pytest.mark.parametrize("K,V", ((8, 8), (1, 1), (1, 17), (16, 1)))
@pytest.mark.parametrize("entry", cases(("simple_gla", "palimpsa", "gated_delta_rule"),
                                        ("palimpsa",)))
def test_e30_small_widths(entry, K, V):
    check(make(entry, T=19, K=K, V=V))


def test_e30_a_long_odd_length():
    check(make("simple_gla", B=1, T=cases(197_912, 9_973), H=1, K=16, V=16))


@pytest.mark.parametrize("K", cases((31, 48, 60, 65, 96, 100, 192), (31, 60, 100)))
@pytest.mark.parametrize("entry", cases(("gla", "palimpsa"), ("gla",)))
def test_e31_widths_that_fill_no_vector(entry, K):
    """Every input lies inside a larger buffer of NaN."""
    case = make(entry, B=1, T=20, K=K, V=9)
    check(case.with_inputs(**{n: fenced(x) for n, x in case.inputs.items()}))


def fenced(x):
    """A view of x's values with NaN before, behind and between the rows."""
    buffer = torch.full([n + 2 for n in x.shape], float("nan"), dtype=x.dtype)
    view = buffer[tuple(slice(1, n + 1) for n in x.shape)]
    view.copy_(x)
    return view


def test_e33_no_demands_on_alignment():
    case = make("palimpsa", T=23, K=5, V=7)
    shifted = {}
    for name, x in case.inputs.items():
        buffer = torch.empty(x.numel() + 1, dtype=x.dtype)
        shifted[name] = buffer[1:].view(x.shape).copy_(x)
    a, b = check(case), check(case.with_inputs(**shifted))
    assert torch.equal(a.outputs["o"], b.outputs["o"])


def test_e43_lengths_compile_nothing():
    case = make("simple_gla", B=1, T=8, initial=False)
    run(case)
    before = recurra.counters()["compilations"]
    for T in (1024, 1025, 512, 4096):
        run(make("simple_gla", B=1, T=T, initial=False))
    run(make("simple_gla", B=3, T=64, initial=False))
    assert recurra.counters()["compilations"] == before


def first_call(folder):
    """Seconds of the first call and of later ones, forward and backward."""
    out = subprocess.run(
        [sys.executable, "-c", FIRST_CALL, str(folder)], check=True,
        capture_output=True, text=True).stdout
    return [float(x) for x in out.split()]


def best(attempts, bound):
    """The first pair within its bounds, else the last: other processes on the
    machine may delay one attempt."""
    for pair in attempts:
        if all(x < b for x, b in zip(pair, bound)):
            break
    return pair


def test_e45_first_call_takes_seconds_at_most(tmp_path):
    """Cold under 2 s and 0.1 s from then on; from the disk cache 0.05 s."""
    cold, warm = best((first_call(tmp_path / str(i)) for i in range(4)), (2, 0.1))
    assert cold < 2 and warm < 0.1
    cached, _ = best((first_call(tmp_path / "0") for i in range(4)), (0.05,))
    assert cached < 0.05


@pytest.mark.parametrize("entry", cases(("palimpsa", "gated_delta_rule", "mamba1"),
                                        ("palimpsa",)))
def test_e51_every_input_in_its_own_dtype(entry):
    names = list(make(entry, T=1).inputs)
    for name in names:
        case = make(entry, T=17, dtype={name: torch.bfloat16})
        result = check(case)
        for n, x in result.of_inputs.items():
            assert x.dtype == case.inputs[n].dtype


def test_e53_views_of_one_projection_and_expanded_gradients():
    B, T, H, K, V = 2, 33, 2, 4, 6
    draw = torch.Generator().manual_seed(42)
    buffer = torch.randn(B, T, H, 2 * K + V, generator=draw)
    q, k, v = buffer.split((K, K, V), dim=-1)
    case = make("simple_gla", T=T, V=V).with_inputs(q=q, k=k, v=v)
    check(case)
    # y.sum().backward() hands stride-0 gradients to the op.
    case.initial["S"].requires_grad_()
    outputs, finals = call(case)
    (outputs["o"].sum() + finals["S"].sum()).backward()
    expanded = case.initial["S"].grad.clone()
    case.initial["S"].grad = None
    outputs, finals = call(case)
    torch.autograd.backward(
        [outputs["o"], finals["S"]],
        [torch.ones(B, T, H, V), torch.ones(B, H, K, V)])
    assert torch.equal(expanded, case.initial["S"].grad)
    assert expanded.abs().sum() > 0
