"""First calls, cold and from the disk cache, and an incremental rebuild."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OPS = ("palimpsa", "simple_gla", "gated_delta_rule")

# One op's first forward and backward in a fresh process, library loaded.
FIRST_CALL = """
import sys, time
sys.path.insert(0, sys.argv[1])
import peers, torch, recurra
torch.set_num_threads(2)
x = {n: v.requires_grad_() for n, v in peers.inputs(sys.argv[2], 1, 64, 4, 64, 64).items()}
torch.ones(8, requires_grad=True).sum().backward()
call = getattr(recurra.ops, sys.argv[2])
start = time.perf_counter()
call(**x)[0].sum().backward()
print((time.perf_counter() - start) * 1e3)
"""


def first_call(op, cache):
    done = subprocess.run(
        [sys.executable, "-c", FIRST_CALL, str(Path(__file__).parent), op],
        check=True, capture_output=True, text=True, env={**os.environ, "RECURRA_CACHE_DIR": str(cache)},
    )
    return float(done.stdout.split()[-1])


def rebuild(pass_file):
    """Milliseconds to rebuild librecurra and recurra-opt after one pass changed,
    compiler cache off."""
    (ROOT / pass_file).touch()
    start = time.perf_counter()
    subprocess.run(
        [ROOT / "dev", "build", "recurra", "recurra-opt"], check=True, capture_output=True, env={**os.environ, "CCACHE_DISABLE": "1"}
    )
    return (time.perf_counter() - start) * 1e3


def measure_all():
    found = {}
    for op in OPS:
        with tempfile.TemporaryDirectory() as cache:
            found[f"first call of {op}, forward and backward, cold"] = first_call(op, cache)
            found[f"first call of {op}, from the disk cache"] = min(first_call(op, cache) for _ in range(3))
    found["incremental rebuild after a change in Linearise.cpp"] = rebuild("compiler/passes/Linearise.cpp")
    return found


if __name__ == "__main__":
    print(json.dumps(measure_all(), indent=1))
