"""tests/run.py: whatever goes wrong in a runner fails the whole run."""
# SPDX-License-Identifier: Apache-2.0
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import run as tests_run  # noqa: E402

GOOD = '<testsuites><testsuite><testcase classname="A" name="b"/></testsuite></testsuites>'
BAD = '<testsuite><testcase name="b"><failure message="x"/></testcase></testsuite>'
SKIP = '<testsuite><testcase classname="A" name="b"><skipped message="no GPU"/></testcase></testsuite>'
EMPTY = "<testsuite/>"


def runner(tmp_path, report, script):
    path = tmp_path / "report.xml"
    if report is not None:
        path.write_text(report)
    return tests_run.Runner("r", ["/bin/sh", "-c", script], path)


def outcome(tmp_path, report, script):
    result, _, _ = tests_run.run(runner(tmp_path, report, script))
    return len(result.passed), len(result.failed), len(result.skipped)


@pytest.mark.parametrize(
    "report, script, expected",
    [
        (GOOD, "exit 0", (1, 0, 0)),
        (BAD, "exit 1", (0, 1, 0)),
        (BAD, "exit 0", (0, 1, 0)),
        (GOOD, "exit 1", (1, 1, 0)),
        (GOOD, "kill -SEGV $$", (1, 1, 0)),
        (None, "exit 0", (0, 1, 0)),
        ("<testsuite", "exit 0", (0, 1, 0)),
        (EMPTY, "exit 0", (0, 1, 0)),
        (SKIP, "exit 0", (0, 0, 1)),
    ],
)
def test_outcome_of_a_runner(tmp_path, report, script, expected):
    assert outcome(tmp_path, report, script) == expected


def test_a_skip_keeps_its_reason(tmp_path):
    result, _, _ = tests_run.run(runner(tmp_path, SKIP, "exit 0"))
    assert result.skipped == [("r/A.b", "no GPU")]


def test_in_ci_only_listed_skips_pass(tmp_path, monkeypatch):
    allowed = tmp_path / "allowed.txt"
    allowed.write_text("# comment\nr/A.* needs a GPU\n")
    skipped = [("r/A.b", "no GPU"), ("r/B.b", "tired")]
    monkeypatch.setenv("CI", "true")
    assert tests_run.forbidden_skips(skipped, allowed) == ["r/B.b"]
    monkeypatch.delenv("CI")
    assert tests_run.forbidden_skips(skipped, allowed) == []


def test_summary_fails_with_one_failure(capsys):
    results = [tests_run.Result(passed=["a", "b"]), tests_run.Result(failed=["c"])]
    assert tests_run.summary(results) == ("2 passed, 1 failed, 0 skipped", False)
    assert "failed: c" in capsys.readouterr().out
