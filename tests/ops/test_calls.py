# The calling convention: signatures, defaults, results, groups, and errors that
# name the tensor, the rule and the remedy.
# SPDX-License-Identifier: Apache-2.0
import inspect

import pytest
import torch

import recurra
from harness import ENTRIES, call, cases, check, make, run, same_state


def test_signature_of_palimpsa():
    assert str(inspect.signature(recurra.ops.palimpsa)) == (
        "(q, k, v, g, beta, prior=None, scale=None, initial_state=None, "
        "output_final_state=False, cu_seqlens=None, outputs=('o',))")


@pytest.mark.parametrize("entry", ENTRIES)
def test_documentation_says_shapes_and_source(entry):
    text = getattr(recurra.ops, entry).__doc__
    recurrence = getattr(recurra.ops, entry).op.recurrence
    for item in (*recurrence.inputs, *recurrence.states, *recurrence.outputs):
        assert item.name in text and item.shape in text
    assert "initial_state" in text and "cu_seqlens" in text
    assert recurrence.source in text and ".cpp:" in recurrence.source


def test_results_in_the_order_asked_for():
    case = make("palimpsa", T=5)
    with torch.no_grad():
        o, none = recurra.ops.palimpsa(**case.inputs)
        assert none is None
        var, same, final = recurra.ops.palimpsa(
            **case.inputs, outputs=("o_var", "o"), output_final_state=True)
    assert torch.equal(o, same)
    assert not torch.equal(var, o)
    assert isinstance(final, tuple) and len(final) == 2
    with torch.no_grad():
        _, final = recurra.ops.simple_gla(
            *(case.inputs[n] for n in "qkvg"), output_final_state=True)
    assert isinstance(final, torch.Tensor)
    assert final.dtype == torch.float32


def test_defaults_are_the_documented_values():
    case = make("palimpsa", T=12, K=16)
    with torch.no_grad():
        a, _ = recurra.ops.palimpsa(**case.inputs)
        b, _ = recurra.ops.palimpsa(**case.inputs, prior=torch.ones(2), scale=0.25)
        c, _ = recurra.ops.palimpsa(**case.inputs, scale=torch.tensor(0.25))
        d, _ = recurra.ops.palimpsa(**case.inputs, scale=0.5)
    assert torch.equal(a, b) and torch.equal(a, c)
    assert torch.allclose(d, 2 * a)


@pytest.mark.parametrize("entry", cases(
    ("palimpsa", "palimpsa_mu", "linear_attention", "simple_gla", "gla",
     "gated_delta_rule", "gated_delta_product", "mlstm"),
    ("palimpsa", "gated_delta_rule")))
def test_grouped_value_heads(entry):
    """Value head h reads head h // group of q and k; their gradients add up."""
    case = make(entry, T=19, H=6, group=3)
    result = check(case)
    spread = case.with_inputs(**{
        n: case.inputs[n].repeat_interleave(3, dim=2) for n in ("q", "k")})
    whole = run(spread)
    for name, x in result.outputs.items():
        assert torch.equal(x, whole.outputs[name])
    for name in ("q", "k"):
        folded = whole.of_inputs[name].unflatten(2, (2, 3)).sum(3)
        assert torch.allclose(result.of_inputs[name], folded, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("entry", ENTRIES)
def test_no_tokens(entry):
    case = make(entry, B=2, T=0)
    result = check(case)
    for name, x in result.finals.items():
        assert same_state(case, name, x, case.initial[name])
        assert torch.allclose(result.of_initial[name], result.final_weights[name],
                              rtol=1e-6, atol=1e-6)
    for name, x in result.of_inputs.items():
        assert not x.any(), name


@pytest.mark.parametrize("dtype", (torch.float64, torch.float32, torch.bfloat16,
                                   torch.float16))
@pytest.mark.parametrize("entry", cases(ENTRIES, ("palimpsa", "gated_delta_rule", "slstm")))
def test_dtypes(entry, dtype):
    case = make(entry, T=40, K=8, V=6, dtype=dtype)
    result = check(case)
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    for x in result.outputs.values():
        assert x.dtype == dtype
    for x in (*result.finals.values(), *result.of_initial.values()):
        assert x.dtype == wide
    for x in result.of_inputs.values():
        assert x.dtype == dtype


def test_initial_state_of_another_dtype_is_converted():
    case = make("simple_gla", T=9)
    rough = case.initial["S"].bfloat16().requires_grad_()
    o, _ = recurra.ops.simple_gla(**case.inputs, initial_state=rough)
    o.sum().backward()
    assert rough.grad.dtype == torch.bfloat16


def test_one_state_of_a_tuple_may_be_missing():
    case = make("palimpsa", T=9)
    with torch.no_grad():
        a, _ = recurra.ops.palimpsa(**case.inputs,
                                    initial_state=(case.initial["M"], None))
        b, _ = recurra.ops.palimpsa(
            **case.inputs,
            initial_state=(case.initial["M"], torch.zeros_like(case.initial["J"])))
    assert torch.equal(a, b)


@pytest.mark.parametrize("kind", (torch.int32, torch.int64))
def test_offsets_of_either_width(kind):
    case = make("simple_gla", B=1, T=12, offsets=[0, 5, 12])
    with torch.no_grad():
        a, _ = call(case)
        case.offsets = case.offsets.to(kind)
        b, _ = call(case)
    assert torch.equal(a["o"], b["o"])


def bad(change=None, match="", error=ValueError, **options):
    """A mistaken call of palimpsa: `change` edits the inputs by name."""
    return pytest.param(change or {}, options, error, match)


@pytest.mark.parametrize("change,options,error,match", (
    bad({"k": lambda x: x[..., :3]}, "'k' has shape .* K = 3; 'q' says K = 4; give 'k'"),
    bad({"v": lambda x: x[0]}, "'v' has shape .* must have 4 dimensions, .B, T, H, V"),
    bad({"g": lambda x: None}, "'g' is missing; it has no default; pass a tensor"),
    bad({"beta": lambda x: x.long()}, "'beta' has dtype Long; .* convert it"),
    bad({"q": lambda x: "q"}, "'q' is a str; it must be a tensor", TypeError),
    bad({"q": lambda x: x[:, :, :1].repeat(1, 1, 4, 1),
         "k": lambda x: x[:, :, :1].repeat(1, 1, 4, 1)},
        "'q' has 4 heads and 'v' has 6; the value heads must be a multiple"),
    bad({"g": lambda x: x[:, :5]}, "'g' has shape .* T = 5; 'q' says T = 9"),
    bad(match="no output 'x'; the outputs are o, o_var", outputs=("x",)),
    bad(match="'o' is asked for twice", outputs=("o", "o")),
    bad(match="initial_state holds 1 tensors; the states are .M, J.",
        initial_state=torch.zeros(2, 6, 4, 4)),
    bad(match="'initial_state M' has shape .* V = 5; .* says V = 4",
        initial_state=(torch.zeros(2, 6, 4, 5), None)),
    bad(match="batch of 2; with cu_seqlens all sequences lie in one row",
        cu_seqlens=torch.tensor([0, 9])),
    bad({n: lambda x: x[:1] for n in ("q", "k", "v", "g", "beta")},
        "'cu_seqlens' runs from 0 to 8; it must run from 0 to T = 9",
        cu_seqlens=torch.tensor([0, 8])),
    bad({n: lambda x: x[:1] for n in ("q", "k", "v", "g", "beta")},
        "'cu_seqlens' falls from 5 to 4", cu_seqlens=torch.tensor([0, 5, 4, 9])),
    bad({n: lambda x: x[:1] for n in ("q", "k", "v", "g", "beta")},
        "'cu_seqlens' is Float .* int32 or int64",
        cu_seqlens=torch.tensor([0.0, 9.0])),
    bad(match="unexpected keyword argument 'head_first'", error=TypeError,
        head_first=True),
))
def test_mistakes_name_tensor_rule_and_remedy(change, options, error, match):
    case = make("palimpsa", T=9, H=6)
    inputs = {n: change.get(n, lambda x: x)(x) for n, x in case.inputs.items()}
    with pytest.raises(error, match=match):
        recurra.ops.palimpsa(**inputs, **options)


def test_a_size_that_the_definition_fixes_is_kept():
    case = make("gated_delta_product", T=5)
    long = {n: torch.cat((x, x[..., :1]), -1) if n == "beta" else x
            for n, x in case.inputs.items()}
    with pytest.raises(ValueError, match=(
            "'beta' has shape .* R = 3; 'the definition of gated_delta_product' "
            "says R = 2; give 'beta'|'k' has shape .* R = 2; 'beta' says R = 3")):
        recurra.ops.gated_delta_product(**long)
