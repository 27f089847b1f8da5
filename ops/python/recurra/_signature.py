# A recurrence as the calling code sees it: plain data read once from the
# definition.
# SPDX-License-Identifier: Apache-2.0
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Input:
    name: str
    role: str      # "token", "head" or "scalar"
    sharing: str   # "head", "group" or "all"
    axes: tuple
    facts: tuple   # spelt as in the canonical text
    default: str   # spelt as in the canonical text; None: required

    @property
    def dimensions(self):
        """("B", "T", "H", "K"): "Hg" are the heads of a per-group input."""
        lead = ("B", "T") if self.role == "token" else ()
        if self.role != "scalar" and self.sharing != "all":
            lead += ("Hg",) if self.sharing == "group" else ("H",)
        return lead + self.axes

    @property
    def shape(self):
        return show(self.dimensions)


@dataclass(frozen=True)
class State:
    name: str
    axes: tuple
    facts: tuple
    dtype: str     # of its tensors: "float32", "float16" or "bfloat16"

    @property
    def shape(self):
        return show(("N", "H") + self.axes)

    def tensor_type(self, inputs):
        """The dtype of its tensors in a call: float64 where every input is."""
        given = [x for x in inputs if x is not None]
        if all(x.dtype == torch.float64 for x in given):
            return torch.float64
        return getattr(torch, self.dtype)


@dataclass(frozen=True)
class Output:
    name: str
    axes: tuple
    optional: bool

    @property
    def shape(self):
        return show(("B", "T", "H") + self.axes)


@dataclass(frozen=True)
class Signature:
    name: str
    text: str
    source: str    # "file:line" of the definition, or ""
    axes: tuple
    fixed_sizes: dict  # of the axes whose size the definition fixes
    inputs: tuple
    states: tuple
    outputs: tuple


def show(dimensions):
    words = ["H / group" if d == "Hg" else d for d in dimensions]
    return "[" + ", ".join(words) + "]"
