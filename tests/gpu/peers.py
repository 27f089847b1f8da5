# What the speed table times: Recurra's ops, and other people's kernels from a
# folder of the caller's, each called in its own convention on the same inputs.
# SPDX-License-Identifier: Apache-2.0
"""The folder (--peers) holds what is never part of this repository:
  fla/            the package of fla-core 0.6.0 (its ops, utils, modules)
  einops/         the package einops, if Python has none
  reference/      chunk_palimpsa_forgetting_scalar.py and
                  fused_recurrent_palimpsa.py of github djo1996/Palimpsa
  approximation/  chunk_fast_palimpsa.py (and _v2.py) of djo1996/Mesa_Palimpsa
"""

import importlib
import importlib.util
import sys
import types
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Contender:
    """`load(folder)` gives `step(inputs)` and `start(inputs)`: the call for
    many tokens, and for one token with states. `beside`: the op of Recurra for
    the same recurrence. `reads`: names of the inputs. `divides`: the readout
    divides by a state."""

    name: str
    beside: str
    reads: tuple
    states: tuple
    divides: bool
    load: object
    exact: bool = True
    ours: bool = False
    skips: object = lambda shape: None


def ours(name, reads, states, divides):
    def load(_):
        import recurra

        op = getattr(recurra.ops, name)

        def step(x):
            return op(*(x[n] for n in reads))[0]

        def start(x):
            state = tuple(x[n] for n in states)
            return op(*(x[n] for n in reads), output_final_state=True,
                      initial_state=state if len(state) > 1 else state[0])[0]

        return step, start

    return Contender(name, name, reads, states, divides, load, ours=True)


def _bare(name, folder):
    """A package whose __init__ is not run: it would import a whole library."""
    module = types.ModuleType(name)
    module.__path__ = [str(folder)]
    sys.modules[name] = module
    return module


def load_fla(folder):
    if "fla.ops" not in sys.modules:
        sys.path.append(str(folder))
        importlib.import_module("fla")
        for name in ("fla.ops", "fla.modules"):
            _bare(name, folder / name.replace(".", "/"))
        # Its guard refuses this backward on Hopper (its issue 640: wrong
        # gradients with some Triton versions); its speed is still wanted.
        importlib.import_module("fla.ops.common.chunk_o").TRITON_ABOVE_3_7_1 = True
    return importlib.import_module


def fla(module, chunk, recurrent, reads):
    def load(folder):
        found = load_fla(folder)(module)

        def named(x, gate):
            theirs = {"beta1": "beta", "gk": gate}
            return {theirs.get(n, n): x[n] for n in reads}

        def step(x):
            return getattr(found, chunk)(**named(x, "g"))[0]

        def start(x):
            return getattr(found, recurrent)(
                **named(x, "gk"), initial_state=x["S"], output_final_state=True)[0]

        return step, start

    return load


def load_file(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def arguments(x):
    """Their decay is exp(-gt * g), their prior one number per head."""
    return {"q": x["q"], "k": x["k"], "v": x["v"], "b": x["beta"], "gt": x["gt"],
            "g": x["one"], "Ip": x["one"]}


def load_reference(folder):
    load_fla(folder)
    importlib.import_module("fla.utils").use_cuda_graph = False
    # Where the reference looks for a module that fla 0.6.0 has moved.
    sys.modules["fla.modules.l2norm"] = importlib.import_module(
        "fla.modules.norm.l2norm")
    chunk = load_file(folder / "reference" / "chunk_palimpsa_forgetting_scalar.py")
    fused = load_file(folder / "reference" / "fused_recurrent_palimpsa.py")

    def step(x):
        return chunk.chunk_palimpsa(**arguments(x))

    def start(x):
        return fused.fused_recurrent_palimpsa(
            **arguments(x), initial_mu_state=x["mu"], initial_I_state=x["I"],
            output_final_state=True)[0]

    return step, start


def wraps(shape):
    """Its 32-bit offsets of chunk states end at 2^31 - 1 elements."""
    if -(-shape.T // 16) * shape.B * shape.H * shape.K * shape.V > 2**31 - 1:
        return "not run: its 32-bit offsets of chunk states would wrap here"
    return None


def approximation(file):
    def load(folder):
        module = load_file(folder / "approximation" / file)

        def step(x):
            return module.chunk_fast_palimpsa(**arguments(x))

        return step, None

    return load


Q, DELTA = ("q", "k", "v", "g"), ("q", "k", "v", "g", "beta1")
GLA = ("q", "k", "v", "gk")
PALIMPSA, THEIRS = Q + ("beta",), ("q", "k", "v", "gt", "beta")
CONTENDERS = {x.name: x for x in (
    ours("palimpsa", PALIMPSA, ("M", "J"), True),
    Contender("reference", "palimpsa", THEIRS, ("mu", "I"), True, load_reference, skips=wraps),
    Contender("approximation", "palimpsa", THEIRS, ("mu", "I"), True,
              approximation("chunk_fast_palimpsa.py"), exact=False),
    Contender("approximation_v2", "palimpsa", THEIRS, ("mu", "I"), True,
              approximation("chunk_fast_palimpsa_v2.py"), exact=False),
    Contender("fla_gated_delta_rule", "gated_delta_rule", DELTA, ("S",), False,
              fla("fla.ops.gated_delta_rule", "chunk_gated_delta_rule",
                  "fused_recurrent_gated_delta_rule", DELTA)),
    Contender("fla_simple_gla", "simple_gla", Q, ("S",), False,
              fla("fla.ops.simple_gla", "chunk_simple_gla",
                  "fused_recurrent_simple_gla", Q)),
    Contender("fla_gla", "gla", GLA, ("S",), False,
              fla("fla.ops.gla", "chunk_gla", "fused_recurrent_gla", GLA)),
    ours("gated_delta_rule", DELTA, ("S",), False),
    ours("gla", GLA, ("S",), False),
    ours("simple_gla", Q, ("S",), False),
)}
DEFAULT = ("palimpsa", "reference", "approximation", "fla_gated_delta_rule",
           "fla_simple_gla", "simple_gla")
