# Every entry of the catalogue against the NumPy loop of its published
# equations, values and gradients, and against public implementations.
# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import numpy as np
import pytest
import torch

import recurra
from harness import ENTRIES, Case, call, make, numpy, run
from measure import worst
from reference import LOOPS
from reference.differences import evaluate, gradients
from test_reference import part

FIXTURES = Path(__file__).parent / "fixtures"
DETACHED = ("m",)  # stabilisers: their own cotangent has no difference quotient


def test_the_catalogue_is_complete():
    assert set(recurra.ops.__all__) == set(ENTRIES) == set(LOOPS)


def arrays(tensors):
    return {n: numpy(x) for n, x in tensors.items()}


@pytest.mark.parametrize("initial", (True, False))
@pytest.mark.parametrize("entry", ENTRIES)
def test_values_equal_the_published_equations(entry, initial):
    names = tuple(x.name for x in recurra.ops.__dict__[entry].op.recurrence.outputs)
    case = make(entry, T=70, H=4, group=2, dtype=torch.float64, initial=initial,
                outputs=names, given=("prior",), K=5, V=3)
    with torch.no_grad():
        outputs, finals = call(case)
    expected, states = evaluate(LOOPS[entry], arrays(case.inputs), arrays(case.initial))
    for name, x in outputs.items():
        assert worst(numpy(x), expected[name], "BTH") < 1e-10, name
    for name, x in finals.items():
        if not (entry == "slstm" and name == "m" and not initial):
            assert worst(numpy(x), states[name], "NH") < 1e-10, name


@pytest.mark.parametrize("entry", ENTRIES)
def test_gradients_equal_differences_of_the_equations(entry):
    names = tuple(x.name for x in recurra.ops.__dict__[entry].op.recurrence.outputs)
    case = make(entry, B=2, T=4, H=2, group=2, dtype=torch.float64, outputs=names,
                given=("prior", "scale"), K=3, V=2, D=2, N=3)
    result = run(case, loss="outputs" if entry in ("mlstm", "slstm") else "both")
    weights = {("output", n): numpy(w) for n, w in result.output_weights.items()}
    weights |= {("state", n): numpy(w) for n, w in result.final_weights.items()}
    of_inputs, of_initial = gradients(
        LOOPS[entry], arrays(case.inputs), arrays(case.initial), weights)
    for name, x in result.of_inputs.items():
        assert np.allclose(numpy(x), of_inputs[name], rtol=1e-9, atol=1e-10), name
    for name, x in result.of_initial.items():
        if name not in DETACHED:
            assert np.allclose(numpy(x), of_initial[name], rtol=1e-9, atol=1e-10), name


@pytest.mark.parametrize("entry", ENTRIES)
def test_equals_public_implementation(entry):
    archive = np.load(FIXTURES / f"{entry}.npz")

    def tensors(prefix):
        return {n: torch.from_numpy(x.copy()) for n, x in part(archive, prefix).items()}

    wanted = tensors("output")
    case = Case(entry, tensors("input"), tensors("initial"), outputs=tuple(wanted))
    leaves = {n: x.requires_grad_() for n, x in case.inputs.items()}
    starts = {n: x.requires_grad_() for n, x in case.initial.items()}
    outputs, finals = call(case, leaves, starts)
    for name, x in wanted.items():
        assert worst(numpy(outputs[name]), numpy(x), "BTH") < 1e-10
    for name, x in tensors("state").items():
        assert worst(numpy(finals[name]), numpy(x), "NH") < 1e-10
    pairs = [(outputs[n], w) for n, w in tensors("output_gradient").items()]
    pairs += [(finals[n], w) for n, w in tensors("state_gradient").items()]
    if entry == "mlstm":
        assert not pairs  # its source does not detach the stabiliser
        return
    torch.autograd.backward([x for x, _ in pairs], [w for _, w in pairs])
    for name, x in tensors("gradient").items():
        assert torch.allclose(leaves[name].grad, x, rtol=1e-9, atol=1e-10), name
    for name, x in tensors("initial_gradient").items():
        assert torch.allclose(starts[name].grad, x, rtol=1e-9, atol=1e-10), name
