# Lengths, sizes and gates on a GPU against the oracle, long inputs against
# float64 loops; the same bits on every run.
# SPDX-License-Identifier: Apache-2.0
import pytest
import torch

import float64_loops
from draw import Shape, draw
from harness import ENTRIES, call, make, run, with_states_of
from measure import BOUNDS, worst
from on_gpu import DEVICE, check, on_gpu, run_on_gpu, same

GATES = (0.0, -1e-6, -1.0, -20.0, -1000.0, float("-inf"))
GATED = ("palimpsa", "simple_gla", "gla", "gated_delta_rule")
SIZES = dict(K=20, V=12, D=12, N=5)
READS = {"palimpsa": ("q", "k", "v", "g", "beta"), "simple_gla": ("q", "k", "v", "g")}


@pytest.mark.parametrize("T", (0, 1, 2, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 255, 257))
@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16), ids=("f32", "bf16"))
def test_every_length(T, dtype):
    """C1."""
    check(make("palimpsa", T=T, K=48, V=96, given=("prior",), dtype=dtype))


@pytest.mark.parametrize("K, V", ((8, 3), (31, 65), (48, 48), (65, 31), (100, 60),
                                  (320, 16), (16, 320), (1, 1), (60, 192)))
@pytest.mark.parametrize("entry", ("palimpsa", "simple_gla", "gla", "gated_delta_rule",
                                   "mlstm"))
def test_every_size(entry, K, V):
    """C2, E30, E31."""
    check(make(entry, B=1, T=40, H=2, K=K, V=V))


@pytest.mark.parametrize("K, V", ((512, 64), (64, 512), (300, 300), (1000, 40)))
@pytest.mark.parametrize("entry", ("palimpsa", "gated_delta_rule"))
def test_sizes_beyond_a_block(entry, K, V):
    """E32: tiles come from the device's limits."""
    check(make(entry, B=1, T=20, H=1, K=K, V=V, dtype=torch.bfloat16))


@pytest.mark.parametrize("dtype", ("bf16", "f16"))
@pytest.mark.parametrize("K, V", ((48, 96), (20, 31), (5, 6)))
def test_states_of_other_dtypes(K, V, dtype):
    """In scan form and in walk form, by the size."""
    check(make(with_states_of("palimpsa", dtype), T=40, K=K, V=V))


@pytest.mark.parametrize("D, N", ((5, 16), (130, 16), (256, 64), (33, 3)))
@pytest.mark.parametrize("entry", ("mamba1", "longhorn"))
def test_sizes_of_elementwise_states(entry, D, N):
    check(make(entry, B=1, T=40, H=2, D=D, N=N))


def gates(case, kind):
    g = case.inputs["g"]
    levels, pick = torch.tensor(GATES), torch.Generator().manual_seed(1)
    if kind == "by token":
        return levels[torch.randint(6, g.shape, generator=pick)]
    if kind == "by head":
        return levels[torch.arange(g.shape[2]) % 6].view(
            1, 1, -1, *[1] * (g.dim() - 3)).expand_as(g).contiguous()
    if kind == "resets":
        reset = torch.rand(g.shape, generator=pick) < 0.3
        return torch.where(reset, -1000.0, -torch.rand(g.shape, generator=pick))
    if kind == "one step":
        steep = torch.zeros_like(g)
        steep[:, 37] = -50
        return steep
    return torch.full_like(g, kind)


@pytest.mark.parametrize("kind", (*GATES, "by token", "by head", "resets", "one step"))
@pytest.mark.parametrize("entry", GATED)
def test_log_gates(entry, kind):
    """C3, C4, E2, E9."""
    case = make(entry, B=1, T=140, H=6, K=48, V=33)
    result = check(case.with_inputs(g=gates(case, kind)))
    assert all(x.isfinite().all() for x in result.of_inputs.values())


@pytest.mark.parametrize("kind", (0.0, -1e-6, "by token", "by head", "resets"))
@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16), ids=("f32", "bf16"))
def test_log_gates_at_a_models_size(kind, dtype):
    case = make("palimpsa", B=1, T=200, H=6, K=96, V=192, dtype=dtype)
    check(case.with_inputs(g=gates(case, kind).to(dtype)))


def drawn(entry, shape, seed=0, dtype=torch.bfloat16):
    x = draw(shape, seed, DEVICE, dtype)
    return {n: x[n].detach() for n in READS[entry]}, x["d_o"]


def against_loops(entry, shape, dtype, heads, bounds):
    """Values and gradients of the heads named, beside all the others."""
    inputs, weight = drawn(entry, shape, dtype=dtype)
    case = make(entry, T=1).with_inputs(**inputs)
    case.initial = {}
    leaves = {n: x.clone().requires_grad_() for n, x in inputs.items()}
    o = call(case, leaves, final=False)[0]["o"]
    found = dict(zip(leaves, torch.autograd.grad(o, list(leaves.values()), weight)))
    for head in heads:
        part = {n: x[:, :, head:head + 1] for n, x in inputs.items()}
        expected, gradients = float64_loops.truth(entry, part, weight[:, :, head:head + 1])
        pairs = {"o": (o, expected, bounds[0])} | {
            f"d{n}": (found[n], x, bounds[1]) for n, x in gradients.items()}
        for name, (actual, truth, bound) in pairs.items():
            row = actual[:, :, head:head + 1].detach().double().cpu().numpy()
            error = worst(row, truth.cpu().numpy(), "BTH")
            assert error <= bound, f"{name} of head {head}: {error:.3g} over {bound:.3g}"


@pytest.mark.parametrize("T", (1000, 4096, 16385))
@pytest.mark.parametrize("entry", READS)
def test_long_inputs(entry, T):
    against_loops(entry, Shape(96, 192, 2, T, 4), torch.bfloat16, (3,), BOUNDS["bfloat16"])


@pytest.mark.parametrize("K, V", ((48, 48), (48, 96), (128, 128)))
def test_long_inputs_of_other_sizes(K, V):
    against_loops("palimpsa", Shape(K, V, 1, 2048, 3), torch.float32, (0,), (2e-5, 2e-3))


@pytest.mark.parametrize("entry", ENTRIES)
def test_same_bits_a_hundred_times(entry):
    """C17."""
    case = on_gpu(make(entry, T=70, **SIZES))
    first = run(case)
    assert all(same(first, run(case)) for _ in range(100))


@pytest.mark.parametrize("packed", (False, True))
def test_same_bits_a_hundred_times_at_a_models_size(packed):
    offsets = [0, 300, 300, 301, 1024] if packed else None
    case = on_gpu(make("palimpsa", B=1 if packed else 2, T=1024, H=4, K=96, V=192,
                       offsets=offsets, dtype=torch.bfloat16))
    first = run(case)
    assert all(same(first, run(case)) for _ in range(100))


def test_a_row_does_not_depend_on_its_batch():
    """C17: nor on its neighbours' gates."""
    case = make("palimpsa", B=5, T=300, H=3, K=48, V=96, dtype=torch.bfloat16)
    case.inputs["g"][:4] = -1000
    alone = case.with_inputs(**{n: x[4:] for n, x in case.inputs.items()})
    alone.initial = {n: x[4:] for n, x in case.initial.items()}
    many, one = run_on_gpu(case), run_on_gpu(alone)
    assert torch.equal(many.outputs["o"][4:], one.outputs["o"])
