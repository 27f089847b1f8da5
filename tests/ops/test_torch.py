# The two torch ops as torch sees them: registration, shapes without values,
# derivatives, and what a module may do with them.
# SPDX-License-Identifier: Apache-2.0
import copy
import pickle

import pytest
import torch

import recurra
from harness import ENTRIES, call, cases, leaves, make, run

forward = torch.ops.recurra.forward


def raw(case, final=True):
    """The arguments of recurra::forward."""
    recurrence = case.recurrence
    inputs = [case.inputs.get(x.name) for x in recurrence.inputs]
    states = [case.initial[x.name] for x in recurrence.states] if case.initial else []
    return (case.op.text, inputs, states, case.offsets, list(case.wanted()), final,
            False)


@pytest.mark.parametrize("entry", cases(ENTRIES, ("palimpsa", "mlstm")))
@pytest.mark.parametrize("packed", (False, True))
def test_opcheck(entry, packed):
    case = make(entry, B=1 if packed else 2, T=9, H=2, group=2,
                offsets=[0, 4, 9] if packed else None)
    case.inputs, case.initial = leaves(case.inputs), leaves(case.initial)
    torch.library.opcheck(forward, raw(case))
    torch.library.opcheck(forward, raw(case, final=False))


def test_opcheck_of_backward():
    case = make("palimpsa", T=9)
    arguments = raw(case)
    *results, m, j = forward(*arguments[:-1], True)
    weights = [torch.randn_like(x) for x in results]
    torch.library.opcheck(torch.ops.recurra.backward, (
        *arguments[:4], [m, j], [weights[0], None], weights[1:],
        [True] * 5 + [False] * 2 + [True] * 2))


@pytest.mark.parametrize("entry", ENTRIES)
def test_gradcheck(entry):
    case = make(entry, B=1, T=4, H=2, group=2, dtype=torch.float64, K=3, V=2, D=2,
                N=2, given=("prior", "scale"))
    inputs, initial = leaves(case.inputs), leaves(case.initial)
    names, states = list(inputs), list(initial)

    def function(*values):
        outputs, finals = call(case, dict(zip(names, values)),
                               dict(zip(states, values[len(names):])))
        # The stabilisers are detached: their own value has no difference.
        free = [x for n, x in finals.items() if n != "m"]
        return (*outputs.values(), *(free if "m" not in finals else ()))

    values = list(inputs.values()) + list(initial.values())
    if "m" in initial:
        # Moving m alone is a change that a detached m does not follow.
        initial["m"].requires_grad_(False)
    assert torch.autograd.gradcheck(function, values)


def test_meta_tensors_compile_nothing():
    case = make("gla", B=3, T=50, H=4, K=6, V=10)
    case.inputs = {n: x.to("meta").requires_grad_() for n, x in case.inputs.items()}
    case.initial = {n: x.to("meta").requires_grad_() for n, x in case.initial.items()}
    before = recurra.counters()["compilations"]
    outputs, finals = call(case)
    assert outputs["o"].shape == (3, 50, 4, 10)
    assert finals["S"].shape == (3, 4, 6, 10)
    outputs["o"].sum().backward()
    assert case.inputs["g"].grad.shape == (3, 50, 4, 6)
    assert recurra.counters()["compilations"] == before


def test_shapes_stay_symbolic_in_tokens_and_batch():
    from torch.fx.experimental.proxy_tensor import make_fx

    case = make("simple_gla", B=2, T=33, K=4, V=6, initial=False)
    inputs = list(case.inputs.values())

    def function(q, k, v, g):
        return recurra.ops.simple_gla(q, k, v, g)[0]

    graph = make_fx(function, tracing_mode="symbolic")(*inputs)
    longer = make("simple_gla", B=3, T=50, K=4, V=6, initial=False)
    assert torch.equal(graph(*longer.inputs.values()), function(*longer.inputs.values()))


def test_compiled_graphs_equal_eager():
    case = make("palimpsa", T=21)
    inputs = {n: x.requires_grad_() for n, x in case.inputs.items()}

    def function(**named):
        return recurra.ops.palimpsa(**named)[0].square().sum()

    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    expected = torch.autograd.grad(function(**inputs), list(inputs.values()))
    found = torch.autograd.grad(compiled(**inputs), list(inputs.values()))
    for x, y in zip(found, expected):
        assert torch.equal(x, y)


@pytest.mark.parametrize("entry", ("palimpsa", "mamba1"))
def test_gradients_for_those_that_ask(entry):
    case = make(entry, T=17)
    everything = run(case)
    for name in case.inputs:
        result = run(case, asking={name})
        assert list(result.of_inputs) == [name]
        assert not result.of_initial
        assert torch.allclose(result.of_inputs[name], everything.of_inputs[name],
                              rtol=1e-5, atol=1e-6)


def test_no_grad_saves_nothing():
    case = make("palimpsa", T=17)
    inputs = leaves(case.inputs)
    with torch.no_grad():
        outputs, _ = call(case, inputs)
    assert outputs["o"].grad_fn is None
    with torch.inference_mode():
        outputs, _ = call(case, inputs)
    assert outputs["o"].grad_fn is None
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: saved.append(x) or x,
                                                  lambda x: x):
        call(case)
        assert not saved
        call(case, inputs)
        assert saved


def test_saved_tensors_may_come_back_with_gaps():
    case = make("palimpsa", T=130)
    inputs = leaves(case.inputs)

    def spread(x):
        wide = torch.full((*x.shape, 2), torch.nan).to(x.dtype)
        wide[..., 0] = x.detach()
        return wide

    def gradients():
        outputs, _ = call(case, inputs)
        return torch.autograd.grad(outputs["o"].sum(), list(inputs.values()))

    expected = gradients()
    with torch.autograd.graph.saved_tensors_hooks(spread, lambda wide: wide[..., 0]):
        found = gradients()
    assert all(torch.equal(a, b) for a, b in zip(expected, found))


def test_second_derivative_is_refused_clearly():
    case = make("simple_gla", T=8)
    inputs = leaves(case.inputs)
    outputs, _ = call(case, inputs)
    (slope,) = torch.autograd.grad(outputs["o"].sum(), inputs["q"], create_graph=True)
    with pytest.raises(NotImplementedError, match="simple_gla: the second derivative"):
        slope.sum().backward()


def test_inputs_changed_in_place_are_noticed():
    case = make("simple_gla", T=8)
    inputs = leaves(case.inputs)
    scaled = {n: x * 1 for n, x in inputs.items()}
    outputs, _ = call(case, scaled)
    scaled["k"].mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        outputs["o"].sum().backward()


class Mixer(torch.nn.Module):
    """A linear layer in front of an op, held as an attribute."""

    def __init__(self, op):
        super().__init__()
        self.op = op
        self.project = torch.nn.Linear(8, 3 * 8)

    def forward(self, x):
        q, k, v = self.project(x).unflatten(-1, (3, 1, 8)).unbind(-3)
        return self.op(q, k, v, torch.zeros(q.shape[:-1]))[0]


def test_modules_can_be_copied_and_pickled():
    x = torch.randn(2, 9, 8)
    for op in (recurra.ops.simple_gla, recurra.compile(recurra.ops.simple_gla.text)):
        mixer = Mixer(op)
        twin = copy.deepcopy(mixer)
        assert torch.equal(mixer(x), twin(x))
        twin(x).sum().backward()
        assert mixer.project.weight.grad is None
        again = pickle.loads(pickle.dumps(mixer))
        assert torch.equal(mixer(x), again(x))


def test_autocast_leaves_the_op_to_its_inputs():
    x = torch.randn(2, 9, 8)
    mixer = Mixer(recurra.ops.simple_gla)
    with torch.autocast("cpu", torch.bfloat16):
        y = mixer(x)
    assert y.dtype == torch.bfloat16
    y.sum().backward()
    assert mixer.project.weight.grad.dtype == torch.float32
