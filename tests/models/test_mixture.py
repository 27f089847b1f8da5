"""Training batches with fewer pairs than the validation asks for."""
# SPDX-License-Identifier: Apache-2.0
import json
import tomllib
from collections import Counter

import pytest

LENGTH, PAIRS, BATCH = 32, 8, 6
MIXTURE = [2, 4, 4, 8]


def configure(driver, mixture=MIXTURE, seed=3, **data):
    keys = {"length": LENGTH, "pairs": PAIRS, "batch": BATCH, "pairs_mixture": mixture} | data
    text = driver.config.read_text().replace("seed = 3", f"seed = {seed}")
    for key, value in keys.items():
        lines = [line for line in text.splitlines() if not line.startswith(f"{key} =")]
        at = lines.index("[data]") + 1
        text = "\n".join([*lines[:at], f"{key} = {json.dumps(value)}", *lines[at:], ""])
    driver.config.write_text(text)


def batches(driver, first=1, count=1):
    lines = driver.call("batches", driver.config, first, count).stdout.splitlines()
    *train, validation = map(json.loads, lines)
    return train, validation


def pairs_of(batch):
    return len(batch["targets"]) // batch["shape"][0]


def test_the_pairs_of_batches_follow_the_mixture(driver):
    configure(driver)
    count = 2000
    found = Counter(pairs_of(batch) for batch in batches(driver, count=count)[0])
    assert set(found) == {2, 4, 8}
    for pairs, share in ((2, 0.25), (4, 0.5), (8, 0.25)):
        sigma = (count * share * (1 - share)) ** 0.5
        assert abs(found[pairs] - count * share) < 5 * sigma


def test_every_batch_has_as_many_tokens_and_targets(driver):
    configure(driver)
    for batch in batches(driver, count=20)[0]:
        pairs, (rows, length) = pairs_of(batch), batch["shape"]
        assert (rows, length) == (BATCH * PAIRS // pairs, LENGTH * pairs // PAIRS)
        assert len(batch["targets"]) == BATCH * PAIRS
        for target, position in zip(batch["targets"], batch["positions"], strict=True):
            row = position // length
            shown = batch["tokens"][row * length : row * length + 2 * pairs]
            at = shown[::2].index(batch["tokens"][position])
            assert shown[2 * at + 1] == target == batch["tokens"][position + 1]


def test_validation_asks_for_all_pairs_whatever_the_mixture(driver):
    configure(driver)
    mixed = batches(driver)[1]
    assert pairs_of(mixed) == PAIRS and mixed["shape"] == [BATCH, LENGTH]
    configure(driver, mixture=[])
    assert batches(driver)[1] == mixed


def test_a_batch_depends_on_seed_and_step_alone(driver):
    configure(driver)
    train = batches(driver, count=12)[0]
    assert batches(driver, first=9, count=4)[0] == train[8:]
    configure(driver, seed=4)
    assert batches(driver, count=12)[0] != train


def test_a_resumed_run_sees_the_same_batches(driver):
    configure(driver)
    driver.train("whole", optimiser__steps=12, run__checkpoint_every=6)
    # As if it had been killed behind its first checkpoint.
    late = driver.checkpoints("whole")[-1]
    loss = [line["loss"] for line in driver.metrics("whole", "train")]
    model = (late / "model.safetensors").read_bytes()
    for file in late.iterdir():
        file.unlink()
    late.rmdir()
    driver.train("whole", "--resume", optimiser__steps=12, run__checkpoint_every=6)
    assert [line["loss"] for line in driver.metrics("whole", "train")] == loss
    assert (late / "model.safetensors").read_bytes() == model


def test_the_mixture_is_written_back(driver):
    configure(driver)
    driver.train("run", optimiser__steps=1)
    used = tomllib.loads((driver.folder / "run/config.toml").read_text())
    assert used["data"]["pairs_mixture"] == MIXTURE


@pytest.mark.parametrize(
    "keys, message",
    [
        ({"mixture": 4}, "'data.pairs_mixture' must be a list of whole numbers"),
        ({"mixture": [4, 2.5]}, "'data.pairs_mixture' must be a whole number"),
        ({"mixture": [4, 0]}, "'data.pairs_mixture' is 0 and must be at least 1"),
        ({"mixture": [4, 3]}, "'data.pairs_mixture' has 3, which must divide 'data.pairs' = 8"),
        ({"mixture": [16]}, "'data.pairs_mixture' has 16, which must divide"),
        ({"mixture": [2], "length": 34}, "a number that divides 'data.length' = 34"),
    ],
)
def test_a_mixture_that_does_not_fit_is_refused(driver, keys, message):
    configure(driver, **keys)
    assert message in driver.call("train", driver.config, "--output", "run", status=2).stderr
    assert not (driver.folder / "run").exists()
