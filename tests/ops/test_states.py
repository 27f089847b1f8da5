# States whose tensors a definition declares narrower than float32: results,
# gradients, calls that continue one another, and what torch's tools see.
# SPDX-License-Identifier: Apache-2.0
import pytest
import torch

import recurra as rc
from harness import call, cases, check, leaves, make, with_states_of

forward = torch.ops.recurra.forward


@rc.define
def halves(r):
    K, V = r.axis("K"), r.axis("V")
    q, k = r.token("q", (K,)), r.token("k", (K,))
    v, g = r.token("v", (V,)), r.token("g", (), rc.non_positive)
    prior = r.head("prior", (), rc.positive, default=1)
    r.state("M", (K, V), dtype="bfloat16")
    r.state("J", (K, V), rc.non_negative, dtype=torch.float16)
    r.state("n", (K,))
    r.M = rc.exp(g) * r.M + k * v
    r.J = rc.exp(g) * r.J + rc.square(k) * rc.square(v)
    r.n = rc.exp(g) * r.n + k
    r.output("o", rc.sum(q * r.M / (r.J + prior), K) + rc.sum(q * r.n, K))


OP = rc.compile(halves)
DTYPES = {"M": torch.bfloat16, "J": torch.float16, "n": torch.float32}
WIDE = dict.fromkeys(DTYPES, torch.float64)


def dtypes(tensors):
    return {n: x.dtype for n, x in tensors.items()}


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16, torch.float64))
@pytest.mark.parametrize("shape", ({"T": 40, "K": 9, "V": 12},
                                   {"B": 1, "T": 30, "offsets": [0, 0, 1, 30]}))
def test_values_and_gradients_in_the_dtype_declared(shape, dtype):
    result = check(make(OP, dtype=dtype, **shape))
    wanted = WIDE if dtype == torch.float64 else DTYPES
    assert dtypes(result.finals) == wanted
    assert dtypes(result.of_initial) == wanted
    assert set(dtypes(result.of_inputs).values()) == {dtype}


@pytest.mark.parametrize("entry", cases(
    ("gla", "gated_delta_rule", "gated_delta_product", "mlstm", "slstm", "palimpsa_mu"),
    ("gated_delta_rule", "slstm")))
def test_an_entry_with_narrow_states(entry):
    """Other classes of recurrences, by a word in their text."""
    result = check(make(with_states_of(entry, "bf16"), T=20))
    assert set(dtypes(result.finals).values()) == {torch.bfloat16}


def test_no_tokens_pass_the_state_through():
    case = make(OP, T=0)
    for name, x in call(case)[1].items():
        assert torch.equal(x, case.initial[name])


def test_two_halves_agree_with_the_whole():
    case = make(OP, T=64, K=8, V=8)
    names = [x.name for x in case.recurrence.inputs if x.role == "token"]

    def loss(outputs, finals):
        return (sum(x.square().sum() for x in outputs.values())
                + sum(x.float().sum() for x in finals.values()))

    def gradients(value, inputs, initial):
        return torch.autograd.grad(value, [*inputs.values(), *initial.values()])

    inputs, initial = leaves(case.inputs), leaves(case.initial)
    whole, finals = call(case, inputs, initial)
    expected = gradients(loss(whole, finals), inputs, initial)
    inputs, state = leaves(case.inputs), leaves(case.initial)
    initial, parts = state, []
    for begin in (0, 32):
        half = {n: inputs[n][:, begin:begin + 32] for n in names}
        part, state = call(case, half, state)
        parts.append(part["o"])
        assert dtypes(state) == DTYPES
    assert torch.equal(parts[0], whole["o"][:, :32])
    # Rounding between the halves is that of bfloat16.
    assert torch.allclose(parts[1], whole["o"][:, 32:], rtol=2e-2, atol=2e-2)
    assert not torch.equal(parts[1], whole["o"][:, 32:])
    for name, x in state.items():
        assert torch.allclose(x.float(), finals[name].float(), rtol=2e-2, atol=2e-2)
    found = gradients(loss({"o": torch.cat(parts, 1)}, state), inputs, initial)
    for x, y in zip(found, expected):
        assert x.dtype == y.dtype
        assert (x - y).float().norm() <= 1e-2 * y.float().norm()


def test_float64_everywhere_passes_gradcheck():
    case = make(OP, B=1, T=4, K=3, V=2, dtype=torch.float64)
    inputs, initial = leaves(case.inputs), leaves(case.initial)
    names, states = list(inputs), list(initial)

    def function(*values):
        outputs, finals = call(case, dict(zip(names, values)),
                               dict(zip(states, values[len(names):])))
        return (*outputs.values(), *finals.values())

    assert torch.autograd.gradcheck(function, [*inputs.values(), *initial.values()])


def test_another_dtype_is_converted_by_the_call_and_refused_by_the_op():
    case = make(OP, T=9)
    rough = leaves({n: x.float() for n, x in case.initial.items()})
    a, _ = call(case, initial=rough)
    b, _ = call(case)
    assert torch.equal(a["o"], b["o"])
    a["o"].sum().backward()
    assert dtypes({n: x.grad for n, x in rough.items()}) == dict.fromkeys(
        DTYPES, torch.float32)
    with pytest.raises(ValueError, match=(
            "halves: 'initial_state M' has dtype Float; in this call the state is "
            r"BFloat16; convert it with .to\(\)")):
        forward(OP.text, [*case.inputs.values(), None], list(rough.values()), None,
                ["o"], True, False)


def test_opcheck():
    case = make(OP, T=9)
    inputs, initial = leaves(case.inputs), leaves(case.initial)
    torch.library.opcheck(forward, (
        OP.text, [*inputs.values(), None], list(initial.values()), None, ["o"], True,
        False))
    arguments = (OP.text, [*case.inputs.values(), None], list(case.initial.values()),
                 None)
    o, M, J, n, *checkpoints = forward(*arguments, ["o"], True, True)
    torch.library.opcheck(torch.ops.recurra.backward, (
        *arguments, checkpoints, [torch.randn_like(o)],
        [torch.randn_like(x) for x in (M, J, n)], [True] * 4 + [False] + [True] * 3))


def test_meta_tensors_have_the_dtypes():
    case = make(OP, T=50)
    case.inputs = {n: x.to("meta").requires_grad_() for n, x in case.inputs.items()}
    case.initial = {n: x.to("meta").requires_grad_() for n, x in case.initial.items()}
    outputs, finals = call(case)
    assert dtypes(finals) == DTYPES
    (outputs["o"].sum() + sum(x.float().sum() for x in finals.values())).backward()
    assert dtypes({n: x.grad for n, x in case.initial.items()}) == DTYPES


def test_compiled_graphs_equal_eager():
    case = make(OP, T=21)
    inputs, initial = leaves(case.inputs), leaves(case.initial)

    def function(inputs, initial):
        o, finals = OP(**inputs, initial_state=tuple(initial.values()),
                       output_final_state=True)
        return o.square().sum() + sum(x.float().sum() for x in finals)

    def gradients(call):
        return torch.autograd.grad(call(inputs, initial),
                                   [*inputs.values(), *initial.values()])

    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    for x, y in zip(gradients(compiled), gradients(function)):
        assert x.dtype == y.dtype and torch.equal(x, y)


def test_the_dtype_is_said_where_it_differs():
    assert "(M [N, H, K, V] bfloat16, J [N, H, K, V] float16, n [N, H, K])" in OP.__doc__
    assert "float16" not in rc.ops.palimpsa.__doc__
    text = OP.inspect("rec", initial_state=True, output_final_state=True)
    assert text.count('rec.dtype = "bf16"') == 2 and text.count('rec.dtype = "f16"') == 2
    assert OP.recurrence.states[0].dtype == "bfloat16"


def test_warmup_compiles_what_a_call_runs():
    sizes = {"K": 5, "V": 7}
    OP.warmup(initial_state=True, output_final_state=True, **sizes)
    before = rc.counters()["compilations"]
    check(make(OP, **sizes))
    assert rc.counters()["compilations"] == before
