# The NumPy loops against values of public implementations, and against each
# other: they judge the ops, so somebody must judge them.
# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import numpy as np
import pytest

from measure import worst
from reference import LOOPS
from reference.differences import evaluate, gradients

FIXTURES = Path(__file__).parent / "fixtures"


def part(archive, prefix):
    return {name[len(prefix) + 1:]: archive[name] for name in archive
            if name.startswith(prefix + ".")}


@pytest.mark.parametrize("name", sorted(LOOPS))
def test_loop_equals_public_implementation(name):
    archive = np.load(FIXTURES / f"{name}.npz")
    outputs, states = evaluate(
        LOOPS[name], part(archive, "input"), part(archive, "initial"))
    for output, value in part(archive, "output").items():
        assert worst(outputs[output], value, "BTH") < 1e-12
    for state, value in part(archive, "state").items():
        assert worst(states[state], value, "NH") < 1e-12


@pytest.mark.parametrize("name", sorted(set(LOOPS) - {"mlstm"}))
def test_differences_equal_public_gradients(name):
    archive = np.load(FIXTURES / f"{name}.npz")
    cotangents = {("output", n): x
                  for n, x in part(archive, "output_gradient").items()}
    cotangents |= {("state", n): x
                   for n, x in part(archive, "state_gradient").items()}
    of_inputs, of_states = gradients(
        LOOPS[name], part(archive, "input"), part(archive, "initial"), cotangents)
    for found, prefix in ((of_inputs, "gradient"), (of_states, "initial_gradient")):
        wanted = part(archive, prefix)
        assert prefix == "initial_gradient" or wanted
        for key, value in wanted.items():
            assert np.allclose(found[key], value, rtol=1e-10, atol=1e-11), key
