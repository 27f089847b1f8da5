# Options and settings of the ops' tests.
# SPDX-License-Identifier: Apache-2.0
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true",
                     help="the whole product of cases, not the listed sample")


def pytest_configure(config):
    if config.getoption("--all"):
        os.environ["RECURRA_TEST_ALL"] = "1"


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """Kernels of an earlier build must not be what these tests run."""
    import recurra

    recurra.set_option("cache_dir", str(tmp_path_factory.mktemp("kernels")))
    recurra.set_option("quiet", True)
