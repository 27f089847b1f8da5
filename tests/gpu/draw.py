# Random inputs of the speed table: unit keys and queries, gates as the layers
# of Palimpsa make them, one set per seed.
# SPDX-License-Identifier: Apache-2.0
from dataclasses import dataclass

import torch
import torch.nn.functional as F


@dataclass(frozen=True)
class Shape:
    """Axis sizes of one call, all heads alike."""

    K: int
    V: int
    B: int
    T: int
    H: int = 16

    @property
    def decode(self):
        return self.T == 1

    def __str__(self):
        return f"({self.K}, {self.V}) B={self.B} T={self.T} H={self.H}"


def draw(shape, seed, device="cuda", dtype=torch.bfloat16):
    """q, k, v, g, gt = -g, beta [V], beta1 (one per head), gk [K], the cotangent
    d_o, one [H], and for a decode step the states M, J (mu, I as the reference
    has them) and S; g = -softplus(randn - 4) * A with A uniform in (0, 16) per
    head; gk = logsigmoid(randn) / 16, as layers of gated linear attention begin.
    Inputs ask for gradients."""
    K, V, B, T, H = shape.K, shape.V, shape.B, shape.T, shape.H
    make = torch.Generator(device=device).manual_seed(seed)

    def randn(*sizes):
        return torch.randn(*sizes, generator=make, device=device)

    slope = 16 * torch.rand(H, generator=make, device=device)
    inputs = {
        "q": F.normalize(randn(B, T, H, K), dim=-1),
        "k": F.normalize(randn(B, T, H, K), dim=-1),
        "v": randn(B, T, H, V),
        "g": -F.softplus(randn(B, T, H) - 4) * slope,
        "beta": torch.sigmoid(randn(B, T, H, V)),
        "beta1": torch.sigmoid(randn(B, T, H)),
    }
    inputs["gt"] = -inputs["g"]
    inputs = {n: x.to(dtype).requires_grad_() for n, x in inputs.items()}
    inputs["d_o"] = randn(B, T, H, V).to(dtype)
    inputs["one"] = torch.ones(H, device=device)
    if shape.decode:
        inputs["M"], inputs["S"] = randn(B, H, K, V), randn(B, H, K, V)
        inputs["J"] = F.softplus(randn(B, H, K, V))
        inputs["I"] = (inputs["J"] + 1).transpose(2, 3).contiguous()
        inputs["mu"] = inputs["M"].transpose(2, 3).contiguous() / inputs["I"]
    gates = F.logsigmoid(randn(B, T, H, K)) / 16
    inputs["gk"] = gates.to(dtype).requires_grad_()
    return inputs
