# Finds and loads librecurra_ops.so, which registers the torch ops; no
# arithmetic happens in Python.
# SPDX-License-Identifier: Apache-2.0
import json
from pathlib import Path

import torch


def _find():
    """build/python/recurra and <prefix>/python/recurra both lie beside lib/."""
    here = Path(__file__).parent
    places = [root / "librecurra_ops.so"
              for root in (here, here.parent.parent / "lib")]
    for place in places:
        if place.exists():
            return place
    raise ImportError(
        "recurra: librecurra_ops.so is in none of "
        f"{', '.join(str(place.parent) for place in places)}; build it with "
        "`./dev build`, or install the package with its lib folder")


torch.ops.load_library(str(_find()))
library = torch.ops.recurra


def counters():
    """What the process compiled and found in its caches, as a dict:
    compilations, memory_hits, disk_hits, disk_rejects."""
    return json.loads(library.counters())


def about():
    """Version, LLVM, host processor and cache of the library, as a dict."""
    return json.loads(library.about())


def set_option(name, value):
    """Sets "cache_dir", "cache_limit_bytes" or "quiet" for this process."""
    library.set_option(name, str(int(value) if isinstance(value, bool) else value))
