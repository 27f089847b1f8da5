# The catalogue on a GPU against the oracle, values and all gradients; kinds of
# calls; the same bits at every run.
# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import pytest
import torch

from harness import ENTRIES, Case, call, errors, leaves, make, run, same_bits

# CUDA's own exponentials and sums over lanes differ from the CPU's in rounding.
SIZES = dict(K=20, V=12, D=12, N=5)


def on_gpu(case):
    move = lambda tensors: {n: x.cuda() for n, x in tensors.items()}
    offsets = None if case.offsets is None else case.offsets.cuda()
    return Case(case.entry, move(case.inputs), move(case.initial), offsets,
                case.outputs, case.truth)


def off_gpu(result):
    fields = vars(result)
    return replace(result, **{
        name: {n: x.cpu() for n, x in tensors.items()}
        for name, tensors in fields.items()})


def run_on_gpu(case, **how):
    return off_gpu(run(on_gpu(case), **how))


def check(case, apart=(), **how):
    result = run_on_gpu(case, **how)
    wrong = {n: e for n, e in errors(case, result).items()
             if not e <= 1 and n not in apart}
    assert not wrong, "error over its bound: " + ", ".join(
        f"{n} {e:.3g}" for n, e in wrong.items())
    return result


def apart(entry, initial):
    """palimpsa_mu from a given precision: dprior is a difference of sums that
    cancel."""
    return ("dprior",) if entry == "palimpsa_mu" and initial else ()


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16, torch.float16),
                         ids=("float32", "bfloat16", "float16"))
@pytest.mark.parametrize("entry", ENTRIES)
def test_equals_the_oracle(entry, dtype):
    check(make(entry, T=70, H=4, group=2, dtype=dtype, given=("prior",), **SIZES),
          apart(entry, True))


@pytest.mark.parametrize("entry", ENTRIES)
def test_packed_sequences(entry):
    check(make(entry, B=1, T=193, offsets=[0, 0, 63, 64, 128, 193], **SIZES),
          apart(entry, True))


@pytest.mark.parametrize("entry", ENTRIES)
def test_without_initial_states(entry):
    check(make(entry, T=33, initial=False, **SIZES), loss="outputs")


@pytest.mark.parametrize("T", (0, 1, 2, 15, 16, 17, 63, 64, 65, 127, 129))
def test_every_length(T):
    check(make("palimpsa", T=T, K=48, V=96, given=("prior",)))


@pytest.mark.parametrize("K, V", ((8, 3), (31, 65), (48, 48), (96, 192),
                                  (100, 60), (128, 128), (320, 16), (1, 1)))
@pytest.mark.parametrize("entry", ("palimpsa", "gated_delta_rule", "mlstm"))
def test_every_size(entry, K, V):
    check(make(entry, B=1, T=40, H=2, K=K, V=V))


@pytest.mark.parametrize("gate", (0, -1e-6, -1, -20, -1000, float("-inf"), "mixed"))
def test_log_gates(gate):
    case = make("palimpsa", T=70, H=3, K=48, V=33)
    g = case.inputs["g"]
    if gate == "mixed":
        levels = torch.tensor([0, -1e-6, -1, -20, -1000, float("-inf")])
        draw = torch.Generator().manual_seed(1)
        g = levels[torch.randint(6, g.shape, generator=draw)]
    else:
        g = torch.full_like(g, gate)
    check(case.with_inputs(g=g))


def test_strided_inputs():
    case = make("palimpsa", T=50, K=16, V=16)
    wide = {n: torch.randn(*x.shape[:-1], 3 * x.shape[-1]) if x.dim() == 4 else x
            for n, x in case.inputs.items()}
    moved = {n: w.cuda() for n, w in wide.items()}
    for n, x in case.inputs.items():
        if x.dim() == 4:
            moved[n][..., 5:5 + x.shape[-1]] = x.cuda()
            moved[n] = moved[n][..., 5:5 + x.shape[-1]]
    inputs, initial = leaves(moved), leaves({n: x.cuda() for n, x in case.initial.items()})
    strided = call(Case("palimpsa", moved), inputs, initial)[0]["o"]
    dense = call(on_gpu(case))[0]["o"]
    assert torch.equal(strided, dense)


@pytest.mark.parametrize("entry", ENTRIES)
def test_same_bits_a_hundred_times(entry):
    case = make(entry, T=70, **SIZES)
    first = run_on_gpu(case)
    for _ in range(100 if entry == "palimpsa" else 10):
        assert same_bits(first, run_on_gpu(case))


def test_same_bits_in_a_larger_batch():
    """C15: a row of a large batch is the row alone."""
    case = on_gpu(make("palimpsa", B=32, T=256, H=4, K=96, V=192, initial=False,
                       dtype=torch.bfloat16))
    whole = call(case)[0]["o"]
    last = Case("palimpsa", {n: x[31:] for n, x in case.inputs.items()})
    assert torch.equal(whole[31:], call(last)[0]["o"])


def test_captured_graph_follows_changed_offsets():
    """C19: capture, change cu_seqlens in place, replay."""
    case = on_gpu(make("palimpsa", B=1, T=128, offsets=[0, 40, 128], initial=False,
                       K=32, V=32))
    with torch.no_grad():
        call(case)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            captured = call(case)[0]["o"]
        case.offsets.copy_(torch.tensor([0, 77, 128]))
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(captured, call(case)[0]["o"])


def test_mixed_devices_are_named():
    """C21: one tensor on another device."""
    case = on_gpu(make("palimpsa", initial=False))
    case.inputs["k"] = case.inputs["k"].cpu()
    with pytest.raises(ValueError, match="'k' is on cpu"):
        call(case)
