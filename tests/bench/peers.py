"""What ours is timed against: a hand-written C++ loop, PyTorch's eager token
loop, and the torch fallbacks of transformers.

Every peer takes the dict of `inputs` and returns o; those marked so have
gradients by autograd.
"""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import torch
import torch.nn.functional as functional

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
LOOP_FLAGS = ["-std=c++20", "-O3", "-march=native", "-ffast-math"]


def inputs(op, B, T, H, K, V, seed=0):
    """Inputs of one op; q and k have unit norm, log gates are near -0.05."""
    torch.manual_seed(seed)
    x = {
        "q": functional.normalize(torch.randn(B, T, H, K), dim=-1),
        "k": functional.normalize(torch.randn(B, T, H, K), dim=-1),
        "v": torch.randn(B, T, H, V),
        "g": -0.1 * torch.rand(B, T, H),
    }
    if op == "palimpsa":
        x["beta"] = torch.rand(B, T, H, V)
    if op == "gated_delta_rule":
        x["beta"] = torch.rand(B, T, H)
    return x


class _Sizes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in "BTHKV"]


class _Five(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("q", "k", "v", "g", "beta")]


def _pointers(tensors):
    return _Five(*(tensors[name].data_ptr() for name in ("q", "k", "v", "g", "beta")))


def _library(source, compiler, flags):
    library = BUILD / "bench" / f"{Path(source).stem}-{Path(compiler).name}.so"
    library.parent.mkdir(parents=True, exist_ok=True)
    file = ROOT / "tests" / "bench" / source
    subprocess.run(
        [compiler, *flags, "-shared", "-fPIC", "-pthread", file, "-o", library], check=True
    )
    return ctypes.CDLL(str(library))


def fma_peak(threads):
    """Operations per second, two a multiply-add, as `recurra bench` measures."""
    flags = ["-std=c++20", "-O2", f"-I{ROOT}"]
    peak = _library("../../cli/FmaPeak.cpp", compilers()[0], flags).recurra_fma_peak
    peak.restype = ctypes.c_double
    return peak(threads)


class HandWritten:
    """tests/bench/PalimpsaLoop.cpp, compiled by one compiler."""

    def __init__(self, compiler, threads):
        self.threads = threads
        self.library = _library("PalimpsaLoop.cpp", compiler, LOOP_FLAGS)

    def sizes(self, x):
        B, T, H, K = x["q"].shape
        return _Sizes(B, T, H, K, x["v"].shape[-1])

    def forward(self, x):
        o = torch.empty_like(x["v"])
        self.library.loop_forward(
            ctypes.byref(self.sizes(x)), ctypes.byref(_pointers(x)), self.threads,
            ctypes.c_void_p(o.data_ptr()),
        )
        return o

    def forward_backward(self, x, do):
        o = self.forward(x)
        gradients = {name: torch.empty_like(value) for name, value in x.items()}
        self.library.loop_backward(
            ctypes.byref(self.sizes(x)), ctypes.byref(_pointers(x)), ctypes.c_void_p(do.data_ptr()),
            self.threads, ctypes.byref(_pointers(gradients)),
        )
        return o, gradients


def compilers():
    """clang-22, and g++ where there is one."""
    return [c for c in map(shutil.which, ("clang++-22", "g++")) if c]


def _eager(x, states, step):
    """The token loop of PyTorch users; tokens are unbound first."""
    tokens = zip(*(value.unbind(1) for value in x.values()))
    outputs = []
    for token in tokens:
        states, o = step(states, dict(zip(x, token)))
        outputs.append(o)
    return torch.stack(outputs, 1)


def _zeros(x):
    B, _, H, K = x["q"].shape
    return torch.zeros(B, H, K, x["v"].shape[-1])


def eager_palimpsa(x):
    scale = x["q"].shape[-1] ** -0.5

    def step(states, t):
        M, J = states
        a, k = t["g"].exp()[..., None, None], t["k"][..., None]
        M = a * M + k * t["v"][..., None, :]
        J = a * J + k * k * t["beta"][..., None, :]
        return (M, J), ((scale * t["q"])[..., None] * M / (J + 1)).sum(-2)

    return _eager(x, (_zeros(x), _zeros(x)), step)


def eager_simple_gla(x):
    scale = x["q"].shape[-1] ** -0.5

    def step(S, t):
        S = t["g"].exp()[..., None, None] * S + t["k"][..., None] * t["v"][..., None, :]
        return S, ((scale * t["q"])[..., None, :] @ S).squeeze(-2)

    return _eager(x, _zeros(x), step)


def eager_gated_delta_rule(x):
    scale = x["q"].shape[-1] ** -0.5

    def step(S, t):
        S = t["g"].exp()[..., None, None] * S
        error = t["v"] - (t["k"][..., None, :] @ S).squeeze(-2)
        S = S + t["k"][..., None] * (t["beta"][..., None] * error)[..., None, :]
        return S, ((scale * t["q"])[..., None, :] @ S).squeeze(-2)

    return _eager(x, _zeros(x), step)


EAGER = {
    "palimpsa": eager_palimpsa,
    "simple_gla": eager_simple_gla,
    "gated_delta_rule": eager_gated_delta_rule,
}


def install_transformers():
    """Puts the pinned transformers in a folder of the bench's own, last on the
    path, so that numpy and the like stay those of .venv."""
    folder = BUILD / "bench-packages"
    pins = ROOT / "requirements" / "bench.txt"
    stamp = folder / ".installed"
    if not stamp.exists() or stamp.read_text() != pins.read_text():
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "-q", "--target", folder, "--upgrade", "-r", pins],
            check=True,
        )
        stamp.write_text(pins.read_text())
    sys.path.append(str(folder))


def transformers_gated_delta_rule():
    from transformers.models.qwen3_next.modeling_qwen3_next import torch_chunk_gated_delta_rule

    return {"transformers": lambda x: torch_chunk_gated_delta_rule(x["q"], x["k"], x["v"], x["g"], x["beta"])[0]}


def transformers_simple_gla():
    """Mamba2's fallback with dt = 1 and A = g per token; its model passes
    chunks of 256 by default, and 64 is faster here, so both are timed."""
    from transformers.models.mamba2 import modeling_mamba2

    scan = modeling_mamba2.mamba2_chunk_scan
    scan = getattr(scan, "__wrapped__", scan)

    def call(chunk):
        def run(x):
            B, T, H, K = x["q"].shape
            dt = -x["g"]
            return scan(
                x["v"] / dt[..., None], dt, -torch.ones(H), x["k"], x["q"] * K**-0.5, chunk_size=chunk
            )
        return run

    return {"transformers, chunk 256": call(256), "transformers, chunk 64": call(64)}


TRANSFORMERS = {
    "palimpsa": dict,
    "simple_gla": transformers_simple_gla,
    "gated_delta_rule": transformers_gated_delta_rule,
}
