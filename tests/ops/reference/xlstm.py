# xLSTM (2405.04517): mLSTM and sLSTM with their stabiliser m, which takes no
# part in gradients: it is computed from real parts.
# SPDX-License-Identifier: Apache-2.0
import numpy as np

from .heads import log_sigmoid, scale_of, sigmoid, spread, stack, start


def mlstm(inputs, initial=None):
    """C = F C + I k v^T; n = F n + I k; h = C'q / (max(|n.q|, e^-m) + 1e-6)."""
    v, i, f = inputs["v"], inputs["i"], inputs["f"]
    batch, tokens, heads, width = v.shape
    q, k = spread(inputs["q"], heads), spread(inputs["k"], heads)
    q = q * scale_of(inputs, q)
    c = start(initial, "C", (batch, heads, k.shape[-1], width))
    n = start(initial, "n", (batch, heads, k.shape[-1]))
    m = start(initial, "m", (batch, heads)).real
    rows = []
    for t in range(tokens):
        log_f = log_sigmoid(f[:, t])
        new = np.maximum(log_f.real + m, i[:, t].real)
        forget = np.exp(log_f + m - new)
        write = np.exp(i[:, t] - new)
        c = (forget[..., None, None] * c
             + write[..., None, None] * np.einsum("bhk,bhv->bhkv", k[:, t], v[:, t]))
        n = forget[..., None] * n + write[..., None] * k[:, t]
        m = new
        dot = np.sum(n * q[:, t], axis=-1)
        size = np.where(dot.real < 0, -dot, dot)
        floor = np.exp(-m)
        below = np.where(size.real > floor, size, floor) + 1e-6
        rows.append(np.einsum("bhkv,bhk->bhv", c, q[:, t]) / below[..., None])
    return {"h": stack(rows, v.shape)}, {"C": c, "n": n, "m": m}


def slstm(inputs, initial=None):
    """Gates see R y; c = F c + I tanh(z); n = F n + I; y = sigmoid(o) c / n."""
    batch, tokens, heads, width = inputs["i"].shape
    shape = (batch, heads, width)
    y, c = start(initial, "y", shape), start(initial, "c", shape)
    n = start(initial, "n", shape)
    m = start(initial, "m", shape).real
    first = not initial
    rows = []
    for t in range(tokens):
        raw = {gate: inputs[gate][:, t]
               + np.einsum("hde,bhe->bhd", inputs["R_" + gate], y)
               for gate in "ifzo"}
        log_f = log_sigmoid(raw["f"])
        # The first token of an empty state: m = i.
        new = (raw["i"].real if first
               else np.maximum(raw["i"].real, log_f.real + m))
        forget = (np.zeros(shape) if first else np.exp(log_f + m - new))
        write = np.exp(raw["i"] - new)
        c = forget * c + write * np.tanh(raw["z"])
        n = forget * n + write
        y = sigmoid(raw["o"]) * c / n
        m, first = new, False
        rows.append(y)
    return {"h": stack(rows, (batch, tokens, heads, width))}, {
        "y": y, "c": c, "n": n, "m": m}
