# Few sequences and heads are walked in parts side by side, from what a walk
# ahead has left: the bits are those of one walk.
# SPDX-License-Identifier: Apache-2.0
import pytest
import torch
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile

import recurra
from draw import Shape, draw
from on_gpu import DEVICE

# Spans in parts, and whole sequences: backward where decays are vectors, always
# where they are matrices.
READS = {"palimpsa": ("q", "k", "v", "g", "beta"), "simple_gla": ("q", "k", "v", "g"),
         "gla": ("q", "k", "v", "g"), "mamba1": ("u", "dt", "A", "B", "C"),
         "longhorn": ("x", "dt", "k", "q")}
# Behind them; a gradient would be a total.
CONSTANTS = {"mamba1": ("D_skip",), "longhorn": ("D_skip",)}
# By all heads: their gradients are sums over heads.
SHARED = {"mamba1": ("B", "C"), "longhorn": ("k", "q")}


def drawn_for(entry, shape, seed):
    inputs = {n: x.detach() for n, x in draw(shape, seed, device=DEVICE).items()}
    make = torch.Generator(device=DEVICE).manual_seed(seed)

    def randn(*sizes):
        return torch.randn(*sizes, generator=make, device=DEVICE)

    if entry == "gla":
        gates = -F.softplus(randn(shape.B, shape.T, shape.H, shape.K) - 2)
        inputs["g"] = gates.to(inputs["q"].dtype)
    B, T, H, N, D = shape.B, shape.T, shape.H, 16, shape.V
    if entry == "longhorn":
        inputs |= {"x": inputs["v"], "dt": inputs["beta"], "k": randn(B, T, N),
                   "q": randn(B, T, N), "D_skip": randn(H, D)}
    if entry == "mamba1":
        inputs |= {"u": inputs["v"], "dt": inputs["beta"], "A": -torch.exp(randn(H, D, N)),
                   "B": randn(B, T, N), "C": randn(B, T, N), "D_skip": randn(H, D)}
    return inputs


def few_and_many(entry, shape, seed=1):
    """Inputs of the shape, and the same for so many heads that they fill a GPU:
    the first are the same."""
    inputs = drawn_for(entry, shape, seed)
    few = {n: inputs[n] for n in (*READS[entry], *CONSTANTS.get(entry, ()), "d_o")}

    def repeated(name, x):
        axis = 0 if name in ("A", "D_skip") else 2
        times = [1] * x.dim()
        times[axis] = 128 // shape.H + 1
        return x if name in SHARED.get(entry, ()) else x.repeat(times)

    return few, {n: repeated(n, x) for n, x in few.items()}


def states_of(entry, inputs, sequences):
    make = torch.Generator(device=DEVICE).manual_seed(5)
    H = inputs["d_o"].shape[2]
    rows, columns = {"mamba1": "AA", "longhorn": "xk"}.get(entry, "kv")
    sizes = inputs[rows].shape[-1 if rows != columns else -2], inputs[columns].shape[-1]
    one = torch.rand(sequences, 1, *sizes, generator=make, device=DEVICE)
    states = getattr(recurra.ops, entry).op.recurrence.states
    return tuple(one.repeat(1, H, 1, 1) for _ in states)


def results(entry, inputs, has_states, cu_seqlens=None):
    """The output, final states, and the gradients of inputs of heads and of
    initial states."""
    read = [inputs[n].clone().requires_grad_() for n in READS[entry]]
    initial = ()
    if has_states:
        sequences = 1 if cu_seqlens is None else len(cu_seqlens) - 1
        initial = tuple(x.requires_grad_() for x in states_of(entry, inputs, sequences))
    given = dict(initial_state=initial if len(initial) > 1 else initial[0],
                 output_final_state=True) if has_states else {}
    constants = [inputs[n] for n in CONSTANTS.get(entry, ())]
    out, final = getattr(recurra.ops, entry)(*read, *constants, cu_seqlens=cu_seqlens, **given)
    final = final if isinstance(final, tuple) else (final,) if has_states else ()
    loss = (out.float() * inputs["d_o"].float()).sum() + sum(x.sum() for x in final)
    gradients = torch.autograd.grad(loss, [*read, *initial])
    shared = [n in SHARED.get(entry, ()) for n in READS[entry]] + [False] * len(initial)
    return [out, *final], [x for x, skip in zip(gradients, shared) if not skip]


def expect_same(entry, few, many, has_states, cu_seqlens=None):
    heads = few["d_o"].shape[2]
    for of_few, of_many in zip(results(entry, few, has_states, cu_seqlens),
                               results(entry, many, has_states, cu_seqlens)):
        for x, y in zip(of_few, of_many):
            # The axis of the heads: states have it second, A first, all else third.
            axis = 0 if x.dim() == 3 and x.shape[0] == heads else 1 if x.shape[1] == heads else 2
            assert torch.equal(y.narrow(axis, 0, heads), x)


SIZES = ((48, 48), (48, 96), (64, 64), (96, 192), (128, 128), (40, 72))
CASES = [(entry, *size) for entry in READS for size in SIZES
         if entry not in CONSTANTS or size[0] < 96]  # states of V x 16


@pytest.mark.parametrize("entry, K, V", CASES)
@pytest.mark.parametrize("T", (129, 1000, 4096, 9000))
def test_parts_have_the_bits_of_one_walk(entry, T, K, V):
    expect_same(entry, *few_and_many(entry, Shape(K, V, 1, T, 4)), has_states=T == 1000)


@pytest.mark.parametrize("entry", READS)
def test_parts_of_packed_sequences(entry):
    cu_seqlens = torch.tensor([0, 700, 700, 701, 2100, 4000], device=DEVICE)
    for has_states in (False, True):
        expect_same(entry, *few_and_many(entry, Shape(48, 96, 1, 4000, 2)), has_states, cu_seqlens)


@pytest.mark.skipif(DEVICE.type != "cuda", reason="on the CPU, threads share sequences otherwise")
@pytest.mark.parametrize("entry, K, V", CASES)
def test_few_heads_are_walked_in_parts(entry, K, V):
    few, many = few_and_many(entry, Shape(K, V, 1, 2048, 4))
    ahead = []
    for inputs in (few, many):
        results(entry, inputs, False)
        with profile(activities=[ProfilerActivity.CUDA]) as seen:
            results(entry, inputs, False)
            torch.cuda.synchronize()
        ahead.append(sum("nest0_ahead" in event.name for event in seen.events()))
    assert ahead == [2, 0]
