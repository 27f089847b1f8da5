# The GPU suite's settings: where it runs, its parts, and what it says when there
# is no GPU. SPDX-License-Identifier: Apache-2.0
"""RECURRA_SHARD=i/n runs the i-th of n parts (from 1), RECURRA_SHARD=alone the
tests that need the GPU for themselves; suite.py starts them all."""
import os
import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent.parent / "ops"))

from on_gpu import DEVICE, missing  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "alone: needs the GPU, or most of its memory, for itself")
    config.addinivalue_line("markers", "host: a test of the suite's own parts, on any machine")


def share(items, shard):
    """The items of a part; every part has its share of each test function."""
    if shard == "alone":
        return [x for x in items if x.get_closest_marker("alone")]
    part, parts = (int(x) for x in shard.split("/"))
    rest = [x for x in items if not x.get_closest_marker("alone")]
    return rest[part - 1::parts]


def pytest_collection_modifyitems(config, items):
    shard = os.environ.get("RECURRA_SHARD")
    if shard:
        kept = share(items, shard)
        config.hook.pytest_deselected(items=[x for x in items if x not in kept])
        items[:] = kept
    for item in items:
        if missing() and not item.get_closest_marker("host"):
            item.add_marker(pytest.mark.skip(reason="no NVIDIA GPU"))
        elif DEVICE.type != "cuda" and item.get_closest_marker("alone"):
            item.add_marker(pytest.mark.skip(reason="no NVIDIA GPU: too large to try"))


def pytest_terminal_summary(terminalreporter):
    if missing():
        terminalreporter.write_line(
            "The GPU suite did not run: there is no NVIDIA GPU here.")
    elif DEVICE.type != "cuda":
        terminalreporter.write_line(
            f"A trial on {DEVICE}: nothing was tested on a GPU.")


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """Kernels of an earlier build must not be what these tests run; the parts
    of suite.py share a cache of their own."""
    import recurra

    if "RECURRA_CACHE_DIR" not in os.environ:
        recurra.set_option("cache_dir", str(tmp_path_factory.mktemp("kernels")))
    recurra.set_option("quiet", True)


@pytest.fixture(autouse=True)
def memory_goes_back():
    yield
    if DEVICE.type == "cuda" and torch.cuda.is_available():
        torch.cuda.empty_cache()
