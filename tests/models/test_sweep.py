"""The comparison of mixers: one run per point of the grid, one file of curves."""
# SPDX-License-Identifier: Apache-2.0
import json
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from conftest import ENVIRONMENT, ROOT

PLOT = ROOT / "models/plot_sweep.py"

GRID = ("--output", "grid", "--rates", "1e-2,3e-4", "--seeds", "1,2", "--parallel", "2")


def compare(driver, *words, status=0, steps=20):
    settings = ("--set", f"optimiser.steps={steps}", "--set", "run.validate_every=10")
    done = driver.call("mqar", driver.config, *GRID, *settings, *words, status=status)
    return done, json.loads((driver.folder / "grid/sweep.json").read_text())


def test_every_point_has_a_curve_and_the_best_rate_counts(driver):
    done, result = compare(driver)
    points = {(r["mixer"], r["learning_rate"], r["seed"]) for r in result["runs"]}
    mixers = ("palimpsa", "simple_gla")
    assert points == {(m, r, s) for m in mixers for r in (1e-2, 3e-4) for s in (1, 2)}
    assert len(result["runs"]) == 8
    for run in result["runs"]:
        folder = f"grid/{run['mixer']}-{run['learning_rate']:g}-{run['seed']}"
        lines = driver.metrics(folder, "validation")
        assert run["steps"] == [10, 20] and run["reason"] == "steps"
        assert run["accuracy"] == [line["accuracy"] for line in lines]
        assert driver.metrics(folder, "run")[0]["config"]["model.mixer"] == f'"{run["mixer"]}"'
    for best, mixer in zip(result["best"], mixers, strict=True):
        assert best["mixer"] == mixer
        for entry, seed in zip(best["seeds"], (1, 2), strict=True):
            ends = [r["accuracy"][-1] for r in result["runs"] if (r["mixer"], r["seed"]) == (mixer, seed)]
            assert entry["seed"] == seed and entry["accuracy"] == max(ends)
        mean = sum(entry["accuracy"] for entry in best["seeds"]) / 2
        assert best["mean_accuracy"] == pytest.approx(mean)
    assert (driver.folder / "grid/sweep.txt").read_text() in done.stdout


def test_a_run_is_the_one_that_train_would_make(driver):
    _, result = compare(driver, "--mixers", "simple_gla", steps=10)
    assert len(result["runs"]) == 4
    driver.train("alone", optimiser__steps=10, optimiser__learning_rate=1e-2, run__seed=2,
                 run__validate_every=10, model__mixer="simple_gla")  # fmt: skip
    run = next(r for r in result["runs"] if r["learning_rate"] == 1e-2 and r["seed"] == 2)
    assert run["loss"] == [driver.metrics("alone", "validation")[0]["loss"]]


def test_runs_that_fail_are_named_and_the_others_kept(driver):
    settings = ("--mixers", "palimpsa,palimpsest", "--seeds", "1", "--rates", "1e-2")
    done, result = compare(driver, *settings, status=1, steps=10)
    assert "of 2 runs these failed: palimpsest-0.01-1 (status 2)" in done.stderr
    assert [r["mixer"] for r in result["runs"]] == ["palimpsa"]


# Stands in for the driver: leaves a run's metrics, and says how it was called.
STANDIN = """#!/bin/sh
echo "gpu=$CUDA_VISIBLE_DEVICES $*" >> calls
mkdir -p "$4"
echo '{"kind": "end", "step": 1, "reason": "steps", "seconds": 0}' > "$4/metrics.jsonl"
sleep 0.3
"""


def record_calls(driver, *words):
    program = driver.folder / "standin"
    program.write_text(STANDIN)
    program.chmod(0o755)
    _, result = compare(driver, *words, "--program", program)
    return (driver.folder / "calls").read_text().splitlines(), result


def test_runs_take_the_gpus_in_turn(driver):
    calls, _ = record_calls(driver, "--gpus", "3,5", "--parallel", "4")
    assert len(calls) == 8
    # Four at a time: each GPU has two of them, also later.
    for some in (calls[:4], calls[4:]):
        assert sorted(call.split()[0] for call in some) == ["gpu=3", "gpu=3", "gpu=5", "gpu=5"]


def test_one_gpu_is_left_as_it_is_named(driver, monkeypatch):
    monkeypatch.setitem(ENVIRONMENT, "CUDA_VISIBLE_DEVICES", "7")
    calls, _ = record_calls(driver, "--gpus", "3")
    assert {call.split()[0] for call in calls} == {"gpu=7"}


@pytest.mark.alone
def test_a_run_ends_when_the_time_of_the_sweep_is_over(driver):
    words = ("--mixers", "palimpsa", "--rates", "1e-2", "--parallel", "2", "--seconds", "6")
    _, result = compare(driver, *words, steps=100000)
    assert len(result["runs"]) == 2 and result["not_started"] == []
    for run in result["runs"]:
        assert run["reason"] == "time" and 0 < run["seconds"] < 7
        folder = f"grid/{run['mixer']}-{run['learning_rate']:g}-{run['seed']}"
        # Its last step was logged, validated and kept.
        last = run["steps"][-1]
        assert driver.metrics(folder, "train")[-1]["step"] == last < 100000
        assert driver.checkpoints(folder)[-1].name == f"step-{last:06}"


def test_runs_without_time_left_are_named(driver):
    calls, result = record_calls(driver, "--seconds", "0.5", "--parallel", "2")
    started = len(calls)
    assert 2 <= started < 8 and len(result["runs"]) == started
    assert len(result["not_started"]) == 8 - started
    assert result["not_started"][-1] == "simple_gla-0.0003-2"
    text = (driver.folder / "grid/sweep.txt").read_text()
    assert "not started for want of time: simple_gla-0.0003-2" in text
    assert all(0 < float(call.split("--seconds ")[1]) <= 0.5 for call in calls)


def test_the_plot_has_a_line_for_every_run(tmp_path):
    runs = [
        {"mixer": mixer, "learning_rate": rate, "seed": 1, "steps": [50, 100], "accuracy": [0.25, 1.0]}
        for mixer in ("palimpsa", "simple_gla")
        for rate in (1e-3, 3e-3)
    ]
    runs.append(runs[0] | {"steps": [], "accuracy": []})
    (tmp_path / "sweep.json").write_text(json.dumps({"runs": runs}))
    program = [sys.executable, PLOT, tmp_path / "sweep.json", tmp_path / "sweep.svg"]
    subprocess.run(program, check=True)
    root = ElementTree.parse(tmp_path / "sweep.svg").getroot()
    name = "{http://www.w3.org/2000/svg}"
    ends = [(dot.get("cx"), dot.get("cy")) for dot in root.iter(f"{name}circle")]
    left, width, top, height = 52, 560, 16, 300
    assert ends[:4] == [(f"{left + width:.1f}", f"{top:.1f}")] * 4
    assert ends[4:] == [(f"{left:.1f}", f"{top + height:.1f}")]
    words = [text.text for text in root.iter(f"{name}text")]
    assert "palimpsa 0.001, 100.0 %" in words and "simple_gla 0.003, 100.0 %" in words
