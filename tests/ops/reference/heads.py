# What the loops share: heads of groups, one token of every input, defaults.
# SPDX-License-Identifier: Apache-2.0
import numpy as np


def spread(x, heads):
    """[B, T, Hg, ..] to [B, T, H, ..]: value head h reads head h // (H / Hg)."""
    return np.repeat(x, heads // x.shape[2], axis=2)


def start(initial, name, shape, fill=0.0):
    """The given initial state, or `fill` everywhere."""
    if initial and name in initial:
        return initial[name].copy()
    return np.full(shape, fill, dtype=np.complex128)


def scale_of(inputs, q):
    """FLA's default: K^-0.5."""
    return inputs.get("scale", q.shape[-1] ** -0.5)


def stack(rows, like):
    """Tokens to [B, T, ..]; `like` gives the shape when there are none."""
    return np.stack(rows, axis=1) if rows else np.zeros(like, dtype=np.complex128)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def log_sigmoid(x):
    """Stable for real parts of either sign, analytic in the imaginary part."""
    low = np.where(x.real < 0, x, -x)
    return np.where(x.real < 0, x, 0) - np.log1p(np.exp(low))
