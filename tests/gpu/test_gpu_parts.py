# Few sequences and heads are walked in parts side by side, from what a walk
# ahead has left: the bits are those of one walk.
# SPDX-License-Identifier: Apache-2.0
import pytest
import torch
from torch.profiler import ProfilerActivity, profile

import recurra
from draw import Shape, draw
from on_gpu import DEVICE

READS = {"palimpsa": ("q", "k", "v", "g", "beta"), "simple_gla": ("q", "k", "v", "g")}
STATES = {"palimpsa": ("M", "J"), "simple_gla": ("M",)}


def few_and_many(entry, shape, seed=1):
    """Inputs of the shape, and the same for so many heads that they fill a GPU:
    the first are the same."""
    drawn = draw(shape, seed, device=DEVICE)
    few = {n: drawn[n].detach() for n in (*READS[entry], "d_o")}
    many = {n: x.repeat(1, 1, 128 // shape.H + 1, *[1] * (x.dim() - 3)) for n, x in few.items()}
    return few, many


def states_of(entry, inputs, sequences):
    make = torch.Generator(device=DEVICE).manual_seed(5)
    H, K, V = inputs["k"].shape[2], inputs["k"].shape[3], inputs["v"].shape[3]
    one = torch.rand(sequences, 1, K, V, generator=make, device=DEVICE)
    return tuple(one.repeat(1, H, 1, 1) for _ in STATES[entry])


def results(entry, inputs, has_states, cu_seqlens=None):
    """The output, final states, and the gradients of inputs and initial states."""
    read = [inputs[n].clone().requires_grad_() for n in READS[entry]]
    initial = ()
    if has_states:
        sequences = 1 if cu_seqlens is None else len(cu_seqlens) - 1
        initial = tuple(x.requires_grad_() for x in states_of(entry, inputs, sequences))
    given = dict(initial_state=initial if len(initial) > 1 else initial[0],
                 output_final_state=True) if has_states else {}
    out, final = getattr(recurra.ops, entry)(*read, cu_seqlens=cu_seqlens, **given)
    final = final if isinstance(final, tuple) else (final,) if has_states else ()
    loss = (out.float() * inputs["d_o"].float()).sum() + sum(x.sum() for x in final)
    return [out, *final], torch.autograd.grad(loss, [*read, *initial])


def expect_same(entry, few, many, has_states, cu_seqlens=None):
    heads = few["k"].shape[2]
    for of_few, of_many in zip(results(entry, few, has_states, cu_seqlens),
                               results(entry, many, has_states, cu_seqlens)):
        for x, y in zip(of_few, of_many):
            # The axis of the heads: states have it second, all else third.
            axis = 1 if x.shape[1] == heads else 2
            assert torch.equal(y.narrow(axis, 0, heads), x)


@pytest.mark.parametrize("K, V", ((48, 48), (48, 96), (96, 192), (128, 128), (40, 72)))
@pytest.mark.parametrize("T", (129, 1000, 4096, 9000))
@pytest.mark.parametrize("entry", READS)
def test_parts_have_the_bits_of_one_walk(entry, T, K, V):
    expect_same(entry, *few_and_many(entry, Shape(K, V, 1, T, 4)), has_states=T == 1000)


@pytest.mark.parametrize("entry", READS)
def test_parts_of_packed_sequences(entry):
    cu_seqlens = torch.tensor([0, 700, 700, 701, 2100, 4000], device=DEVICE)
    for has_states in (False, True):
        expect_same(entry, *few_and_many(entry, Shape(48, 96, 1, 4000, 3)), has_states, cu_seqlens)


@pytest.mark.skipif(DEVICE.type != "cuda", reason="on the CPU, threads share sequences otherwise")
def test_few_heads_are_walked_in_parts():
    few, many = few_and_many("palimpsa", Shape(48, 96, 1, 2048, 4))
    ahead = []
    for inputs in (few, many):
        results("palimpsa", inputs, False)
        with profile(activities=[ProfilerActivity.CUDA]) as seen:
            results("palimpsa", inputs, False)
            torch.cuda.synchronize()
        ahead.append(sum("nest0_ahead" in event.name for event in seen.events()))
    assert ahead == [2, 0]
