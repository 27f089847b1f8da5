"""Runs the driver program of these tests and reads what it leaves behind."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("RECURRA_BUILD_DIR", ROOT / "build"))
CONFIGS = ROOT / "models" / "configs"

# The same tests run on a GPU with RECURRA_TEST_DEVICE=cuda.
DEVICE = os.environ.get("RECURRA_TEST_DEVICE", "cpu")

# A task that two small layers learn in seconds: 4 pairs of 15 keys.
TINY = f"""
[data]
kind = "recall"
length = 24
pairs = 4
vocabulary = 32
batch = 32
validation = 256

[model]
layers = 2
width = 32
heads = 2
key_size = 16
value_size = 16
beta_rank = 4
mlp = false
init_std = 0.177
gates = "small"

[optimiser]
learning_rate = 1e-2
warmup = 20
steps = 40

[run]
device = "{DEVICE}"
seed = 3
threads = 1
log_every = 1
validate_every = 20
checkpoint_every = 20
"""


# Two threads that wait by spinning starve each other on a busy machine.
ENVIRONMENT = os.environ | {"OMP_WAIT_POLICY": "passive"}


def pytest_configure(config):
    config.addinivalue_line("markers", "alone: measures time: nothing may run beside it")


class Driver:
    """The driver in a folder of its own, with a configuration in it."""

    def __init__(self, folder):
        self.folder = folder
        self.config = folder / "config.toml"
        self.config.write_text(TINY)

    def call(self, *words, status=0):
        done = subprocess.run(
            [BUILD / "bin" / "models-driver", *map(str, words)],
            capture_output=True, text=True, cwd=self.folder, env=ENVIRONMENT,
        )
        assert done.returncode == status, f"status {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def train(self, output, *words, status=0, **settings):
        """settings: optimiser__steps=10 stands for --set optimiser.steps=10."""
        for key, value in settings.items():
            words += ("--set", f"{key.replace('__', '.')}={json.dumps(value)}")
        return self.call("train", self.config, "--output", output, *words, status=status)

    def metrics(self, output, kind=None):
        lines = (self.folder / output / "metrics.jsonl").read_text().splitlines()
        return [line for line in map(json.loads, lines) if kind in (None, line["kind"])]

    def checkpoints(self, output):
        return sorted((self.folder / output).glob("step-*"))


@pytest.fixture
def driver(tmp_path):
    return Driver(tmp_path)
