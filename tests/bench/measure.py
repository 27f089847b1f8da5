"""How the bench measures: medians of interleaved rounds, peak memory, machine."""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import gc
import os
import platform
import statistics
import time
from pathlib import Path


def cpu_name():
    for line in Path("/proc/cpuinfo").read_text().split("\n"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def machine():
    """The machine that the figures belong to."""
    flags = Path("/proc/cpuinfo").read_text()
    lines = dict(
        line.split(":", 1) for line in Path("/proc/meminfo").read_text().split("\n") if ":" in line
    )
    return {
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "isa": "avx512" if "avx512f" in flags else "avx2" if "avx2" in flags else "sse2",
        "memory_gib": round(int(lines["MemTotal"].split()[0]) / 2**20, 1),
        "load_at_start": os.getloadavg()[0],
    }


def _status(field):
    for line in Path("/proc/self/status").read_text().split("\n"):
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status lacks {field}")


def peak_bytes(call):
    """How far the process's resident memory rises above its level before the
    call; the second call, so that one-time costs are not in it. The process
    runs with MALLOC_MMAP_THRESHOLD_ low, so that freed tensors do not count."""
    call()
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    call()
    return max(0, _status("VmHWM") - before)


def timed(call):
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


def medians(calls, budget_seconds=20, most=31, least=3):
    """{name: median ms}. Rounds go over all the calls in turn, so that a slow
    spell of the machine meets each alike; slow calls sit rounds out."""
    times = {name: [] for name in calls}
    for call in calls.values():
        call()
    start, rounds = time.monotonic(), 0
    while rounds < most and (rounds < least or time.monotonic() - start < budget_seconds):
        for name, call in calls.items():
            slow = times[name] and statistics.median(times[name]) > 500
            if not slow or len(times[name]) < least:
                times[name].append(timed(call))
        rounds += 1
    return {name: statistics.median(values) for name, values in times.items()}
