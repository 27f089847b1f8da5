# Palimpsa (2602.09075) twice: the states (mu, I) as published, and M = I mu,
# J = I - prior, which are linear.
# SPDX-License-Identifier: Apache-2.0
import numpy as np

from .heads import scale_of, spread, stack, start


def _arguments(inputs):
    v = inputs["v"]
    heads = v.shape[2]
    q, k = spread(inputs["q"], heads), spread(inputs["k"], heads)
    prior = np.asarray(inputs.get("prior", np.ones(heads)))[:, None, None]
    return q, k, v, inputs["g"], inputs["beta"], prior, scale_of(inputs, q)


def published_form(inputs, initial=None):
    """I' = a I + (1 - a) prior + b k^2; mu' = a (I / I') mu + v~ k / I'."""
    q, k, v, g, b, prior, scale = _arguments(inputs)
    batch, tokens, heads, width = v.shape
    shape = (batch, heads, k.shape[-1], width)
    mu = start(initial, "mu", shape)
    precision = start(initial, "I", shape, 0.0)
    if not (initial and "I" in initial):
        precision = precision + prior
    means, variances = [], []
    for t in range(tokens):
        a = np.exp(g[:, t])[..., None, None]
        new = (a * precision + (1 - a) * prior
               + np.einsum("bhv,bhk->bhkv", b[:, t], k[:, t] ** 2))
        write = np.einsum("bhv,bhk->bhkv", v[:, t], k[:, t])
        mu = a * (precision / new) * mu + write / new
        precision = new
        means.append(scale * np.einsum("bhkv,bhk->bhv", mu, q[:, t]))
        variances.append(
            scale * np.einsum("bhkv,bhk->bhv", 1 / precision, q[:, t] ** 2))
    outputs = {"o": stack(means, v.shape), "o_var": stack(variances, v.shape)}
    return outputs, {"mu": mu, "I": precision}


def linear_form(inputs, initial=None):
    """M' = a M + v~ k; J' = a J + b k^2; o = scale (M / (J + prior))' q."""
    q, k, v, g, b, prior, scale = _arguments(inputs)
    batch, tokens, heads, width = v.shape
    shape = (batch, heads, k.shape[-1], width)
    m, j = start(initial, "M", shape), start(initial, "J", shape)
    means, variances = [], []
    for t in range(tokens):
        a = np.exp(g[:, t])[..., None, None]
        m = a * m + np.einsum("bhv,bhk->bhkv", v[:, t], k[:, t])
        j = a * j + np.einsum("bhv,bhk->bhkv", b[:, t], k[:, t] ** 2)
        precision = j + prior
        means.append(
            scale * np.einsum("bhkv,bhk->bhv", m / precision, q[:, t]))
        variances.append(
            scale * np.einsum("bhkv,bhk->bhv", 1 / precision, q[:, t] ** 2))
    outputs = {"o": stack(means, v.shape), "o_var": stack(variances, v.shape)}
    return outputs, {"M": m, "J": j}
