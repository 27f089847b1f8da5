"""Checkpoints: readable elsewhere, whole or absent, and resumed to the bit."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import signal
import subprocess
import time

import pytest
import torch
from conftest import BUILD
from safetensors import safe_open
from safetensors.torch import load_file, save_file


def files(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.safetensors")}


def without_times(lines):
    timed = ("seconds", "tokens_per_second")
    return [{k: v for k, v in line.items() if k not in timed} for line in lines]


def test_safetensors_reads_every_parameter(driver):
    driver.train("run", optimiser__steps=2)
    described = json.loads(driver.call("describe", driver.config).stdout)
    tensors = load_file(driver.folder / "run/step-000002/model.safetensors")
    assert {n: list(t.shape) for n, t in tensors.items()} == {
        t["name"]: t["shape"] for t in described["tensors"]
    }
    assert all(t.dtype == torch.float32 and t.isfinite().all() for t in tensors.values())
    assert (tensors["model.layers.0.attn.Ip_log"] == 0).all()
    with safe_open(driver.folder / "run/step-000002/training.safetensors", "pt") as training:
        assert training.metadata()["step"] == "2"
        assert training.get_tensor("steps") == 2
        trained = {t["name"] for t in described["tensors"] if not t["frozen"]}
        names = {f"{kind}.{n}" for n in trained for kind in ("exp_avg", "exp_avg_sq")}
        assert set(training.keys()) == names | {"steps"}


@pytest.mark.parametrize("threads", [1, 2])
def test_resume_is_exact_to_the_bit(driver, threads):
    text = driver.config.read_text()
    driver.config.write_text(text.replace("threads = 1", f"threads = {threads}"))
    driver.train("whole", optimiser__steps=40)
    # The other run is killed between its checkpoint of step 20 and its end.
    command = [BUILD / "bin/models-driver", "train", driver.config, "--output", "part"]
    part = subprocess.Popen(command, cwd=driver.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not driver.checkpoints("part") or driver.metrics("part")[-1]["step"] < 24:
        assert part.poll() is None, "ended before it was killed"
        time.sleep(0.002)
    part.kill()
    part.wait()
    assert [c.name for c in driver.checkpoints("part")] == ["step-000020"]
    driver.train("part", "--resume")
    assert without_times(driver.metrics("part")) == without_times(driver.metrics("whole"))
    assert [c.name for c in driver.checkpoints("part")] == ["step-000020", "step-000040"]
    for mine, theirs in zip(driver.checkpoints("part"), driver.checkpoints("whole")):
        one, other = files(mine), files(theirs)
        assert one.keys() == other.keys() and one["model.safetensors"] == other["model.safetensors"]
        a, b = (load_file(f / "training.safetensors") for f in (mine, theirs))
        assert a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def test_resume_cuts_the_metrics_back_to_the_checkpoint(driver):
    driver.train("run", optimiser__steps=30)
    path = driver.folder / "run/metrics.jsonl"
    whole = driver.metrics("run")
    # A crash at step 30: the last checkpoint is gone, a line is torn.
    for old in (driver.folder / "run/step-000030").iterdir():
        old.unlink()
    (driver.folder / "run/step-000030").rmdir()
    path.write_text(path.read_text() + '{"kind": "train", "step": 31, "lo')
    driver.train("run", "--resume", optimiser__steps=30)
    assert without_times(driver.metrics("run")) == without_times(whole)
    seconds = [m["seconds"] for m in driver.metrics("run") if "seconds" in m]
    assert seconds == sorted(seconds)


def test_resume_goes_on_with_the_next_of_accumulated_batches(driver):
    settings = dict(optimiser__steps=8, optimiser__accumulate=3, run__checkpoint_every=4)
    driver.train("run", **settings)
    whole, last = driver.metrics("run"), driver.folder / "run/step-000008"
    kept = files(last)
    for old in last.iterdir():
        old.unlink()
    last.rmdir()
    assert "resuming run/step-000004" in driver.train("run", "--resume", **settings).stderr
    assert without_times(driver.metrics("run")) == without_times(whole)
    assert files(last)["model.safetensors"] == kept["model.safetensors"]


def test_precision_is_a_key_that_changes_the_numbers(driver):
    driver.train("run", optimiser__steps=2)
    words = ("--resume", "--set", "optimiser.steps=2", "--set", "run.precision=bfloat16")
    assert "'run.precision' is \"bfloat16\" now" in driver.train("run", *words, status=2).stderr


def test_an_interrupt_leaves_a_checkpoint_to_resume(driver):
    command = [BUILD / "bin/models-driver", "train", driver.config, "--output", "run",
               "--set", "optimiser.steps=100000"]  # fmt: skip
    run = subprocess.Popen(command, cwd=driver.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    while not (driver.folder / "run/metrics.jsonl").exists() or len(driver.metrics("run")) < 4:
        time.sleep(0.01)
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=60)
    assert run.returncode == 130 and out.startswith("interrupted after")
    end = driver.metrics("run", "end")[0]
    assert end["reason"] == "interrupted"
    assert [c.name for c in driver.checkpoints("run")] == [f"step-{end['step']:06}"]


def test_only_the_newest_checkpoints_stay_and_no_temporary_one(driver):
    driver.train("run", optimiser__steps=6, run__checkpoint_every=1)
    names = sorted(os.listdir(driver.folder / "run"))
    assert names == ["config.toml", "metrics.jsonl", "step-000005", "step-000006"]


def test_an_unfinished_checkpoint_is_not_resumed(driver):
    driver.train("run", optimiser__steps=4, run__checkpoint_every=2)
    os.rename(driver.folder / "run/step-000004", driver.folder / "run/step-000004.tmp")
    assert "resuming run/step-000002" in driver.train("run", "--resume", optimiser__steps=4).stderr
    assert not (driver.folder / "run/step-000004.tmp").exists()


def test_an_earlier_run_is_moved_aside_unless_it_may_be_replaced(driver):
    driver.train("run", optimiser__steps=2)
    assert "run is now run.1" in driver.train("run", optimiser__steps=3).stderr
    assert driver.metrics("run.1")[-1]["step"] == 2
    driver.train("run", "--overwrite", optimiser__steps=4)
    assert [c.name for c in driver.checkpoints("run")] == ["step-000004"]
    assert not (driver.folder / "run.2").exists()


def test_resume_without_a_checkpoint_says_so(driver):
    error = driver.train("run", "--resume", status=2).stderr
    assert error.startswith("error: no checkpoint to resume in run")


@pytest.mark.parametrize("key, value", [("optimiser.learning_rate", "0.5"), ("run.seed", "9")])
def test_resume_refuses_a_key_that_would_change_the_numbers(driver, key, value):
    driver.train("run", optimiser__steps=2)
    words = ("--resume", "--set", "optimiser.steps=2", "--set", f"{key}={value}")
    error = driver.train("run", *words, status=2).stderr
    assert f"cannot resume run/step-000002: '{key}' is {value} now and was" in error


def test_resume_allows_what_does_not(driver):
    driver.train("run", optimiser__steps=2)
    driver.train("run", "--resume", optimiser__steps=2, run__log_every=5)


def damage(path, how):
    if how == "truncated":
        path.write_bytes(path.read_bytes()[:-8])
        return
    if how == "header":
        path.write_bytes(path.read_bytes()[:8] + b"?" + path.read_bytes()[9:])
        return
    with safe_open(path, "pt") as file:
        notes = file.metadata()
    tensors = load_file(path)
    name = "model.norm.weight"
    if how == "missing":
        del tensors[name]
    elif how == "unknown":
        tensors["model.extra"] = tensors[name].clone()
    else:
        tensors[name] = tensors[name][:-1].clone()
    save_file(tensors, path, notes)


@pytest.mark.parametrize(
    "how, message",
    [
        ("truncated", "does not match its bytes; the file is damaged"),
        ("header", "damaged safetensors header"),
        ("missing", "lacks 'model.norm.weight'"),
        ("unknown", "holds 'model.extra', which this model does not have"),
        ("shape", "'model.norm.weight' is F32[31] and this model has F32[32]"),
    ],
)
def test_a_damaged_checkpoint_is_refused(driver, how, message):
    driver.train("run", optimiser__steps=2)
    damage(driver.folder / "run/step-000002/model.safetensors", how)
    error = driver.train("run", "--resume", optimiser__steps=2, status=2).stderr
    assert message in error
