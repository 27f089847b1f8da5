"""That a model learns, that it is the recurrence which does, and the schedule."""
# SPDX-License-Identifier: Apache-2.0
import math
import os
import subprocess
import sys

import pytest
from conftest import CONFIGS, ROOT

RECALL = CONFIGS / "recall-demo.toml"
# Values are drawn from the upper half of the vocabulary.
CHANCE = 1 / 128


def train_recall(driver, *words, status=0):
    driver.call("train", RECALL, "--output", "run", "--set", "run.threads=2", *words, status=status)
    return driver.metrics("run", "validation"), driver.metrics("run", "end")[0]


def test_loss_falls(driver):
    driver.train("run", optimiser__steps=60)
    losses = [m["loss"] for m in driver.metrics("run", "train")]
    assert len(losses) == 60 and losses[0] > math.log(16)
    assert sum(losses[-5:]) / 5 < 0.9 * losses[0]


@pytest.mark.parametrize("mixer, learns", [("palimpsa", True), ("none", False)])
def test_recall_needs_the_mixer(driver, mixer, learns):
    """Of 7 keys and 8 values 4 pairs are learnt within a hundred steps or two,
    and with the mixer's output zeroed not at all."""
    driver.train(
        "run", optimiser__steps=400, run__validate_every=50, run__target_accuracy=0.9,
        run__checkpoint_every=1000, run__log_every=50, model__mixer=mixer, data__vocabulary=16,
        data__batch=64, model__width=64, model__heads=4, status=0 if learns else 3,
    )
    accuracy = [m["accuracy"] for m in driver.metrics("run", "validation")]
    if learns:
        assert accuracy[-1] >= 0.9
    else:
        assert len(accuracy) == 8 and max(accuracy) < 1.5 / 8


def test_demo_with_the_mixer_zeroed_stays_at_chance(driver):
    words = ("--set", "model.mixer=none", "--set", "optimiser.steps=300")
    validations, end = train_recall(driver, *words, status=3)
    assert end["reason"] == "missed target"
    assert all(m["accuracy"] < 2.5 * CHANCE for m in validations)
    assert all(m["loss"] > 0.98 * math.log(128) for m in validations)


seeds = (1, 2, 3) if os.environ.get("RECURRA_TEST_ALL") else (1,)


@pytest.mark.alone
@pytest.mark.parametrize("seed", seeds)
def test_demo_reaches_its_target(driver, seed):
    validations, end = train_recall(driver, "--set", f"run.seed={seed}")
    assert end["reason"] == "target" and validations[-1]["accuracy"] >= 0.95
    assert end["seconds"] < 240


def test_the_run_reports_the_target_it_missed(driver):
    done = driver.train("run", status=3, optimiser__steps=2, run__target_accuracy=0.99)
    assert done.stdout.startswith("target missed after 2 steps")
    assert driver.metrics("run", "end")[0]["reason"] == "missed target"


def test_a_run_past_its_target_goes_on_if_told_to(driver):
    driver.train(
        "run", optimiser__steps=6, run__validate_every=2, run__target_accuracy=0.001,
        run__stop_at_target=False,
    )
    assert driver.metrics("run", "validation")[-1]["step"] == 6


def test_progress_names_step_loss_speed_and_time_left(driver):
    error = driver.train("run", optimiser__steps=40).stderr
    for word in ("step 20/40", "loss ", "accuracy ", "tokens/s", " left"):
        assert word in error
    assert "\r" not in error
    assert driver.train("quiet", "--quiet", optimiser__steps=2).stderr == ""


def test_metrics_hold_what_a_curve_needs(driver):
    driver.train("run", optimiser__steps=20)
    run, train = driver.metrics("run")[:2]
    assert run["kind"] == "run" and run["parameters"] > 0 and run["config"]["model.width"] == "32"
    for key in ("step", "loss", "learning_rate", "gradient_norm", "tokens_per_second", "seconds"):
        assert train[key] > 0
    validation = driver.metrics("run", "validation")[0]
    assert validation["step"] == 20 and 0 <= validation["accuracy"] <= 1 and validation["loss"] > 0


def test_a_gradient_that_is_not_finite_ends_the_run(driver):
    error = driver.train(
        "run", status=1, optimiser__steps=50, optimiser__learning_rate=1e30, optimiser__warmup=0
    ).stderr
    assert "the gradient has not been finite for 10 steps" in error


def test_text_is_learnt_by_bytes(driver):
    line = b"the quick brown fox jumps over the lazy dog\n"
    (driver.folder / "text.txt").write_bytes(line * 200)
    words = ("--set", "data.kind=text", "--set", "data.path=text.txt", "--set", "data.length=64")
    driver.train("run", *words, optimiser__steps=80, data__batch=8, data__validation=16)
    # The commonest byte, the space, makes up a fifth of the text.
    assert driver.metrics("run", "validation")[-1]["accuracy"] > 0.6
    assert driver.metrics("run", "run")[0]["config"]["model.vocabulary"] == str(len(set(line)))


def test_a_text_that_is_too_short_is_refused(driver):
    (driver.folder / "text.txt").write_text("too short")
    words = ("--set", "data.kind=text", "--set", "data.path=text.txt")
    assert "is shorter than 'data.length' + 1 = 25 bytes" in driver.train("run", *words, status=2).stderr


def test_the_curve_is_drawn_from_the_metrics(driver):
    driver.train("run", optimiser__steps=40)
    command = [sys.executable, ROOT / "models/plot_curve.py", driver.folder / "run/metrics.jsonl"]
    drawn = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "validation accuracy" in drawn and "100% │" in drawn and "step 40: accuracy" in drawn
