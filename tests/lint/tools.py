"""clang-format over every source, clang-tidy over those that changed."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

TIDY_SECONDS = 60


def clang_format(root, tree):
    """Files that the formatter would rewrite."""
    files = sorted(p for p in tree if p.endswith((".cpp", ".h")))
    if not files:
        return []
    done = subprocess.run(
        ["clang-format-22", "--dry-run", "--Werror", *files],
        cwd=root, capture_output=True, text=True,
    )
    if done.returncode == 0:
        return []
    bad = {line.split(":", 1)[0] for line in done.stderr.split("\n") if ": error:" in line}
    return [f"{path}: not formatted; run ./dev format" for path in sorted(bad)] or [
        done.stderr.strip()
    ]


def _git(root, *arguments):
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    return done.stdout.split("\n") if done.returncode == 0 else []


def changed_files(root):
    """Against the place where this branch left the main one; on the main
    branch itself, the last commit and what is not committed yet."""
    base = (_git(root, "merge-base", "HEAD", "origin/main") or [""])[0]
    head = (_git(root, "rev-parse", "HEAD") or [""])[0]
    if not base or base == head:
        base = "HEAD~1"
    changed = _git(root, "diff", "--name-only", base)
    return {path for path in changed if path}


def _tidy(root, path, seconds):
    """None if the file was not reached in time, else its complaints."""
    if seconds <= 1:
        return None
    try:
        done = subprocess.run(
            ["clang-tidy-22", "--quiet", "-p", "build", path],
            cwd=root, capture_output=True, text=True, timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return None
    prefix = str(root) + "/"
    complaints = [
        line.replace(prefix, "")
        for line in done.stdout.split("\n")
        if ": error:" in line or ": warning:" in line
    ]
    if done.returncode and not complaints:
        complaints = [f"{path}: clang-tidy failed: {done.stderr.strip()[-300:]}"]
    return sorted(set(complaints))


def clang_tidy(root, tree):
    """(violations, why it was skipped). Has TIDY_SECONDS; says what it did
    not reach."""
    database = root / "build" / "compile_commands.json"
    if not database.exists():
        return [], "no build/compile_commands.json; run ./dev build first"
    known = {
        os.path.relpath(os.path.join(entry["directory"], entry["file"]), root)
        for entry in json.loads(database.read_text())
    }
    files = sorted(changed_files(root) & known & set(tree))
    if not files:
        print("clang_tidy: no compiled source changed")
        return [], None
    deadline = time.monotonic() + TIDY_SECONDS
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        found = list(pool.map(lambda p: _tidy(root, p, deadline - time.monotonic()), files))
    late = [path for path, complaints in zip(files, found) if complaints is None]
    print(f"clang_tidy: {len(files) - len(late)} of {len(files)} changed files")
    if late:
        print(f"clang_tidy: out of time before {' '.join(late)}")
    return [line for complaints in found for line in complaints or []], None
