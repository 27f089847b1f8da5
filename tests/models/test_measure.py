"""Where the time of a step goes, and how fast a configuration trains."""
# SPDX-License-Identifier: Apache-2.0
import json

import pytest
from conftest import CONFIGS, DEVICE

PARTS = ["rest", "mixer", "matmul", "convolution", "norm", "gates", "loss", "optimiser"]
COUNTS = ("--warmup", "1", "--steps", "3", "--split", "2")


def measure(driver, *words):
    text = driver.call("measure", driver.config, "--output", "out", *COUNTS, *words).stdout
    assert text == (driver.folder / "out.txt").read_text()
    return text, json.loads((driver.folder / "out.json").read_text())


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_parts_add_up_to_the_step(driver, precision):
    words = ("--set", "model.mlp=true", "--set", f"run.precision={precision}")
    text, result = measure(driver, "--kernels", "5", *words)
    assert [part["part"] for part in result["parts"]] == PARTS
    assert sum(part["share"] for part in result["parts"]) == pytest.approx(1)
    for part in result["parts"]:
        assert part["forward_ms"] > 0 and part["part"] in text
        # The optimiser's work and the loss's gradient are no backward nodes' own.
        assert part["backward_ms"] > 0 or part["part"] == "optimiser"
    assert result["tokens"] == 32 * 24 and len(result["ms_of_steps"]) == 3
    assert result["tokens_per_second"] == pytest.approx(1e3 * result["tokens"] / result["ms"])
    mixer = next(p for p in result["parts"] if p["part"] == "mixer")
    assert f"32 sequences of 24 tokens: {mixer['forward_ms'] / 2:.3f} ms forward" in text
    assert 0 < len(result["kernels"]) <= 5 and all(k["calls"] > 0 for k in result["kernels"])
    longest = [k["ms"] for k in result["kernels"]]
    assert longest == sorted(longest, reverse=True)


def test_accumulated_batches_count_as_tokens(driver):
    _, result = measure(driver, "--kernels", "0", "--set", "optimiser.accumulate=2")
    assert result["tokens"] == 2 * 32 * 24 and "kernels" not in result


def test_without_a_mixer_it_takes_no_time(driver):
    _, result = measure(driver, "--kernels", "0", "--set", "model.mixer=none")
    times = {p["part"]: p["forward_ms"] + p["backward_ms"] for p in result["parts"]}
    assert times["mixer"] == times["convolution"] == times["gates"] == 0 < times["loss"]


def test_a_text_configuration_is_measured_without_its_file(driver):
    tiny = {"model.layers": 1, "model.width": 64, "model.heads": 2, "model.vocabulary": 300,
            "data.batch": 2, "data.length": 16, "optimiser.accumulate": 1,
            "run.precision": "float32", "run.device": DEVICE}  # fmt: skip
    words = [w for key, value in tiny.items() for w in ("--set", f"{key}={value}")]
    driver.call("measure", CONFIGS / "palimpsa-d-170m.toml", "--output", "out", *COUNTS, *words)
    result = json.loads((driver.folder / "out.json").read_text())
    assert result["config"]["data.vocabulary"] == "300" and result["tokens"] == 32


def test_a_place_that_cannot_be_written_is_named(driver):
    error = driver.call("measure", driver.config, *COUNTS, "--output", "no/out", status=2).stderr
    assert "cannot write no/out.json" in error
