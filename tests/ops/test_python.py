# Recurrences that a user defines while the program runs: definition, compiled
# op, stages, warm-up, counters, and the checks of RECURRA_CHECK.
# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys

import pytest
import torch

import recurra as rc
from harness import check, make


@rc.define
def leaky(r):
    D = r.axis("D")
    x, g = r.token("x", (D,)), r.token("g", (), rc.non_positive)
    floor = r.head("floor", (), rc.positive, default=1)
    r.state("h", (D,))
    r.h = rc.exp(g) * r.h + x / floor
    r.output("y", rc.tanh(r.h))
    r.output("size", rc.sum(rc.square(r.h), D), optional=True)


def test_a_definition_of_the_user_takes_the_same_path():
    op = rc.compile(leaky)
    check(make(op, T=40, outputs=("y", "size"), given=("floor",)))
    check(make(op, B=1, T=9, offsets=[0, 4, 4, 9]))
    assert "floor: [H] (positive); None means 1" in op.__doc__
    assert __file__ in op.recurrence.source


def test_a_definition_may_change_under_its_name():
    def body(factor):
        def define(r):
            D = r.axis("D")
            x = r.token("x", (D,))
            r.state("h", (D,))
            r.h = factor * r.h + x
            r.output("y", r.h)
        return rc.compile(rc.define("again", define))

    x = torch.ones(1, 2, 1, 1)
    for factor in (0.5, 0.25, 0.5):
        y, _ = body(factor)(x)
        assert y.flatten().tolist() == [1.0, 1 + factor]


def test_previous_values_are_states():
    @rc.define
    def difference(r):
        D = r.axis("D")
        x = r.token("x", (D,))
        r.output("y", x - rc.previous(x))

    op = rc.compile(difference)
    check(make(op, T=20))
    x = torch.arange(4.0).view(1, 4, 1, 1)
    y, last = op(x, output_final_state=True)
    assert y.flatten().tolist() == [0, 1, 1, 1]
    assert last.item() == 3


def test_a_mistake_names_the_users_line():
    with pytest.raises(rc.UserError, match=r"test_python.py:\d+: "):
        @rc.define
        def broken(r):
            K, V = r.axis("K"), r.axis("V")
            k, v = r.token("k", (K,)), r.token("v", (V,))
            r.state("S", (K,))
            r.S = r.S + k * v
            r.output("o", r.S)


@pytest.mark.parametrize("stage,sign", (
    ("rec", "rec.scan"), ("linear", "rec.scan"), ("backward", "rec.scan reverse"),
    ("chunk", "chunk."), ("llvm", "llvm."), ("asm", ".text")))
def test_every_stage_is_readable(stage, sign):
    text = rc.ops.simple_gla.inspect(stage, backward=stage == "backward", K=16, V=16)
    assert sign in text, text[:2000]


def test_inspect_refuses_what_it_does_not_know():
    with pytest.raises(ValueError, match="no stage 'ptx'; the stages are rec"):
        rc.ops.gla.inspect("ptx")
    with pytest.raises(ValueError, match="no axis is called D; the axes are K, V"):
        rc.ops.gla.inspect("rec", D=3)


def test_inspect_takes_the_sizes_given_or_fixed():
    text = rc.ops.gated_delta_product.inspect("chunk", K=16)
    assert "chunk.extents = {K = 16 : i64, R = 2 : i64, V = 64 : i64}" in text
    text = rc.ops.mamba1.inspect("chunk", D=8, N=4)
    assert "chunk.extents = {D = 8 : i64, N_ = 4 : i64}" in text


def test_warmup_compiles_what_a_call_runs():
    sizes = {"K": 11, "V": 13}
    rc.ops.gla.warmup(**sizes)
    before = rc.counters()["compilations"]
    case = make("gla", T=30, initial=False, **sizes)
    inputs = [x.requires_grad_() for x in case.inputs.values()]
    rc.ops.gla(*inputs)[0].sum().backward()
    assert rc.counters()["compilations"] == before
    rc.ops.gla.warmup(backward=False, dtype={"q": torch.bfloat16}, group=2, packed=True,
                      output_final_state=True, **sizes)
    before = rc.counters()["compilations"]
    case = make("gla", B=1, T=30, H=2, group=2, initial=False, offsets=[0, 30],
                dtype={"q": torch.bfloat16}, **sizes)
    with torch.no_grad():
        rc.ops.gla(**case.inputs, output_final_state=True, cu_seqlens=case.offsets)
    assert rc.counters()["compilations"] == before


@pytest.mark.parametrize("asking", [("x", "g"), ("g",)])
def test_a_forward_to_be_differentiated_compiles_its_backward_too(asking):
    sizes = {"D": 19 + len(asking)}
    inputs = make(rc.compile(leaky), T=30, initial=False, **sizes).inputs
    before = rc.counters()["compilations"]
    with torch.no_grad():
        rc.compile(leaky)(**inputs)
    assert rc.counters()["compilations"] == before + 1
    for name in asking:
        inputs[name].requires_grad_()
    y, _ = rc.compile(leaky)(**inputs)
    assert rc.counters()["compilations"] == before + 3
    y.sum().backward()
    assert rc.counters()["compilations"] == before + 3


def test_about_and_counters():
    assert set(rc.counters()) == {"compilations", "memory_hits", "disk_hits",
                                  "disk_rejects"}
    assert rc.about()["version"]


@pytest.fixture
def checking(monkeypatch):
    monkeypatch.setenv("RECURRA_CHECK", "1")


@pytest.mark.parametrize("name,place,value,message", (
    ("g", (1, 3, 0), 0.5, "'g' is 0.5 at batch 1, token 3, head 0; it must be <= 0"),
    ("beta", (0, 2, 1, 3), -0.25,
     r"'beta' is -0.25 at batch 0, token 2, head 1, entry \[3\]; it must be >= 0"),
    ("prior", (1,), 0.0, "'prior' is 0 at head 1; it must be > 0"),
    ("v", (1, 4, 1, 2), float("nan"),
     r"'v' is nan at batch 1, token 4, head 1, entry \[2\]; no tensor may hold a NaN")))
def test_check_names_what_breaks_a_fact(checking, name, place, value, message):
    case = make("palimpsa", T=6, given=("prior",))
    rc.ops.palimpsa(**case.inputs)
    case.inputs[name][place] = value
    with pytest.raises(ValueError, match=f"RECURRA_CHECK: palimpsa: {message}"):
        rc.ops.palimpsa(**case.inputs)


def test_check_names_broken_norms_and_states(checking):
    @rc.define
    def normed(r):
        K = r.axis("K")
        k = r.token("k", (K,), rc.unit(K))
        r.state("S", (K,), rc.non_negative)
        r.S = r.S + rc.square(k)
        r.output("o", r.S)

    op = rc.compile(normed)
    k = torch.nn.functional.normalize(torch.randn(1, 4, 1, 8), dim=-1)
    op(k)
    op(torch.cat([k, torch.zeros_like(k)], 1))  # rows of zeros are padding
    with pytest.raises(ValueError, match="'k' is 2.* at batch 0, token 0, head 0"):
        op(2 * k)
    with pytest.raises(ValueError, match="initial_state 'S' is -1 at sequence 0"):
        op(k, initial_state=-torch.ones(1, 1, 8))


def test_check_names_the_first_nan_of_a_result(checking):
    @rc.define
    def root(r):
        x = r.token("x", ())
        r.state("h", ())
        r.h = r.h + x
        r.output("y", rc.log(r.h))

    op = rc.compile(root)
    x = torch.ones(1, 5, 2)
    op(x)
    x[0, 2, 1] = -9
    with pytest.raises(ValueError,
                       match="root: output 'y' is nan at batch 0, token 2, head 1"):
        op(x)


def test_check_is_off_by_default():
    case = make("palimpsa", T=6)
    case.inputs["g"][0, 0, 0] = 0.5
    rc.ops.palimpsa(**case.inputs)


def test_import_from_any_folder(tmp_path):
    out = subprocess.run(
        [sys.executable, "-c", "import recurra; print(len(recurra.catalogue()))"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": ""}, check=True,
        capture_output=True, text=True).stdout
    assert int(out) == 12
