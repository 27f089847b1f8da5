# The GPU suite's own parts, tested on any machine: the float64 loops, the
# strangers' definitions, the sharing of tests, the speed table's text.
# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import float64_loops
from conftest import share
from contest import contest
from draw import Shape, draw
from floor import floor
from harness import cotangents, make
from measure import worst
from oracle import Oracle
from peers import CONTENDERS
from report import text_of, with_reference
from timing import rounds

pytestmark = pytest.mark.host


@pytest.mark.parametrize("entry", ("palimpsa", "simple_gla"))
@pytest.mark.parametrize("gate", ("drawn", "mixed"))
@pytest.mark.parametrize("length", (7, 64))
def test_the_float64_loops_equal_the_oracle(entry, gate, length):
    case = make(entry, T=45, K=5, V=6, dtype=torch.float64, given=("prior",))
    if gate == "mixed":
        levels = torch.tensor([0, -1e-6, -1, -20, -1000, -torch.inf], dtype=torch.float64)
        pick = torch.Generator().manual_seed(1)
        case.inputs["g"] = levels[torch.randint(6, case.inputs["g"].shape, generator=pick)]
    weights = cotangents({"o": torch.empty(2, 45, 2, 6, dtype=torch.float64)})
    o, gradients = float64_loops.truth(
        entry, case.inputs, weights["o"], case.initial, length)
    # Sums of gates at -1e4 leave eleven digits of the small ones beside them.
    oracle = Oracle(case)
    assert worst(o.numpy(), oracle.values()[0]["o"], "BTH") < 1e-9
    expected, _ = oracle.gradients(weights, {})
    for name, x in gradients.items():
        lead = "H" if name == "prior" else "BTH"
        assert worst(x.numpy(), expected[name], lead) < 1e-9, name


class Item:
    def __init__(self, name, alone=False):
        self.name, self.alone = name, alone

    def get_closest_marker(self, name):
        return self.alone if name == "alone" else None


def test_every_test_is_in_one_part():
    items = [Item(str(i), alone=i % 5 == 0) for i in range(23)]
    parts = [share(items, f"{i}/4") for i in range(1, 5)] + [share(items, "alone")]
    assert sorted((x for p in parts for x in p), key=id) == sorted(items, key=id)
    assert all(x.alone for x in parts[-1])


def test_the_floor_of_a_call():
    shape = Shape(96, 192, 8, 4096)
    x = {"q": torch.empty(10, dtype=torch.bfloat16)}
    least = floor(shape, [x["q"]], [x["q"]], [], divides=False, device="cpu")
    assert least.bytes_forward == pytest.approx(40 / 4.8e12 * 1e3)
    assert least.both == pytest.approx(least.forward + 60 / 4.8e12 * 1e3)


def test_inputs_of_a_decode_step_agree():
    x = draw(Shape(4, 6, 2, 1, 3), 0, "cpu", torch.float32)
    assert torch.allclose(x["mu"] * x["I"], x["M"].transpose(2, 3))
    assert torch.equal(x["gt"], -x["g"]) and (x["g"] <= 0).all()


def row(name, both, **changed):
    return {"name": name, "K": 8, "V": 8, "B": 1, "T": 4, "H": 2, "forward_ms": 1.0,
            "forward_backward_ms": both, "peak_bytes": None, "graph_ms": None,
            "floor_ms": 1.0, "floor_forward_ms": 0.25, "difference": None,
            "first_call_s": None, "error": None, "gpu": "G", "torch": "2",
            "dtype": "bfloat16", "commit": "abc"} | changed


def test_the_table_compares_with_the_reference():
    rows = with_reference([row("palimpsa", 2.0), row("reference", 24.0),
                           row("approximation", None, error="backward failed: it broke"),
                           row("simple_gla", None, forward_ms=None, error="not run: late")])
    assert rows[0]["reference_forward_backward_ms"] == 24.0
    lines = text_of(rows, {}).splitlines()
    palimpsa = next(x.split() for x in lines if x.startswith("palimpsa "))
    assert palimpsa[1:4] == ["1", "0.25", "25"] and "12" in palimpsa
    assert any(x.endswith("it broke") for x in lines)
    assert sum(x.startswith("approximation ") for x in lines) == 1
    assert any(x.startswith("simple_gla") and x.endswith("not run: late") for x in lines)


class Gone:
    """A contender whose backward pass fails, and one that cannot be loaded."""

    def __init__(self, at):
        self.at = at

    def __call__(self, folder):
        if self.at == "load":
            raise RuntimeError("it is not there")

        def step(x):
            o = x["v"] * 1.0
            if o.requires_grad:
                o.register_hook(self.fail)
            return o

        return step, None

    def fail(self, gradient):
        raise RuntimeError("no way back")


def test_a_contender_that_fails_leaves_the_others(monkeypatch):
    kinds = {n: replace(CONTENDERS["reference"], name=n, load=Gone(n))
             for n in ("load", "backward")}
    monkeypatch.setattr("contest.CONTENDERS", CONTENDERS | kinds)
    names = ["load", "palimpsa", "backward"]
    rows = contest((4, 6, 1, 8, 2), names, None, "cpu", sets=2, budget=1.0)
    load, ours, back = rows
    assert load["error"] == "failed: RuntimeError: it is not there"
    assert load["forward_ms"] is None and ours["error"] is None
    assert len(ours["forward_backward_runs"]) >= 5 and ours["difference"] == 0
    assert back["error"].startswith("backward failed") and back["forward_ms"] > 0
    assert back["forward_backward_ms"] is None and back["difference"] > 0


def test_rounds_fit_the_budget():
    assert rounds(100, 1000) == 10 and rounds(1e6, 1000) == 5 and rounds(0, 1000) == 40


def test_without_a_gpu_the_table_says_so():
    if torch.cuda.is_available():
        pytest.skip("there is a GPU: nothing is refused")
    done = subprocess.run([sys.executable, str(Path(__file__).parent / "table.py")],
                          capture_output=True, text=True)
    assert done.returncode and "nothing was timed" in done.stderr
