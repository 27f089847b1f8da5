# The delta family: Gated DeltaNet (2412.06464) and Gated DeltaProduct
# (2502.10297). The decay comes before the erase.
# SPDX-License-Identifier: Apache-2.0
import numpy as np

from .heads import scale_of, spread, stack, start


def _erase_and_write(state, k, v, beta):
    """S + k (beta (v - S' k))^T, one Householder-like step."""
    error = v - np.einsum("bhkv,bhk->bhv", state, k)
    return state + np.einsum("bhk,bhv->bhkv", k, beta[..., None] * error)


def gated_delta_rule(inputs, initial=None):
    v, g, beta = inputs["v"], inputs["g"], inputs["beta"]
    batch, tokens, heads, width = v.shape
    q, k = spread(inputs["q"], heads), spread(inputs["k"], heads)
    scale = scale_of(inputs, q)
    state = start(initial, "S", (batch, heads, k.shape[-1], width))
    rows = []
    for t in range(tokens):
        state = np.exp(g[:, t])[..., None, None] * state
        state = _erase_and_write(state, k[:, t], v[:, t], beta[:, t])
        rows.append(np.einsum("bhkv,bhk->bhv", state, q[:, t]) * scale)
    return {"o": stack(rows, v.shape)}, {"S": state}


def gated_delta_product(inputs, initial=None):
    """One decay per token, then R steps; k [.., R, K], v [.., R, V], beta [.., R]."""
    v, g, beta = inputs["v"], inputs["g"], inputs["beta"]
    batch, tokens, heads, steps, width = v.shape
    q, k = spread(inputs["q"], heads), spread(inputs["k"], heads)
    scale = scale_of(inputs, q)
    state = start(initial, "S", (batch, heads, k.shape[-1], width))
    rows = []
    for t in range(tokens):
        state = np.exp(g[:, t])[..., None, None] * state
        for j in range(steps):
            state = _erase_and_write(
                state, k[:, t, :, j], v[:, t, :, j], beta[:, t, :, j])
        rows.append(np.einsum("bhkv,bhk->bhv", state, q[:, t]) * scale)
    like = (batch, tokens, heads, width)
    return {"o": stack(rows, like)}, {"S": state}
