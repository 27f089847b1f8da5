# The GPU suite in several processes, with one log.
# SPDX-License-Identifier: Apache-2.0
"""python tests/gpu/suite.py --log FILE

Runs tests/gpu with pytest in parts side by side, then the tests that need the
GPU for themselves, and writes every test's result. Further arguments go to
pytest, as in `suite.py -k gates`."""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass
class Part:
    """A pytest process; `report` is its JUnit file, `output` what it printed."""

    name: str
    process: subprocess.Popen
    report: Path
    output: Path

    def results(self):
        """(test, result, reason, seconds) of all, and what ended the process
        badly; of one that wrote no report, what it printed until then."""
        found = []
        if self.report.exists():
            for case in ElementTree.parse(self.report).getroot().iter("testcase"):
                found.append((f"{case.get('classname', '').split('.')[-1]}::"
                              f"{case.get('name')}", *result_of(case),
                              float(case.get("time", 0))))
        else:
            lines = re.findall(
                r"^(?:.*/)?(\w+)\.py(::.+?)(?: (PASSED|FAILED|ERROR|SKIPPED).*| *)$",
                               self.output.read_text(errors="replace"), re.M)
            found = [(f"{file}{test}", word or "FAILED", "" if word else
                      "the process ended in it", 0.0) for file, test, word in lines]
        status = self.process.returncode
        if status not in (0, 1, 5) or (status == 1 and not found):
            found.append((f"part {self.name}", "FAILED", f"exit status {status}", 0.0))
        return found


def result_of(case):
    """("PASSED" and the like, the reason)."""
    for tag, word in (("failure", "FAILED"), ("error", "FAILED"), ("skipped", "SKIPPED")):
        node = case.find(tag)
        if node is not None:
            return word, " ".join((node.get("message") or "").split())[:300]
    printed = case.findtext("system-out") or ""
    return "PASSED", " | ".join(
        x for x in printed.splitlines() if x.strip() and not x.startswith("---"))


def start(shard, folder, extra):
    name = shard.replace("/", "of")
    report, output = folder / f"{name}.xml", folder / f"{name}.out"
    environment = {**os.environ, "RECURRA_SHARD": shard, "OMP_NUM_THREADS": "1",
                   "RECURRA_CACHE_DIR": str(folder / "kernels")}
    with open(output, "w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-o",
             "junit_logging=system-out", f"--junitxml={report}", str(HERE), *extra],
            stdout=file, stderr=subprocess.STDOUT, env=environment)
    return Part(name, process, report, output)


def finish(parts, end):
    """Waits until all are done or `end`; stops the rest."""
    while any(p.process.poll() is None for p in parts) and time.monotonic() < end:
        time.sleep(0.2)
    for part in parts:
        if part.process.poll() is None:
            part.process.kill()
            part.process.wait()
            print(f"part {part.name} was stopped: its time was over", flush=True)
    for part in parts:
        for line in part.output.read_text(errors="replace").splitlines():
            if line.startswith(("E   ", "Fatal")):
                print(f"{part.name}: {line}", flush=True)


def machine():
    import torch

    if not torch.cuda.is_available():
        return None
    driver = subprocess.run(
        ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
        capture_output=True, text=True, check=False).stdout.split()
    return (f"{torch.cuda.device_count()} x {torch.cuda.get_device_name()}, driver "
            f"{driver[0] if driver else 'unknown'}, torch {torch.__version__}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--log", help="file for every test's result")
    add("--processes", type=int, default=min(14, os.cpu_count() or 1))
    add("--seconds", type=float, default=470, help="of the whole run (default 470)")
    add("--commit", default="not given", help="recorded in the log")
    add("--no-alone", action="store_true", help="leave the large tests out")
    given, extra = parser.parse_known_args()
    gpu = machine()
    if gpu is None and os.environ.get("RECURRA_TEST_DEVICE", "cuda") == "cuda":
        raise SystemExit("The GPU suite did not run: there is no NVIDIA GPU here.")
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        n = given.processes
        parts = [start(f"{i + 1}/{n}", folder, extra) for i in range(n)]
        finish(parts, began + given.seconds * (1 if given.no_alone else 0.7))
        if not given.no_alone:
            parts.append(start("alone", folder, extra))
            finish(parts[-1:], began + given.seconds)
        results = sorted(r for p in parts for r in p.results())
    words = [r[1] for r in results]
    last = (f"{words.count('PASSED')} passed, {words.count('FAILED')} failed, "
            f"{words.count('SKIPPED')} skipped in {time.monotonic() - began:.0f} s")
    lines = [f"tests/gpu, commit {given.commit}, {gpu or 'a trial without a GPU'}, "
             f"{n} processes", *(f"{word:8}{seconds:7.1f} s  {test}  {reason}".rstrip()
                                 for test, word, reason, seconds in results), last]
    if given.log:
        Path(given.log).write_text("\n".join(lines) + "\n")
    for test, word, reason, _ in results:
        if word == "FAILED":
            print(f"FAILED {test}  {reason}")
    print(last)
    raise SystemExit(1 if "FAILED" in words or not results else 0)


if __name__ == "__main__":
    main()
