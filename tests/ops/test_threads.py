# The ops' tasks run on torch's threads.
# SPDX-License-Identifier: Apache-2.0
import os
from pathlib import Path

import pytest
import torch

from harness import call, make


def ticks():
    """CPU time of each thread of this process."""
    found = {}
    for task in Path("/proc/self/task").iterdir():
        fields = (task / "stat").read_text().rsplit(")", 1)[1].split()
        found[task.name] = int(fields[11]) + int(fields[12])
    return found


@pytest.mark.parametrize("threads", (1, 2))
def test_tasks_run_on_as_many_threads_as_torch_has(threads):
    before_threads = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        case = make("palimpsa", B=2, T=1024, H=4, K=64, V=64, initial=False)
        with torch.no_grad():
            call(case, final=False)
            before = ticks()
            for _ in range(40):
                call(case, final=False)
            spent = [now - before.get(name, 0) for name, now in ticks().items()]
    finally:
        torch.set_num_threads(before_threads)
    busy = sum(x >= os.sysconf("SC_CLK_TCK") // 50 for x in spent)
    assert busy == threads, spent
