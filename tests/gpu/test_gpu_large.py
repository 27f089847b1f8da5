# Sizes at which offsets and grids overflow elsewhere, and peak memory: each
# needs most of a GPU, so they run alone.
# SPDX-License-Identifier: Apache-2.0
import pytest
import torch

import float64_loops
from draw import Shape, draw
from harness import make
from measure import BOUNDS, worst
from on_gpu import DEVICE
from timing import peak_bytes

import recurra

pytestmark = pytest.mark.alone
GIB = 2**30
NAMES = ("q", "k", "v", "g", "beta")


def palimpsa(inputs, **how):
    return recurra.ops.palimpsa(*(inputs[n] for n in NAMES), **how)


def rough(shape, scale=1.0):
    """bf16 inputs without a copy in float32 beside them."""
    K, V, B, T, H = shape.K, shape.V, shape.B, shape.T, shape.H

    def randn(*sizes):
        return torch.randn(*sizes, device=DEVICE, dtype=torch.bfloat16)

    torch.manual_seed(0)
    return {"q": randn(B, T, H, K).mul_(K ** -0.5), "k": randn(B, T, H, K).mul_(K ** -0.5),
            "v": randn(B, T, H, V), "g": randn(B, T, H).abs_().mul_(-0.1 * scale),
            "beta": randn(B, T, H, V).sigmoid_()}


def gradients(inputs, weight, **how):
    leaves = {n: x.detach().requires_grad_() for n, x in inputs.items()}
    o = palimpsa(leaves, **how)[0]
    return (o.detach(), *torch.autograd.grad(o, list(leaves.values()), weight))


def last_row_alone(shape):
    """Everything of the last row of a batch equals the row run alone."""
    inputs = rough(shape)
    weight = torch.randn_like(inputs["v"])
    whole = [x[-1:].clone() for x in gradients(inputs, weight)]
    alone = gradients({n: x[-1:].contiguous() for n, x in inputs.items()}, weight[-1:])
    for name, x, y in zip(("o", *NAMES), whole, alone):
        assert torch.equal(x, y), name


def test_c15_a_row_of_a_large_batch():
    """C15, E28."""
    last_row_alone(Shape(96, 192, 32, 4096, 16))


@pytest.mark.parametrize("B, T, H, D", ((4, 16384, 24, 64), (10923, 20, 6, 64),
                                        (40960, 20, 2, 64)))
def test_many_rows(B, T, H, D):
    """E27, E29: a grid axis ends at 65,535."""
    last_row_alone(Shape(D, D, B, T, H))


def test_many_documents():
    """E29: 2050 documents of 16 tokens, 32 heads."""
    inputs = rough(Shape(64, 64, 1, 2050 * 16, 32))
    weight = torch.randn_like(inputs["v"])
    offsets = torch.arange(0, 2050 * 16 + 1, 16, device=DEVICE)
    packed = gradients(inputs, weight, cu_seqlens=offsets)
    rows = {n: x.view(2050, 16, *x.shape[2:]) for n, x in inputs.items()}
    for name, x, y in zip(("o", *NAMES), packed, gradients(rows, weight.view_as(rows["v"]))):
        assert torch.equal(x.view_as(y), y), name


def test_decode_of_many_rows():
    """E28: 4097 rows of 16 heads, one token."""
    inputs = rough(Shape(16, 32, 4097, 1, 16))
    state = tuple(torch.rand(4097, 16, 16, 32, device=DEVICE) for _ in range(2))
    with torch.no_grad():
        whole = palimpsa(inputs, initial_state=state, output_final_state=True)
        alone = palimpsa({n: x[-1:] for n, x in inputs.items()}, output_final_state=True,
                         initial_state=tuple(x[-1:] for x in state))
    assert torch.equal(whole[0][-1:], alone[0])
    for x, y in zip(whole[1], alone[1]):
        assert torch.equal(x[-1:], y)


def test_tensors_of_more_than_two_to_the_31_elements():
    """E25: 64-bit offsets; forward, whose tensors alone take 23 GiB."""
    inputs = rough(Shape(128, 128, 16, 17477, 64))
    with torch.no_grad():
        whole = palimpsa(inputs)[0][-1:].clone()
        alone = palimpsa({n: x[-1:].contiguous() for n, x in inputs.items()})[0]
    assert torch.equal(whole, alone)


@pytest.mark.parametrize("K, V, T, H", ((96, 192, 131072, 16), (48, 48, 300001, 2)))
def test_very_long_inputs(K, V, T, H):
    """E27, E28: beside float64 loops, of the last head."""
    x = draw(Shape(K, V, 1, T, H), 0, DEVICE)
    inputs, weight = {n: x[n].detach() for n in NAMES}, x["d_o"]
    o, *found = gradients(inputs, weight)
    part = {n: x[:, :, -1:] for n, x in inputs.items()}
    expected, truth = float64_loops.truth("palimpsa", part, weight[:, :, -1:])
    values, slopes = BOUNDS["bfloat16"]
    pairs = [("o", o, expected, values)] + [
        (n, y, truth[n], slopes) for n, y in zip(NAMES, found)]
    for name, actual, exact, bound in pairs:
        row = actual[:, :, -1:].double().cpu().numpy()
        assert worst(row, exact.cpu().numpy(), "BTH") <= bound, name


@pytest.mark.parametrize("shape, reference", (
    (Shape(48, 48, 8, 4096), 2.3), (Shape(48, 96, 8, 4096), 3.9),
    (Shape(96, 192, 8, 4096), 12.1), (Shape(128, 128, 8, 4096), 10.8),
    (Shape(96, 192, 1, 32768), 12.1)), ids=str)
def test_peak_memory(shape, reference):
    """C24, E54: at most half of what the reference kernels take, in GiB."""
    inputs = rough(shape)
    weight = torch.randn_like(inputs["v"])
    gradients(inputs, weight)
    peak = peak_bytes(lambda: gradients(inputs, weight)) / GIB
    print(f"peak of forward and backward at {shape}: {peak:.2f} GiB")
    assert peak <= reference / 2


def test_forward_alone_saves_nothing():
    """E54: what no_grad keeps is the output."""
    inputs = rough(Shape(96, 192, 1, 32768))
    with torch.no_grad():
        palimpsa(inputs)
        peak = peak_bytes(lambda: palimpsa(inputs))
    output = inputs["v"].numel() * 2
    assert peak <= 2 * output + GIB


@pytest.mark.parametrize("K, V", ((96, 192), (20, 17)))
def test_gradients_of_states_at_a_long_input(K, V):
    """Two calls through the states, forward and backward, equal one; also where
    tiles do not divide the states."""
    x = rough(Shape(K, V, 1, 32768, 4), scale=0.05)
    case = make("palimpsa", T=1, H=4, K=K, V=V)
    start = tuple(y.to(DEVICE)[:1].requires_grad_() for y in case.initial.values())
    weight = torch.randn_like(x["v"])
    whole = palimpsa(x, initial_state=start)[0]
    expected = torch.autograd.grad(whole, start, weight)
    first, state = palimpsa({n: y[:, :20000] for n, y in x.items()},
                            initial_state=start, output_final_state=True)
    second = palimpsa({n: y[:, 20000:] for n, y in x.items()}, initial_state=state)[0]
    found = torch.autograd.grad(
        [first, second], start, [weight[:, :20000], weight[:, 20000:]])
    for a, b in zip(found, expected):
        assert (a - b).norm() <= 2e-3 * b.norm()
