# Gradients of a loop by complex steps: exact to rounding, one evaluation for
# each element of each argument.
# SPDX-License-Identifier: Apache-2.0
import numpy as np

STEP = 1e-30


def _loss(loop, inputs, initial, cotangents):
    """Sum over outputs and final states of value times cotangent."""
    outputs, finals = loop(inputs, initial)
    total = 0
    for name, weight in cotangents.items():
        kind, name = name
        values = outputs if kind == "output" else finals
        total = total + np.sum(values[name] * weight)
    return total


def gradients(loop, inputs, initial, cotangents):
    """d loss / d every array of `inputs` and `initial`.

    `cotangents`: ("output" or "state", name) to array.
    Returns (gradients of inputs, gradients of initial states).
    """
    inputs = {n: np.array(x, np.complex128, order="C") for n, x in inputs.items()}
    initial = {n: np.array(x, np.complex128, order="C")
               for n, x in (initial or {}).items()}
    results = []
    for group in (inputs, initial):
        found = {}
        for name, value in group.items():
            flat = value.reshape(-1)
            slope = np.zeros(flat.shape)
            for place in range(flat.size):
                kept = flat[place]
                flat[place] = kept + 1j * STEP
                slope[place] = _loss(loop, inputs, initial or None,
                                     cotangents).imag / STEP
                flat[place] = kept
            found[name] = slope.reshape(value.shape)
        results.append(found)
    return tuple(results)


def evaluate(loop, inputs, initial=None):
    """The loop on real arrays, real results."""
    inputs = {n: np.array(x, np.complex128, order="C") for n, x in inputs.items()}
    initial = {n: np.array(x, np.complex128, order="C")
               for n, x in (initial or {}).items()} or None
    outputs, finals = loop(inputs, initial)
    return ({n: np.real(x) for n, x in outputs.items()},
            {n: np.real(x) for n, x in finals.items()})
