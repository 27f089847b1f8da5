"""Runs the laws, the formatter and clang-tidy over the tree.

Prints each violation; the last line counts the checks. --junit FILE writes
them for tests/run.py.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import subprocess
import sys
from pathlib import Path
from xml.sax.saxutils import quoteattr

sys.path.insert(0, str(Path(__file__).parent))
import laws  # noqa: E402
import tools  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]


def read_tree(root):
    """{path: text} of the project's own files, tracked or not yet added."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root, check=True, capture_output=True, text=True,
    ).stdout.split("\0")
    tree = {}
    for path in filter(None, listed):
        file = root / path
        if file.is_file() and not path.startswith(("docs/", "LICENSE")):
            try:
                tree[path] = file.read_text()
            except UnicodeDecodeError:
                continue
    return tree


def write_junit(path, results):
    with open(path, "w") as out:
        out.write('<testsuite name="lint">\n')
        for name, violations, skipped in results:
            out.write(f'<testcase classname="lint" name={quoteattr(name)}>')
            if violations:
                out.write(f"<failure message={quoteattr(violations[0])}/>")
            if skipped:
                out.write(f"<skipped message={quoteattr(skipped)}/>")
            out.write("</testcase>\n")
        out.write("</testsuite>\n")


def run(root):
    """[(check, violations, reason it was skipped or None)]."""
    tree = read_tree(root)
    results = [(law.__name__, law(tree), None) for law in laws.LAWS]
    results.append(("clang_format", tools.clang_format(root, tree), None))
    results.append(("clang_tidy", *tools.clang_tidy(root, tree)))
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--junit", help="write the results to this file")
    arguments = parser.parse_args()
    results = run(ROOT)
    for name, violations, skipped in results:
        for violation in violations:
            print(f"{name}: {violation}")
        if skipped:
            print(f"skipped: {name}: {skipped}")
    if arguments.junit:
        write_junit(arguments.junit, results)
    failed = sum(bool(v) for _, v, _ in results)
    skipped = sum(bool(s) for _, v, s in results if not v)
    print(f"{len(results) - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
