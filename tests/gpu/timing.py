# Times of several functions in one run: events around each call, the L2 cache
# flushed before it, functions and input sets in turn, medians.
# SPDX-License-Identifier: Apache-2.0
import statistics
import time

import torch

FLUSH_BYTES = 256 << 20


class Clock:
    """CUDA events on a GPU, the host's clock elsewhere."""

    def __init__(self, device):
        self.on_gpu = torch.device(device).type == "cuda"
        self.cache = (torch.empty(FLUSH_BYTES, dtype=torch.int8, device=device)
                      if self.on_gpu else None)

    def time(self, function):
        """Runs `function`; what it returns gives milliseconds once `wait` ran."""
        if not self.on_gpu:
            start = time.perf_counter()
            function()
            spent = (time.perf_counter() - start) * 1e3
            return lambda: spent
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.cache.zero_()
        start.record()
        function()
        end.record()
        return lambda: start.elapsed_time(end)

    def wait(self):
        if self.on_gpu:
            torch.cuda.synchronize()

    def once(self, function):
        """Milliseconds of one call, alone."""
        self.wait()
        taken = self.time(function)
        self.wait()
        return taken()


def rounds(milliseconds, budget, least=5, most=40):
    """How often a call fits into `budget` ms, within limits."""
    return max(least, min(most, int(budget / max(milliseconds, 1e-3))))


def interleaved(clock, functions, counts, failed):
    """`functions`: name to one function per input set. Round after round each
    runs on the next set until its count is reached. Returns name to
    milliseconds; a function that raises goes to `failed(name, error)`."""
    taken = {name: [] for name in functions}
    for turn in range(max(counts.values(), default=0)):
        for name, sets in functions.items():
            if name not in taken or turn >= counts[name]:
                continue
            try:
                taken[name].append(clock.time(sets[turn % len(sets)]))
            except Exception as error:
                del taken[name]
                failed(name, error)
    clock.wait()
    return {name: [x() for x in times] for name, times in taken.items()}


def median(times):
    return statistics.median(times) if times else None


def graph_of(function):
    """A CUDA graph of one call: its replay costs the host next to nothing."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        function()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        function()
    return graph


def peak_bytes(function):
    """What a call allocates at its peak beyond what was there before it."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    function()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before
