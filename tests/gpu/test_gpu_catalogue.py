# The catalogue on a GPU against the oracle: values and all gradients, in every
# dtype, packed sequences, states in and out, grouped heads.
# SPDX-License-Identifier: Apache-2.0
import pytest
import torch

import recurra
from harness import ENTRIES, Case, call, leaves, make
from on_gpu import apart, check, form, move, on_gpu, run_on_gpu

# Sizes that no tile divides, and the ones that models have.
SIZES = dict(K=20, V=12, D=12, N=5)
MODELS = ((48, 48), (48, 96), (96, 192), (128, 128))
MATRIX = ("palimpsa", "simple_gla", "gla", "gated_delta_rule", "mlstm")
DTYPES = {"float64": torch.float64, "float32": torch.float32,
          "float16": torch.float16, "bfloat16": torch.bfloat16}


SCANNED = {"palimpsa": dict(K=96, V=192), "palimpsa_mu": dict(K=96, V=192),
           "linear_attention": dict(K=64, V=64), "simple_gla": dict(K=96, V=192),
           "gla": dict(K=64, V=128), "mamba1": dict(D=1536, N=16),
           "longhorn": dict(D=1536, N=16)}


@pytest.mark.parametrize("backward", (False, True), ids=("forward", "backward"))
@pytest.mark.parametrize("entry", SCANNED)
def test_takes_the_scan_form(entry, backward):
    op = getattr(recurra.ops, entry).op
    assert form(op, backward, **SCANNED[entry]) == "scan"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("entry", ENTRIES)
def test_equals_the_oracle(entry, dtype):
    check(make(entry, T=70, H=4, group=2, dtype=DTYPES[dtype], given=("prior",), **SIZES),
          apart(entry, True))


@pytest.mark.parametrize("K, V", MODELS)
@pytest.mark.parametrize("dtype", ("float32", "bfloat16"))
@pytest.mark.parametrize("entry", MATRIX)
def test_at_the_sizes_of_models(entry, dtype, K, V):
    check(make(entry, B=1, T=200, H=2, dtype=DTYPES[dtype], K=K, V=V))


@pytest.mark.parametrize("entry", ENTRIES)
def test_packed_sequences(entry):
    """C8: some of them empty, a state for each."""
    check(make(entry, B=1, T=193, offsets=[0, 0, 63, 64, 64, 128, 193, 193], **SIZES),
          apart(entry, True))


@pytest.mark.parametrize("offsets", ([0, 0, 16], [0, 16, 16], [0, 5, 5, 5, 70], [0, 0, 0],
                                     [0, 1, 2, 3, 67], list(range(0, 513, 16))))
@pytest.mark.parametrize("dtype", ("float32", "bfloat16"))
def test_packed_palimpsa(offsets, dtype):
    """C8, E19."""
    check(make("palimpsa", B=1, T=offsets[-1], H=2, K=96, V=192, offsets=offsets,
               dtype=DTYPES[dtype]))


@pytest.mark.parametrize("entry", ENTRIES)
def test_without_initial_states(entry):
    check(make(entry, T=33, initial=False, **SIZES), loss="outputs")


@pytest.mark.parametrize("loss", ("outputs", "states"))
@pytest.mark.parametrize("entry", ("palimpsa", "simple_gla", "gla", "mamba1"))
def test_loss_on_one_kind_of_result(entry, loss):
    """C10."""
    check(make(entry, T=70, H=2, K=48, V=96, D=24, N=16), loss=loss)


@pytest.mark.parametrize("outputs", (("o", "o_var"), ("o_var",)))
@pytest.mark.parametrize("dtype", ("float32", "bfloat16"))
def test_palimpsa_and_its_variance(outputs, dtype):
    check(make("palimpsa", T=90, H=2, K=96, V=192, outputs=outputs, given=("prior",),
               dtype=DTYPES[dtype]))


@pytest.mark.parametrize("group", (1, 2, 4))
@pytest.mark.parametrize("entry", ("palimpsa", "gated_delta_rule"))
def test_grouped_value_heads(entry, group):
    check(make(entry, B=1, T=70, H=4, group=group, K=48, V=96, dtype=torch.bfloat16))


@pytest.mark.parametrize("name", ("q", "k", "v", "g", "beta"))
def test_one_input_in_another_dtype(name):
    """C13."""
    result = check(make("palimpsa", T=40, K=48, V=33, dtype={name: torch.bfloat16}))
    assert result.of_inputs[name].dtype == torch.bfloat16


@pytest.mark.parametrize("split", (1, 15, 64, 100, 199))
@pytest.mark.parametrize("entry", ("palimpsa", "simple_gla"))
def test_two_calls_equal_one(entry, split):
    """C9: through the states, forward."""
    case = on_gpu(make(entry, B=1, T=200, H=2, K=48, V=96))
    whole, final = call(case)
    tokens = {x.name for x in case.recurrence.inputs if x.role == "token"}

    def part(begin, end, state):
        cut = {n: x[:, begin:end] if n in tokens else x for n, x in case.inputs.items()}
        return call(Case(entry, cut, state))

    first, middle = part(0, split, case.initial)
    second, last = part(split, 200, middle)
    joined = torch.cat([first["o"], second["o"]], 1)
    assert (joined - whole["o"]).norm() <= 2e-5 * whole["o"].norm()
    for n, x in final.items():
        assert (last[n] - x).norm() <= 2e-5 * x.norm(), n


def test_strided_inputs():
    """C12: views of wider tensors."""
    case = make("palimpsa", T=50, K=16, V=16)
    wide = {n: torch.randn(*x.shape[:-1], 3 * x.shape[-1]) if x.dim() == 4 else x
            for n, x in case.inputs.items()}
    moved = move(wide)
    for n, x in case.inputs.items():
        if x.dim() == 4:
            moved[n][..., 5:5 + x.shape[-1]] = x.to(moved[n].device)
            moved[n] = moved[n][..., 5:5 + x.shape[-1]]
    inputs, initial = leaves(moved), leaves(move(case.initial))
    strided = call(Case("palimpsa", moved), inputs, initial)[0]["o"]
    assert torch.equal(strided, call(on_gpu(case))[0]["o"])


def test_expanded_gradients():
    """C12, E53: o.sum().backward() hands a cotangent without strides."""
    case = on_gpu(make("palimpsa", T=50, K=48, V=33))
    found = []
    for spread in (lambda o: torch.ones((), device=o.device).expand_as(o), torch.ones_like):
        inputs = leaves(case.inputs)
        o = call(case, inputs)[0]["o"]
        found.append(torch.autograd.grad(o, list(inputs.values()), spread(o)))
    for x, y in zip(*found):
        assert torch.equal(x, y)


def test_a_masked_step_is_the_identity():
    """E20: v, beta and the gate at zero leave the states."""
    case = make("palimpsa", B=1, T=40, K=48, V=33)
    masked = {n: x.clone() for n, x in case.inputs.items()}
    for n in ("v", "beta", "g"):
        masked[n][:, 10:30] = 0
    short = {n: torch.cat([x[:, :10], x[:, 30:]], 1) for n, x in case.inputs.items()}
    long = run_on_gpu(case.with_inputs(**masked), loss="states").finals
    for n, x in run_on_gpu(case.with_inputs(**short), loss="states").finals.items():
        assert torch.allclose(x, long[n], rtol=1e-5, atol=1e-6), n
