# One shape: every contender on the same inputs in one process, in turn.
# SPDX-License-Identifier: Apache-2.0
import time
from pathlib import Path

import torch

from draw import Shape, draw
from floor import floor
from peers import CONTENDERS
from timing import Clock, graph_of, interleaved, median, peak_bytes, rounds

SLOW_MS = 300.0  # beyond it fewer rounds are enough


class Entrant:
    """A contender that took its first calls; `error` says why it left."""

    def __init__(self, name, peers):
        self.contender = CONTENDERS[name]
        self.name, self.peers = name, peers
        self.error = self.output = self.peak = self.first_s = None
        self.counts, self.times = {}, {}

    def load(self, shape):
        """The call at this shape; raises with the reason if there is none."""
        reason = self.contender.skips(shape)
        if reason:
            raise RuntimeError(reason)
        step, decode = self.contender.load(self.peers)
        self.call = decode if shape.decode else step
        if self.call is None:
            raise RuntimeError("not run: it has no call for one token with states")

    def forward(self, x):
        with torch.no_grad():
            return self.call(x)

    def both(self, x):
        leaves = [x[n] for n in self.contender.reads]
        torch.autograd.grad(self.call(x), leaves, x["d_o"], allow_unused=True)

    def leave(self, error, what="failed"):
        text = " ".join(str(error).split()) or type(error).__name__
        self.error = text if text.startswith("not run") else (
            f"{what}: {type(error).__name__}: {text[:160]}")

    def modes(self, shape):
        """What is timed: without a backward pass if that failed."""
        found = {"forward": self.forward}
        if not (shape.decode or self.error):
            found["both"] = self.both
        return found


def wake_autograd(device):
    """torch's first gradient imports seconds of Python that are no op's."""
    x = torch.ones(1, device=device, requires_grad=True)
    torch.autograd.grad(x * x, x, torch.ones_like(x))


def first_calls(entrant, shape, inputs, clock):
    """Loads it and compiles what is not in a cache: seconds of the calls."""
    entrant.load(shape)
    wake_autograd(inputs[0]["q"].device)
    clock.wait()
    began = time.perf_counter()
    entrant.output = entrant.forward(inputs[0])
    clock.wait()
    if not shape.decode:
        try:
            entrant.both(inputs[0])
        except Exception as error:
            entrant.leave(error, "backward failed")
    clock.wait()
    entrant.first_s = time.perf_counter() - began


def practice(entrant, shape, inputs, clock, budget):
    """Learns how long a call is and what memory it takes."""
    modes = entrant.modes(shape)
    for mode, function in modes.items():
        function(inputs[0])
        taken = clock.once(lambda f=function: f(inputs[-1]))
        entrant.counts[mode] = rounds(taken, budget, least=3 if taken > SLOW_MS else 5)
    if clock.on_gpu:
        last = list(modes.values())[-1]
        entrant.peak = peak_bytes(lambda: last(inputs[0]))


def enter(entrants, shape, inputs, clock, budget, tell):
    """`budget` None: the first calls are all that is wanted."""
    for entrant in entrants:
        tell(entrant.name)
        try:
            first_calls(entrant, shape, inputs, clock)
            if budget is not None:
                practice(entrant, shape, inputs, clock, budget)
        except Exception as error:
            entrant.leave(error)
            entrant.counts = {}
            if clock.on_gpu:
                torch.cuda.empty_cache()
    tell("")


def run_mode(entrants, mode, inputs, clock):
    """Times of one mode for all that are still in, in one interleaved run."""
    active = {x.name: x for x in entrants if mode in x.counts}
    functions = {
        name: [lambda f=getattr(x, mode), s=s: f(s) for s in inputs]
        for name, x in active.items()}
    taken = interleaved(clock, functions, {n: x.counts[mode] for n, x in active.items()},
                        lambda name, error: active[name].leave(error))
    for name, times in taken.items():
        active[name].times[mode] = times


def run_graphs(entrants, inputs, clock):
    """A decode step is shorter than its launch: replays leave the host out."""
    graphs = {}
    for entrant in (x for x in entrants if not x.error):
        try:
            graph = graph_of(lambda e=entrant: e.forward(inputs[0]))
            graphs[entrant.name] = [graph.replay]
        except Exception:
            torch.cuda.synchronize()  # not capturable: only its eager time stands
    taken = interleaved(clock, graphs, {n: 40 for n in graphs},
                        lambda name, error: None)
    for entrant in entrants:
        entrant.times["graph"] = taken.get(entrant.name, [])


def difference(entrant, entrants):
    """|output - ours| / |ours| over the whole tensor, ours being the op of
    Recurra for the same recurrence."""
    ours = next((x.output for x in entrants if x.name == entrant.contender.beside), None)
    if entrant.output is None or ours is None:
        return None
    truth = ours.double()
    return float((entrant.output.double() - truth).norm() / truth.norm())


def row(entrant, entrants, shape, inputs, device):
    entry, x = entrant.contender, inputs[0]
    least = floor(shape, [x[n] for n in entry.reads], [x["d_o"]],
                  [x[n] for n in entry.states] if shape.decode else [],
                  entry.divides, device)
    forward, both = (median(entrant.times.get(m, [])) for m in ("forward", "both"))
    return {
        "name": entrant.name, "K": shape.K, "V": shape.V, "B": shape.B,
        "T": shape.T, "H": shape.H, "forward_ms": forward,
        "forward_backward_ms": both, "peak_bytes": entrant.peak,
        "graph_ms": median(entrant.times.get("graph", [])),
        "floor_ms": least.forward if shape.decode else least.both,
        "floor_forward_ms": least.forward, "floor": vars(least),
        "forward_runs": entrant.times.get("forward", []),
        "forward_backward_runs": entrant.times.get("both", []),
        "difference": difference(entrant, entrants), "exact": entry.exact,
        "first_call_s": entrant.first_s, "error": entrant.error}


def contest(sizes, names, peers, device, sets=3, budget=1000.0, tell=lambda name: None):
    """Rows of the table for one shape. `budget`: ms per function, None to make
    no more than the first calls."""
    shape = Shape(*sizes)
    clock = Clock(device)
    inputs = [draw(shape, seed, device) for seed in range(sets)]
    entrants = [Entrant(name, Path(peers) if peers else None) for name in names]
    enter(entrants, shape, inputs, clock, budget, tell)
    for mode in ("forward", "both"):  # none was counted without a budget
        run_mode(entrants, mode, inputs, clock)
    if shape.decode and clock.on_gpu and budget is not None:
        run_graphs(entrants, inputs, clock)
    return [row(x, entrants, shape, inputs, device) for x in entrants]
