# Elementwise decays: Mamba-1's selective scan (2312.00752) and the diagonal
# form of Longhorn (2407.14207) that its authors released.
# SPDX-License-Identifier: Apache-2.0
import numpy as np

from .heads import sigmoid, stack, start


def mamba1(inputs, initial=None):
    """h = exp(dt A) h + (dt u) B; y = h C + D u; B, C shared by the heads."""
    u, dt, a = inputs["u"], inputs["dt"], inputs["A"]
    b, c, skip = inputs["B"], inputs["C"], inputs["D_skip"]
    batch, tokens, heads, width = u.shape
    h = start(initial, "h", (batch, heads, width, b.shape[-1]))
    rows = []
    for t in range(tokens):
        decay = np.exp(dt[:, t][..., None] * a)
        write = np.einsum("bhd,bn->bhdn", dt[:, t] * u[:, t], b[:, t])
        h = decay * h + write
        rows.append(np.einsum("bhdn,bn->bhd", h, c[:, t]) + skip * u[:, t])
    return {"y": stack(rows, u.shape)}, {"h": h}


def longhorn(inputs, initial=None):
    """s = sigmoid(dt); e = s / (1 + s k.k); h = (1 - e k^2) h + (e x) k."""
    x, dt, k = inputs["x"], inputs["dt"], inputs["k"]
    q, skip = inputs["q"], inputs["D_skip"]
    batch, tokens, heads, width = x.shape
    h = start(initial, "h", (batch, heads, width, k.shape[-1]))
    rows = []
    for t in range(tokens):
        s = sigmoid(dt[:, t])
        norm = np.sum(k[:, t] ** 2, axis=-1)[:, None, None]
        step = s / (1 + s * norm)
        h = ((1 - np.einsum("bhd,bn->bhdn", step, k[:, t] ** 2)) * h
             + np.einsum("bhd,bn->bhdn", step * x[:, t], k[:, t]))
        rows.append(np.einsum("bhdn,bn->bhd", h, q[:, t]) + skip * x[:, t])
    return {"y": stack(rows, x.shape)}, {"h": h}
