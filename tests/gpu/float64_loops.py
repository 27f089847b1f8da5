# Palimpsa and simple GLA in float64 from their equations, for lengths at which
# the language's oracle would take hours: chunks of masked decays, no kernel.
# SPDX-License-Identifier: Apache-2.0
"""For one chunk with D[t, s] = exp(g_(s+1) + .. + g_t), s <= t, and G_t the decay
since its start:  M_t = G_t M_0 + sum_s D[t, s] v_s k_s  and the same of J with
beta_s k_s^2. Every exponent is at most 0. Gradients by autograd, a chunk's
values computed again for them."""

import torch
from torch.utils.checkpoint import checkpoint

DEEPEST = -1e4  # gates below it are taken as it: exp of either is zero


def decays(g):
    """[B, H, C, C] from each token to each later one, [B, H, C] since the start,
    of log gates [B, C, H]."""
    total = g.clamp(min=DEEPEST).cumsum(1).transpose(1, 2)
    apart = total[..., :, None] - total[..., None, :]
    later = torch.ones(apart.shape[-2:], dtype=torch.bool, device=g.device).triu(1)
    return apart.masked_fill(later, -torch.inf).exp(), total.exp()


def states(between, start, state, k, v):
    """A state after each token of a chunk: [B, H, C, K, V]."""
    written = torch.einsum("bhts,bshv->bhtsv", between, v)
    return (start[..., None, None] * state[:, :, None]
            + torch.einsum("bhtsv,bshk->bhtkv", written, k))


def palimpsa_chunk(q, k, v, g, beta, prior, scale, M, J):
    between, start = decays(g)
    M = states(between, start, M, k, v)
    J = states(between, start, J, k * k, beta)
    mean = M / (J + prior[:, None, None, None])
    o = scale * torch.einsum("bhtkv,bthk->bthv", mean, q)
    return o, M[:, :, -1], J[:, :, -1]


def simple_gla_chunk(q, k, v, g, scale, S):
    S = states(*decays(g), S, k, v)
    return scale * torch.einsum("bhtkv,bthk->bthv", S, q), S[:, :, -1]


def over_chunks(chunk_of, tokens, fixed, state, length):
    """`chunk_of(*tokens of a chunk, *fixed, *state)` gives o and the state."""
    outputs = []
    for at in range(0, tokens[0].shape[1], length):
        part = [x[:, at:at + length] for x in tokens]
        o, *state = checkpoint(chunk_of, *part, *fixed, *state, use_reentrant=False)
        outputs.append(o)
    return torch.cat(outputs, 1), state


def evaluate(entry, inputs, initial=None, length=64):
    """Output and final states of "palimpsa" or "simple_gla" for float64 tensors
    by name, differentiable."""
    q, v = inputs["q"], inputs["v"]
    B, T, H, K = q.shape
    zero = torch.zeros(B, H, K, v.shape[-1], dtype=q.dtype, device=q.device)
    scale = inputs.get("scale", q.new_tensor(K ** -0.5))
    tokens = [q, inputs["k"], v, inputs["g"]]
    if entry == "simple_gla":
        state = [(initial or {}).get("S", zero)]
        return over_chunks(simple_gla_chunk, tokens, [scale], state, length)
    state = [(initial or {}).get(n, zero) for n in ("M", "J")]
    prior = inputs.get("prior", q.new_ones(H))
    return over_chunks(palimpsa_chunk, tokens + [inputs["beta"]], [prior, scale],
                       state, length)


def truth(entry, inputs, weight, initial=None, length=64):
    """(o, gradients by name) for one cotangent of o, from tensors of any dtype."""
    exact = {n: x.detach().double().requires_grad_() for n, x in inputs.items()}
    begin = {n: x.detach().double() for n, x in (initial or {}).items()}
    o, _ = evaluate(entry, exact, begin, length)
    gradients = torch.autograd.grad(o, list(exact.values()), weight.double())
    return o.detach(), dict(zip(exact, gradients))
