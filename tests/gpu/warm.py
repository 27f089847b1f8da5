# Makes Triton compile a kernel's configurations side by side, and runs first
# calls in processes of their own, so that compiling costs minutes, not hours.
# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

TABLE = Path(__file__).parent / "table.py"


def compile_side_by_side(threads, choose):
    """When Triton's autotuner is about to time a kernel's configurations, first
    compile all of them in `threads` threads. With `choose` false each is
    launched once and none is preferred: enough to fill the cache on disk."""
    from triton.runtime._async_compile import AsyncCompileMode
    from triton.runtime.autotuner import Autotuner
    from triton.testing import do_bench

    prune, bench = Autotuner.prune_configs, Autotuner._bench

    def quickly(call, quantiles):
        if not choose:
            call()
            return [0.0] * len(quantiles)
        return do_bench(call, warmup=2, rep=15, quantiles=quantiles)

    def prune_and_keep(self, arguments):
        self.uncompiled = prune(self, arguments)
        return self.uncompiled

    def compile_and_bench(self, *values, config, **arguments):
        uncompiled, self.uncompiled = self.uncompiled, []
        with ThreadPoolExecutor(threads) as pool, AsyncCompileMode(
                pool, ignore_errors=True):
            for one in uncompiled:
                self.fn.run(*values, **{**arguments, **one.all_kwargs(), "warmup": True})
        self._do_bench = quickly
        self.__dict__.pop("do_bench", None)
        return bench(self, *values, config=config, **arguments)

    Autotuner.prune_configs, Autotuner._bench = prune_and_keep, compile_and_bench


def keep_choices(cache, file):
    """What the autotuner chose, from a cache folder into a small archive."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(cache.rglob("*.autotune.json")):
            archive.write(path, path.relative_to(cache))


def take_choices(cache, file):
    """Choices of an earlier run: only the chosen kernels compile then."""
    with zipfile.ZipFile(file) as archive:
        archive.extractall(cache)


@dataclass
class Worker:
    """A process of this program that works on a request."""

    label: str
    process: subprocess.Popen
    log: Path
    started: float

    @property
    def running(self):
        return self.process.poll() is None

    @property
    def seconds(self):
        return time.monotonic() - self.started

    def stop(self):
        self.process.kill()
        self.process.wait()

    def last_words(self):
        """The last line that says something: of a Python error, its message."""
        lines = [x.strip() for x in self.log.read_text(errors="replace").splitlines()]
        lines = [x for x in lines if x]
        return lines[-1][:200] if lines else "no output"


def start(label, request, log, environment):
    """Runs table.py on `request`, a list of its options."""
    with open(log, "w") as file:
        process = subprocess.Popen(
            [sys.executable, str(TABLE), *request], stdout=file,
            stderr=subprocess.STDOUT, env={**os.environ, **environment})
    return Worker(label, process, Path(log), time.monotonic())


def wait_for(workers, seconds, tell):
    """Label to None or what went wrong; those still running at the end are
    stopped."""
    result = {}
    end = time.monotonic() + seconds
    waiting = list(workers)
    while waiting:
        late = time.monotonic() > end
        for worker in list(waiting):
            if worker.running and not late:
                continue
            if worker.running:
                worker.stop()
                result[worker.label] = f"did not compile within {seconds:.0f} s"
            elif worker.process.returncode:
                result[worker.label] = worker.last_words()
            else:
                result[worker.label] = None
            waiting.remove(worker)
            tell(f"{worker.label}: {worker.seconds:.0f} s "
                 f"{result[worker.label] or 'ok'}")
        time.sleep(0.2)
    return result
