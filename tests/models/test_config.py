"""What a configuration may say, and what the trainer answers if it may not."""
# SPDX-License-Identifier: Apache-2.0
import tomllib

import pytest
import torch
from conftest import CONFIGS, TINY


def refuse(driver, text, *words):
    driver.config.write_text(text)
    error = driver.call("train", driver.config, "--output", "run", *words, status=2).stderr
    assert error.startswith("error: ")
    assert not (driver.folder / "run").exists()
    return error


def test_an_unknown_key_is_named_with_file_line_and_the_nearest_key(driver):
    error = refuse(driver, "[optimiser]\nwarmup = 3\nlearnig_rate = 1e-3\n")
    assert f"{driver.config}:3: unknown key 'optimiser.learnig_rate'" in error
    assert "nearest known key is 'optimiser.learning_rate'" in error


def test_a_known_key_in_the_wrong_table_is_led_home(driver):
    assert "'data.batch'" in refuse(driver, "[run]\nbatch = 3\n")


def test_an_unknown_table_and_a_key_outside_a_table(driver):
    assert "unknown key 'optimizer.steps'" in refuse(driver, "[optimizer]\nsteps = 3\n")
    assert "config.toml:1: unknown key 'steps'" in refuse(driver, "steps = 3\n")


@pytest.mark.parametrize(
    "text, message",
    [
        ("[model]\nlayers = 2.5\n", ":2: 'model.layers' must be a whole number"),
        ('[model]\nlayers = "2"\n', ":2: 'model.layers' must be a whole number"),
        ("[model]\nmlp = 1\n", ":2: 'model.mlp' must be true or false"),
        ("[run]\nname = 3\n", ":2: 'run.name' must be a string"),
        ("[optimiser]\nlearning_rate = true\n", "'optimiser.learning_rate' must be a number"),
        ("[model]\n\nlayers = 0\n", ":3: 'model.layers' is 0 and must be at least 1"),
        ("[optimiser]\nbeta1 = 1.5\n", "'optimiser.beta1' is 1.5 and must be at least 0 and at most 1"),
        ('[model]\nmixer = "palimsest"\n', "must be one of 'palimpsa', 'simple_gla', 'convolution', 'none'"),
        ("[model\n", "config.toml:1: "),
        ("[data]\nlength = 20\npairs = 8\n", "'data.length' must be at least 4 times"),
        ("[data]\nvocabulary = 16\n", "must hold 'data.pairs' different keys"),
        ('[data]\nkind = "text"\n', "'data.path' must name a file"),
        ('[data]\nkind = "text"\npath = "no.txt"\n', "cannot read no.txt: No such file"),
        ("[model]\nvocabulary = 100\n", "'model.vocabulary' is 100 and the data has 256 tokens"),
    ],
)
def test_a_wrong_value_is_refused(driver, text, message):
    assert message in refuse(driver, text)


def test_a_missing_file_is_named(driver):
    assert "nowhere.toml" in driver.call("train", "nowhere.toml", status=2).stderr


def test_overrides_are_checked_like_the_file(driver):
    assert "--set model.layer=3: unknown key 'model.layer'" in refuse(
        driver, TINY, "--set", "model.layer=3"
    )
    assert "table.key=value" in refuse(driver, TINY, "--set", "layers=3")
    assert "must be a whole number" in refuse(driver, TINY, "--set", "model.layers=x")


def test_overrides_win_and_a_bare_word_is_a_string(driver):
    driver.call(
        "train", driver.config, "--output", "run", "--set", "optimiser.steps=2",
        "--set", "model.mixer=none", "--set", "run.log_every = 1",
    )
    used = tomllib.loads((driver.folder / "run" / "config.toml").read_text())
    assert used["optimiser"]["steps"] == 2 and used["model"]["mixer"] == "none"
    assert used["optimiser"]["learning_rate"] == 1e-2 and used["data"]["pairs"] == 4


def test_the_written_configuration_repeats_the_run(driver):
    driver.train("first", optimiser__steps=5)
    driver.config.write_text((driver.folder / "first" / "config.toml").read_text())
    driver.train("second")
    losses = [[m["loss"] for m in driver.metrics(o, "train")] for o in ("first", "second")]
    assert losses[0] == losses[1]


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_a_gpu_that_is_not_there_is_missed(driver):
    error = refuse(driver, TINY, "--set", "run.device=cuda")
    assert "'run.device' is 'cuda' and torch finds no CUDA device" in error and "'cpu'" in error


def test_a_string_is_written_as_it_was_read(driver):
    name = 'a "quoted" \\ name\twith é'
    driver.train("run", optimiser__steps=1, run__name=name)
    assert tomllib.loads((driver.folder / "run/config.toml").read_text())["run"]["name"] == name


def test_the_shipped_configurations_are_valid(driver):
    paths = sorted(CONFIGS.glob("*.toml"))
    assert paths
    for path in paths:
        driver.call("describe", path, "--set", "data.kind=recall")
