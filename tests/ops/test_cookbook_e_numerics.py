# Behaviours that broke the peers, by their cookbook number: gates and numerics,
# tails, empty and packed sequences (E2 to E24).
# SPDX-License-Identifier: Apache-2.0
import pytest
import torch

import recurra
from harness import (ENTRIES, call, cases, check, check_palimpsa, make, run,
                     same_state)
from measure import worst

GATED = ("simple_gla", "gla", "palimpsa", "gated_delta_rule", "hgrn")


def steep(entry, T, place, value=-50.0, **options):
    """Gates of 0 but for one step."""
    case = make(entry, T=T, **options)
    g = torch.zeros_like(case.inputs["g"])
    g[:, place] = value
    return case.with_inputs(g=g)


def finite(result):
    for part in (result.outputs, result.finals, result.of_inputs, result.of_initial):
        for name, x in part.items():
            assert torch.isfinite(x).all(), name


@pytest.mark.parametrize("place", cases(range(70), (0, 1, 15, 16, 63, 64, 69)))
@pytest.mark.parametrize("entry", cases(GATED, ("gla", "palimpsa")))
def test_e02_one_very_negative_step_anywhere(entry, place):
    check(steep(entry, 70, place))


@pytest.mark.parametrize("entry", GATED)
def test_e03_decays_beyond_the_range_of_fp32(entry):
    case = make(entry, T=130)
    g = torch.where(torch.arange(130) % 3 == 0, -88.0, -20.0)
    shape = [1, 130] + [1] * (case.inputs["g"].dim() - 2)
    finite(check(case.with_inputs(g=g.view(shape).expand_as(case.inputs["g"]))))


@pytest.mark.parametrize("entry", ("gla", "simple_gla"))
def test_e05_every_way_to_call_agrees_in_bf16(entry):
    """Training, inference and token by token are one signature and one result."""
    case = make(entry, T=40, K=16, V=8, dtype=torch.bfloat16)
    trained = check(case)
    with torch.no_grad():
        outputs, finals = call(case)
    assert torch.equal(outputs["o"], trained.outputs["o"])
    assert torch.equal(finals["S"], trained.finals["S"])
    state, rows = case.initial, []
    with torch.no_grad():
        for t in range(40):
            step = case.with_inputs(**{n: x[:, t:t + 1] for n, x in case.inputs.items()})
            step.initial = state
            one, state = call(step)
            rows.append(one["o"])
    assert torch.equal(torch.cat(rows, 1), trained.outputs["o"])
    assert torch.equal(state["S"], trained.finals["S"])


@pytest.mark.parametrize("T", (1, 63, 65, 100, 255, 257))
def test_e06_lengths_that_are_no_multiple_of_a_chunk(T):
    finite(check(make("mamba1", B=1, T=T, D=6, N=5)))


@pytest.mark.parametrize("entry", ("gla", "palimpsa", "gated_delta_rule"))
def test_e08_saturated_gates_have_zero_gradients(entry):
    case = make(entry, T=20)
    g = case.inputs["g"].clone()
    g[:, 5] = -3e38
    result = check(case.with_inputs(g=g))
    finite(result)
    assert (result.of_inputs["g"][:, 5] == 0).all()


def test_e08_saturated_decay_of_a_parameter():
    case = make("mamba1", T=20)
    a = case.inputs["A"].clone()
    a[0] = -1e30
    result = run(case.with_inputs(A=a))
    finite(result)
    assert (result.of_inputs["A"][0] == 0).all()


@pytest.mark.parametrize("entry", GATED)
def test_e09_hard_resets_forget_exactly(entry):
    case = make(entry, T=40)
    g = case.inputs["g"].clone()
    g[:, 17] = -1000
    result = check(case.with_inputs(g=g))
    # Nothing before the reset reaches what comes after it.
    other = make(entry, T=40, seed=1)
    mixed = {n: torch.cat([other.inputs[n][:, :17], x[:, 17:]], 1)
             for n, x in {**case.inputs, "g": g}.items()}
    changed = run(case.with_inputs(**mixed))
    for name, x in result.outputs.items():
        assert torch.equal(x[:, 17:], changed.outputs[name][:, 17:])
    for name, x in run(case.with_inputs(g=g), loss="states").of_initial.items():
        assert (x == 0).all(), name
    infinite = g.clone()
    infinite[:, 17] = -torch.inf
    same = run(case.with_inputs(g=infinite))
    for name, x in result.outputs.items():
        assert torch.equal(x, same.outputs[name])
    for name, x in result.of_inputs.items():
        assert torch.equal(x, same.of_inputs[name]), name


def test_e10_no_decay_equals_no_gate():
    gated = make("simple_gla", T=70)
    gated = gated.with_inputs(g=torch.zeros_like(gated.inputs["g"]))
    plain = make("linear_attention", T=70)
    plain.inputs = {n: gated.inputs[n] for n in ("q", "k", "v")}
    plain.initial = gated.initial
    a, b = check(gated), check(plain)
    assert torch.equal(a.outputs["o"], b.outputs["o"])
    for name in ("q", "k", "v"):
        assert worst(a.of_inputs[name], b.of_inputs[name], "BTH") < 1e-6


@pytest.mark.parametrize("entry", cases(ENTRIES, ("simple_gla", "palimpsa", "mlstm")))
def test_e12_state_gradients_accumulate_in_fp32(entry):
    case = make(entry, B=1, T=64, K=16, V=16, dtype=torch.bfloat16)
    result = check(case)
    truth = make(entry, B=1, T=64, K=16, V=16, dtype=torch.bfloat16)
    truth.inputs = {n: x.float() for n, x in case.inputs.items()}
    wide = run(truth, loss="states")
    narrow = run(case, loss="states")
    for name, x in narrow.of_initial.items():
        assert x.dtype == torch.float32
        assert worst(x, wide.of_initial[name], "NH") < 1e-4
    assert result.of_initial.keys() == case.initial.keys()


@pytest.mark.parametrize("gate", (0.0, -1e-6, -1.0, -40.0, -1000.0))
@pytest.mark.parametrize("entry", ("palimpsa", "palimpsa_mu"))
def test_e13_palimpsa_scale_gates_and_prior(entry, gate):
    case = make(entry, T=40, outputs=("o", "o_var"), given=("prior",))
    case.inputs["scale"] = torch.tensor(0.1)
    case.inputs["g"] = torch.full_like(case.inputs["g"], gate)
    finite(check_palimpsa(case))
    # The scale enters the uncertainty once.
    doubled = run(case.with_inputs(scale=torch.tensor(0.2)))
    once = run(case)
    assert worst(doubled.outputs["o_var"], 2 * once.outputs["o_var"], "BTH") < 1e-6
    # Without evidence the precision is the prior, never 0 / 0.
    empty = case.with_inputs(beta=torch.zeros_like(case.inputs["beta"]))
    empty.initial = {}
    finite(check(empty))


@pytest.mark.parametrize("T", cases(
    (1, 2, 15, 16, 17, 63, 64, 65, 127, 129), (1, 2, 17, 63, 65, 129)))
@pytest.mark.parametrize("entry", cases(ENTRIES, ("gla", "gated_delta_rule")))
def test_e14_tails_keep_their_gate_gradients(entry, T):
    check(make(entry, T=T))


@pytest.mark.parametrize("entry", ENTRIES)
def test_e16_halves_through_the_state_equal_the_whole(entry):
    case = make(entry, B=1, T=128, dtype=torch.bfloat16)
    if entry == "slstm":
        # Its stabiliser is no value of the model; it passes like a state.
        case.inputs = {n: x.float() for n, x in case.inputs.items()}
    with torch.no_grad():
        whole, final = call(case)
        state, parts = case.initial, []
        for begin in (0, 64):
            half = case.with_inputs(**{
                x.name: case.inputs[x.name][:, begin:begin + 64]
                for x in case.recurrence.inputs if x.role == "token"})
            half.initial = state
            part, state = call(half)
            parts.append(part)
    for name, x in whole.items():
        assert torch.equal(x, torch.cat([p[name] for p in parts], 1)), name
    for name, x in final.items():
        assert same_state(case, name, x, state[name]), name


@pytest.mark.parametrize("T", (1, 2, 3, 15, 17, 33))
@pytest.mark.parametrize("entry", ("gated_delta_rule", "gated_delta_product"))
def test_e17_short_tails_of_the_delta_family(entry, T):
    check(make(entry, T=T))


@pytest.mark.parametrize("offsets", ([0, 0, 16], [0, 16, 16], [0, 0, 0], [0, 1, 3, 4]))
@pytest.mark.parametrize("entry", cases(ENTRIES, ("simple_gla", "palimpsa_mu", "mlstm")))
def test_e19_empty_sequences_return_their_state(entry, offsets):
    case = make(entry, B=1, T=offsets[-1], offsets=offsets)
    result = check(case)
    for n in range(len(offsets) - 1):
        if offsets[n] == offsets[n + 1]:
            for name, x in result.finals.items():
                assert same_state(case, name, x[n], case.initial[name][n]), name
    # Without an initial state the prior stands: palimpsa_mu starts at I = 1.
    case.initial = {}
    with torch.no_grad():
        _, finals = call(case)
    if entry == "palimpsa_mu" and offsets[0] == offsets[1]:
        assert (finals["I"][0] == 1).all()
        assert (finals["mu"][0] == 0).all()


def test_e20_masked_steps_are_the_identity():
    case = make("palimpsa", B=1, T=30)
    keep = torch.arange(30) % 3 != 1
    padded = {n: x.clone() for n, x in case.inputs.items()}
    for name in ("g", "v", "beta"):
        padded[name][:, ~keep] = 0
    short = {n: x[:, keep] for n, x in case.inputs.items()}
    with torch.no_grad():
        a, final_a = call(case.with_inputs(**padded))
        b, final_b = call(case.with_inputs(**short))
    assert torch.equal(a["o"][:, keep], b["o"])
    for name, x in final_a.items():
        assert torch.equal(x, final_b[name])


def test_e20_explicit_offsets_win():
    case = make("simple_gla", B=1, T=12, offsets=[0, 5, 12])
    with torch.no_grad():
        packed, _ = call(case)
        alone = case.with_inputs(**{n: x[:, 5:] for n, x in case.inputs.items()})
        alone.offsets = None
        alone.initial = {"S": case.initial["S"][1:]}
        second, _ = call(alone)
    assert torch.equal(packed["o"][:, 5:], second["o"])


def test_e21_state_layout_is_k_by_v():
    """One token, by hand: S[k, v] = k v, so a transpose cannot hide."""
    k = torch.tensor([1.0, 2.0, 3.0]).view(1, 1, 1, 3)
    v = torch.tensor([10.0, 20.0]).view(1, 1, 1, 2)
    q = torch.tensor([0.0, 1.0, 0.0]).view(1, 1, 1, 3)
    o, state = recurra.ops.simple_gla(
        q, k, v, torch.zeros(1, 1, 1), scale=1.0, output_final_state=True)
    assert state.shape == (1, 1, 3, 2)
    assert torch.equal(state[0, 0], torch.tensor([[10.0, 20], [20, 40], [30, 60]]))
    assert torch.equal(o.flatten(), torch.tensor([20.0, 40.0]))


@pytest.mark.parametrize("entry", ENTRIES)
def test_e23_no_initial_state(entry):
    case = make(entry, T=21, initial=False)
    result = check(case, loss="states")
    assert not result.of_initial
    assert any((x != 0).any() for x in result.of_inputs.values())
    with torch.no_grad():
        *_, final = case.op(**case.inputs)
    assert final is None


@pytest.mark.parametrize("entry", ("mlstm", "slstm", "palimpsa"))
def test_e24_any_length_any_state_tuple(entry):
    for offsets in ([0, 7], [0, 1, 30, 33]):
        case = make(entry, B=1, T=offsets[-1], offsets=offsets)
        result = check(case)
        assert list(result.finals) == [x.name for x in case.recurrence.states]
