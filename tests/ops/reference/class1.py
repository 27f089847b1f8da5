# Decay-linear states with a linear readout: linear attention (2006.16236),
# simple GLA (Mamba-2's core, 2405.21060), GLA (2312.06635), HGRN (2311.04823).
# SPDX-License-Identifier: Apache-2.0
import numpy as np

from .heads import scale_of, spread, stack, start


def _gated(inputs, initial, decay_of):
    """S = D(a) S + k v^T; o = scale * S' q, the readout after the update."""
    v = inputs["v"]
    batch, tokens, heads, width = v.shape
    q, k = spread(inputs["q"], heads), spread(inputs["k"], heads)
    scale = scale_of(inputs, q)
    state = start(initial, "S", (batch, heads, k.shape[-1], width))
    rows = []
    for t in range(tokens):
        state = decay_of(t) * state + np.einsum("bhk,bhv->bhkv", k[:, t], v[:, t])
        rows.append(np.einsum("bhkv,bhk->bhv", state, q[:, t]) * scale)
    return {"o": stack(rows, v.shape)}, {"S": state}


def linear_attention(inputs, initial=None):
    return _gated(inputs, initial, lambda t: 1.0)


def simple_gla(inputs, initial=None):
    g = inputs["g"]
    return _gated(inputs, initial, lambda t: np.exp(g[:, t])[..., None, None])


def gla(inputs, initial=None):
    g = inputs["g"]
    return _gated(inputs, initial, lambda t: np.exp(g[:, t])[..., None])


def hgrn(inputs, initial=None):
    """h = exp(g) h + x; o = h."""
    x, g = inputs["x"], inputs["g"]
    batch, tokens, heads, width = x.shape
    h = start(initial, "h", (batch, heads, width))
    rows = []
    for t in range(tokens):
        h = np.exp(g[:, t]) * h + x[:, t]
        rows.append(h)
    return {"o": stack(rows, x.shape)}, {"h": h}
