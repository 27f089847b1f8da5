"""The command line, run as a user runs it."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CLI = ROOT / "build" / "bin" / "recurra"
LIB = ROOT / "build" / "lib"
CATALOGUE = {
    "palimpsa", "palimpsa_mu", "linear_attention", "simple_gla", "gla", "hgrn", "gated_delta_rule",
    "gated_delta_product", "mamba1", "longhorn", "mlstm", "slstm",
}
MINE_TEXT = """recurrence mine
axis D
token g[D] nonPositive
token x[D]
state h[D] initial 0
next h = exp(g) * h + x
output o[D] = tanh(h')
signature
axes D
arguments x, g
states h
outputs o
"""
MINE_PY = """
import recurra as rc
print("a word on stdout")

@rc.define
def from_python(r):
    D = r.axis("D")
    x, g = r.token("x", (D,)), r.token("g", (D,), rc.non_positive)
    r.state("h", (D,))
    r.h = rc.exp(g) * r.h + x
    r.output("o", rc.tanh(r.h))
"""
WRONG_PY = MINE_PY.replace('r.output("o", rc.tanh(r.h))', 'r.output("o", rc.sum(r.h, r.axis("E")))')


@pytest.fixture
def recurra(tmp_path):
    def run(*arguments, status=0, **environment):
        done = subprocess.run(
            [str(CLI), *map(str, arguments)], capture_output=True, text=True, cwd=tmp_path,
            env={**os.environ, "RECURRA_CACHE_DIR": str(tmp_path / "cache"), "RECURRA_QUIET": "1", **environment},
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done

    return run


def parsed(done):
    """The one JSON value that stdout holds."""
    return json.loads(done.stdout)


def test_list_has_every_entry_with_its_fields(recurra):
    rows = parsed(recurra("list", "--json"))
    assert {row["name"] for row in rows} == CATALOGUE
    for row in rows:
        assert set(row) == {"name", "class", "form", "runs", "states", "state_dtypes", "inputs",
                            "outputs"}
        assert row["state_dtypes"] == {}
        assert set(row["runs"]) == {"forward", "backward"}
        assert row["states"] and row["inputs"] and row["outputs"]
    by_name = {row["name"]: row for row in rows}
    assert by_name["palimpsa"]["states"] == ["M", "J"]
    assert by_name["palimpsa"]["outputs"] == ["o", "o_var"]
    assert by_name["simple_gla"]["inputs"] == ["q", "k", "v", "g", "scale"]
    forms = {name: row["form"] for name, row in by_name.items()}
    assert forms["simple_gla"] == "matmul" and forms["gated_delta_rule"] == "delta"
    assert forms["palimpsa"] == forms["palimpsa_mu"] == "scan"
    assert by_name["simple_gla"]["class"] == "1" and by_name["gated_delta_rule"]["class"] == "2"
    assert by_name["palimpsa"]["class"] == "3" and by_name["slstm"]["class"] == "4"


def test_list_for_people_names_what_runs(recurra):
    text = recurra("list").stdout
    assert "palimpsa " in text and "walk/walk" in text


def test_show_prints_the_canonical_text(recurra):
    shown = recurra("show", "simple_gla").stdout
    assert shown.startswith("recurrence simple_gla\n")
    assert "next S = exp(g) * S + k * v" in shown
    value = parsed(recurra("show", "simple_gla", "--json"))
    assert value["text"] == shown
    assert len(value["hash"]) == 16


def test_shown_text_loads_back(recurra, tmp_path):
    file = tmp_path / "mine.txt"
    file.write_text(recurra("show", "gla").stdout.replace("recurrence gla", "recurrence mine"))
    original = parsed(recurra("show", "gla", "--json"))
    loaded = parsed(recurra("--load", file, "show", "mine", "--json"))
    assert loaded["hash"] == original["hash"]


def test_the_dtype_of_a_state_is_shown(recurra, tmp_path):
    file = tmp_path / "halves.txt"
    text = recurra("show", "palimpsa").stdout.replace("recurrence palimpsa", "recurrence halves")
    file.write_text(text.replace("state M[K, V]", "state M[K, V] dtype bf16"))
    load = ("--load", file)
    assert "state M[K, V] dtype bf16 initial 0\n" in recurra(*load, "show", "halves").stdout
    rows = {row["name"]: row for row in parsed(recurra(*load, "list", "--json"))}
    assert rows["halves"]["states"] == ["M", "J"]
    assert rows["halves"]["state_dtypes"] == {"M": "bf16"}
    assert "M:bf16 J " in recurra(*load, "list").stdout
    for stage, sign in (("rec", 'rec.dtype = "bf16"'), ("chunk", "bf16 {chunk.arg")):
        assert sign in recurra(*load, "inspect", "halves", "--stage", stage, "--size", "K=8",
                               "V=8").stdout


def test_inspect_shows_states_when_asked(recurra):
    for direction, sign in (("forward", "final-state M"), ("backward", "initial-state-gradient M")):
        inspect = ("inspect", "palimpsa", "--stage", "chunk", "--direction", direction)
        assert sign not in recurra(*inspect).stdout
        assert sign in recurra(*inspect, "--states").stdout


def test_load_takes_several_recurrences_of_one_text(recurra, tmp_path):
    file = tmp_path / "two.txt"
    file.write_text(MINE_TEXT + "\n" + MINE_TEXT.replace("recurrence mine", "recurrence other"))
    names = {row["name"] for row in parsed(recurra("--load", file, "list", "--json"))}
    assert names == CATALOGUE | {"mine", "other"}


def test_load_takes_a_shared_library(recurra):
    library = LIB / "librecurraTestDefinitions.so"
    assert "tanh" in recurra("--load", library, "show", "from_library").stdout


def test_load_takes_python_and_keeps_stdout_clean(recurra, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(MINE_PY)
    done = recurra("--load", file, "show", "from_python", "--json")
    assert "tanh" in parsed(done)["text"]


def test_a_mistake_in_python_names_its_line(recurra, tmp_path):
    file = tmp_path / "wrong.py"
    file.write_text(WRONG_PY)
    done = recurra("--load", file, "show", "from_python", status=2)
    assert "wrong.py:11" in done.stderr


def test_a_mistake_in_a_text_names_its_line(recurra, tmp_path):
    file = tmp_path / "wrong.txt"
    file.write_text(MINE_TEXT.replace("tanh(h')", "tanh(nothing)"))
    done = recurra("--load", file, "show", "mine", status=2)
    assert "wrong.txt" in done.stderr and "nothing" in done.stderr


@pytest.mark.parametrize("stage, sign", [
    ("rec", "rec.scan"), ("linear", "rec.form"), ("backward", "reverse"),
    ("chunk", "chunk.forall"), ("llvm", "define "), ("asm", "zmm"),
])
def test_inspect_prints_each_stage(recurra, stage, sign):
    if stage == "asm" and "avx512f" not in Path("/proc/cpuinfo").read_text():
        sign = "ymm"
    text = recurra("inspect", "palimpsa", "--stage", stage, "--size", "K=16", "V=16").stdout
    assert sign in text


def test_inspect_chooses_direction_and_arch(recurra):
    value = parsed(recurra("inspect", "simple_gla", "--stage", "asm", "--arch", "avx2", "--size", "K=16",
                           "--direction", "backward", "--json"))
    assert value["direction"] == "backward"
    assert "ymm" in value["text"] and "zmm" not in value["text"]


def test_check_passes_with_its_fields(recurra):
    value = parsed(recurra("check", "simple_gla", "--json"))
    assert list(value) == ["name", "target", "cases", "worst", "passed"]
    assert value["passed"] is True and value["cases"] >= 10
    assert set(value["worst"]) == {
        "output o", "final state S", "gradient q", "gradient k", "gradient v", "gradient g",
        "gradient scale", "gradient of initial state S",
    }
    assert all(0 <= share <= 1 for share in value["worst"].values())


def test_check_of_a_users_own_definition(recurra, tmp_path):
    file = tmp_path / "mine.txt"
    file.write_text(MINE_TEXT)
    text = recurra("--load", file, "check", "mine").stdout
    assert "passed" in text and "gradient g" in text


@pytest.mark.parametrize("mutation, tensor", [
    ("drop_gate_gradient", "gradient g"), ("zero_head", "output o"), ("shift_token", "output o"),
])
def test_check_notices_a_faulty_kernel(recurra, mutation, tensor):
    done = recurra("check", "palimpsa", "--dtype", "f32", "--json", status=1,
                   LD_PRELOAD=str(LIB / "librecurraMutant.so"), RECURRA_MUTATION=mutation)
    value = parsed(done)
    assert value["passed"] is False
    assert value["worst"][tensor] > 1


def test_the_faulty_door_is_sound_without_a_mutation(recurra):
    recurra("check", "palimpsa", "--dtype", "f64", LD_PRELOAD=str(LIB / "librecurraMutant.so"))


def test_bench_has_its_fields(recurra):
    value = parsed(recurra("bench", "palimpsa", "-B", 1, "-T", 64, "-H", 2, "--size", "K=16", "V=32",
                           "--rounds", 3, "--json"))
    assert {"name", "B", "T", "H", "K", "V", "dtype", "threads", "forward_ms", "forward_backward_ms",
            "fma_share", "peak_bytes"} <= set(value)
    assert (value["B"], value["T"], value["H"], value["K"], value["V"]) == (1, 64, 2, 16, 32)
    assert 0 < value["forward_ms"] and 0 < value["fma_share"] < 1
    # q, k, v, g, beta have gradients; o and they are the least that a call makes.
    assert value["peak_bytes"] >= 4 * 64 * 2 * (16 + 16 + 32 + 1 + 32 + 32)


def test_doctor_has_its_fields(recurra):
    value = parsed(recurra("doctor", "--json"))
    assert {"cpu", "isa", "torch", "llvm", "nvrtc", "gpu", "missing"} <= set(value)
    assert value["isa"] in ("avx512", "avx2") and value["llvm"].startswith("22.")
    absent = {entry["what"] for entry in value["missing"]}
    assert absent == {key for key in ("torch", "nvrtc", "gpu") if value[key] is None}
    assert all(entry["remedy"] for entry in value["missing"])


def test_cache_counts_and_clears(recurra):
    recurra("bench", "linear_attention", "-T", 8, "--size", "K=8", "V=8", "--rounds", 1)
    before = parsed(recurra("cache", "--json"))
    assert before["entries"] >= 3 and before["bytes"] > 0
    after = parsed(recurra("cache", "--clear", "--json"))
    assert after["removed"] == before["entries"] and after["entries"] == 0


@pytest.mark.parametrize("arguments, words", [
    (["show", "nothing"], ["no recurrence 'nothing'", "palimpsa", "--load"]),
    (["--load", "/nowhere.txt", "list"], ["/nowhere.txt"]),
    (["inspect", "gla", "--stage", "rec", "--size", "Q=4"], ["no axis 'Q'", "K, V"]),
    (["inspect", "gla", "--stage", "rec", "--size", "K"], ["AXIS=SIZE"]),
    (["inspect", "gla", "--stage", "spirv"], ["spirv"]),
    (["check", "gla", "--dtype", "int8"], ["int8", "bf16"]),
    (["dance"], ["dance"]),
    ([], ["subcommand"]),
    (["inspect"], ["NAME"]),
    (["train", "/nowhere.toml"], ["/nowhere.toml"]),
])
def test_wrong_input_exits_2_and_says_why(recurra, arguments, words):
    done = recurra(*arguments, status=2)
    for word in words:
        assert word in done.stderr
    assert done.stdout == ""


def test_help_teaches_and_version_says(recurra):
    text = recurra("--help").stdout
    for command in ("list", "show", "inspect", "check", "bench", "train", "doctor", "cache"):
        assert command in text
        assert len(recurra(command, "--help").stdout.split("\n")) >= 5
    assert "Exit codes" in text
    assert recurra("--version").stdout.startswith("recurra 0.")


def test_train_runs_a_configuration(recurra, tmp_path):
    config = ROOT / "models" / "configs" / "recall-demo.toml"
    shape = parsed(recurra("train", config, "--describe", "--json"))
    assert shape["parameters"] > 10_000
    small = ["--set", "optimiser.steps=2", "run.validate_every=2", "data.validation=8", "data.batch=2"]
    value = parsed(recurra("train", config, "--out", tmp_path / "run", "--json", *small, status=3))
    assert value["status"] == 3 and "accuracy" in value["summary"]
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    assert {json.loads(line)["kind"] for line in lines} >= {"run", "end"}
