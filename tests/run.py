"""Runs every kind of test and sums them: lint, lit, GoogleTest, pytest.

Each runner writes JUnit XML; its exit status counts too, so that one which
crashes before it wrote anything fails the whole. The last line is
`N passed, N failed, N skipped`.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import fnmatch
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
ALL_LOG = ROOT / "docs" / "test-all.log"
# They begin first, so that at the end nothing long is left over.
LONGEST = ["recurraCudaTests", "pytest-models", "pytest-ops", "recurraTargetTests", "lint"]


@dataclass
class Runner:
    """One process that tests something; `report` is its JUnit file."""

    name: str
    command: list
    report: Path
    alone: bool = False  # measures time: nothing may run beside it


@dataclass
class Result:
    """What a runner's report says, and what is wrong with its process."""

    passed: list = field(default_factory=list)
    failed: list = field(default_factory=list)
    skipped: list = field(default_factory=list)  # (test, reason)


def read_report(name, path):
    result = Result()
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        test = f"{name}/{case.get('classname', '')}.{case.get('name', '')}"
        skip = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            result.failed.append(test)
        elif skip is not None or case.get("result") == "skipped":
            reason = "no reason given" if skip is None else skip.get("message") or skip.text
            result.skipped.append((test, " ".join((reason or "no reason given").split())))
        elif case.get("status") != "notrun":
            result.passed.append(test)
    return result


def judge(name, status, path, seconds):
    """The result of a finished runner. A bad status without a failed test, a
    missing report and an empty one are failures of their own."""
    try:
        result = read_report(name, path)
    except (OSError, ElementTree.ParseError):
        result = Result(failed=[f"{name}: wrote no report"])
    if status < 0:
        result.failed.append(f"{name}: killed by {signal.Signals(-status).name}")
    elif status and not result.failed:
        result.failed.append(f"{name}: exit status {status} after {seconds:.0f} s")
    if not (result.passed or result.failed or result.skipped):
        result.failed.append(f"{name}: ran no test")
    return result


def run(runner):
    start = time.monotonic()
    done = subprocess.run(
        [str(part) for part in runner.command],
        cwd=ROOT, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
    )
    seconds = time.monotonic() - start
    result = judge(runner.name, done.returncode, runner.report, seconds)
    return result, done.stdout, seconds


def google_tests():
    """The test programs that CMake knows, each once."""
    listing = subprocess.run(
        ["ctest", "--show-only=json-v1"], cwd=BUILD, check=True, capture_output=True, text=True
    ).stdout
    programs = {Path(t["command"][0]) for t in json.loads(listing)["tests"] if "command" in t}
    return sorted(program for program in programs if program.is_relative_to(BUILD))


def runners(reports):
    """Every runner of this checkout."""
    def report(name):
        return reports / f"{name.replace('/', '-')}.xml"

    found = [
        Runner(
            "lint",
            [sys.executable, ROOT / "tests/lint/lint.py", "--junit", report("lint")],
            report("lint"),
        )
    ]
    lit_suite = BUILD / "tests" / "compiler"
    if (lit_suite / "lit.site.cfg.py").exists():
        lit = "/usr/lib/llvm-22/bin/lit"
        found.append(
            Runner(
                "lit",
                ["/usr/bin/python3", lit, "-v", "-j2", "--xunit-xml-output", report("lit"), lit_suite],
                report("lit"),
            )
        )
    for program in google_tests():
        name = program.name
        found.append(Runner(name, [program, f"--gtest_output=xml:{report(name)}"], report(name)))
    for folder in sorted({path.parent for path in ROOT.glob("tests/**/test_*.py")}):
        found += pytest_runners(folder, report)
    return sorted(found, key=lambda r: LONGEST.index(r.name) if r.name in LONGEST else len(LONGEST))


def pytest_runners(folder, report):
    """A folder's tests; those of models/ that are marked as alone are apart."""
    name = f"pytest-{folder.relative_to(ROOT / 'tests')}"
    parts = {name: []}
    if folder.name == "models":
        parts = {name: ["-m", "not alone"], f"{name}-alone": ["-m", "alone"]}
    return [
        Runner(
            part,
            [
                sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider",
                f"--junitxml={report(part)}", *words, folder,
            ],
            report(part), alone=part.endswith("-alone"),
        )
        for part, words in parts.items()
    ]


def forbidden_skips(skipped, allowed_file):
    """In CI only what the list allows may be skipped."""
    if os.environ.get("CI", "") in ("", "false", "0"):
        return []
    patterns = [
        line.split(" ", 1)[0]
        for line in allowed_file.read_text().split("\n")
        if line.strip() and not line.startswith("#")
    ]
    return [t for t, _ in skipped if not any(fnmatch.fnmatchcase(t, p) for p in patterns)]


def show(runner, result, output, seconds, lock):
    with lock:
        counts = f"{len(result.passed)} passed, {len(result.failed)} failed"
        bad = bool(result.failed)
        print(f"[{'FAILED' if bad else 'ok'}] {runner.name}: {counts}, {seconds:.0f} s", flush=True)
        if bad:
            print("\n".join("    " + line for line in output.split("\n")[-200:]), flush=True)


def execute(found):
    """Runs them, two at a time but for those that measure."""
    lock = threading.Lock()

    def one(runner):
        result, output, seconds = run(runner)
        show(runner, result, output, seconds, lock)
        return result

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(one, [r for r in found if not r.alone]))
    return results + [one(r) for r in found if r.alone]


def summary(results):
    """Prints skips and failures; the counts as a line, and success."""
    skipped = [skip for result in results for skip in result.skipped]
    failed = [test for result in results for test in result.failed]
    passed = sum(len(result.passed) for result in results)
    for test, reason in skipped:
        print(f"skipped: {test}: {reason}")
    not_allowed = forbidden_skips(skipped, ROOT / "tests" / "allowed-skips.txt")
    failed += [f"{test}: skipped, which tests/allowed-skips.txt does not allow" for test in not_allowed]
    for test in failed:
        print(f"failed: {test}")
    line = f"{passed} passed, {len(failed)} failed, {len(skipped) - len(not_allowed)} skipped"
    return line, not failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="the whole product of cases; logged under docs/")
    parser.add_argument("only", nargs="*", help="names of runners (default: all)")
    arguments = parser.parse_args()
    if arguments.all:
        os.environ["RECURRA_TEST_ALL"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        found = runners(Path(folder))
        if arguments.only:
            found = [r for r in found if r.name in arguments.only]
        results = execute(found)
    line, good = summary(results)
    if arguments.all:
        ALL_LOG.write_text(
            "\n".join(sorted(t for r in results for t in r.passed)) + f"\n{line}\n"
        )
    print(line)
    return 0 if good and found else 1


if __name__ == "__main__":
    sys.exit(main())
