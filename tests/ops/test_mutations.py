# The comparison itself must fail when an op is wrong: every mutation of its
# results, and of its gradients, has to be noticed.
# SPDX-License-Identifier: Apache-2.0
import copy

import pytest
import torch

import recurra
from harness import check, errors, make, run


@pytest.fixture(scope="module")
def correct():
    case = make("palimpsa", T=40, H=3)
    return case, run(case)


def drop_gate_gradient(result):
    result.of_inputs["g"] = torch.zeros_like(result.of_inputs["g"])


def halve_gate_gradient(result):
    result.of_inputs["g"] = result.of_inputs["g"] / 2


def zero_one_head(result):
    result.outputs["o"] = result.outputs["o"].clone()
    result.outputs["o"][:, :, 1] = 0


def shift_one_token(result):
    result.outputs["o"] = result.outputs["o"].roll(1, dims=1)


def shift_a_gradient(result):
    result.of_inputs["k"] = result.of_inputs["k"].roll(-1, dims=1)


def swap_states(result):
    result.finals["M"], result.finals["J"] = result.finals["J"], result.finals["M"]


def lose_one_token(result):
    result.of_inputs["v"] = result.of_inputs["v"].clone()
    result.of_inputs["v"][0, 39] = 0


def forget_initial_gradient(result):
    result.of_initial["J"] = torch.zeros_like(result.of_initial["J"])


@pytest.mark.parametrize("mutate", (
    drop_gate_gradient, halve_gate_gradient, zero_one_head, shift_one_token,
    shift_a_gradient, swap_states, lose_one_token, forget_initial_gradient))
def test_mutation_is_noticed(correct, mutate):
    case, result = correct
    assert max(errors(case, result).values()) <= 1
    wrong = copy.copy(result)
    for part in ("outputs", "finals", "of_inputs", "of_initial"):
        setattr(wrong, part, dict(getattr(result, part)))
    mutate(wrong)
    assert max(errors(case, wrong).values()) > 100


@pytest.mark.parametrize("before,after,named", (
    ("exp(g)", "detach(exp(g))", "dg"),
    ("k * v", "k * v * 1.001", "final S"),
    ("scale * sum", "2 * sum", "o ")))
def test_check_fails_on_a_wrong_definition(before, after, named):
    truth = recurra.ops.simple_gla.text
    assert before in truth
    case = make(recurra.compile(truth.replace(before, after)), T=30)
    case.truth = truth
    with pytest.raises(AssertionError, match=f"error over its bound: .*{named}"):
        check(case)
