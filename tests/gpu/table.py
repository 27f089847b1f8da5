# The speed table: Recurra's ops and other people's kernels on one GPU, at the
# shapes of Palimpsa's models, long sequences and decode steps.
# SPDX-License-Identifier: Apache-2.0
"""python tests/gpu/table.py --peers DIR --out DIR

First calls run in processes of their own, side by side, so that Triton compiles
within minutes; then each shape is timed in one process, all contenders in turn.
Writes table.txt and table.json into --out after every shape. peers.py says what
--peers must hold; without it only Recurra's ops are timed."""

import argparse
import json
import os
import time
from pathlib import Path

import torch

from report import block, text_of, with_reference
from peers import CONTENDERS, DEFAULT
from warm import keep_choices, start, take_choices, wait_for

SHAPES = ((48, 48, 8, 4096, 16), (48, 96, 8, 4096, 16), (96, 192, 8, 4096, 16),
          (128, 128, 8, 4096, 16), (96, 192, 1, 4096, 16), (96, 192, 1, 32768, 16),
          (96, 192, 1, 131072, 16), (96, 192, 1, 1, 16), (96, 192, 64, 1, 16))


def sizes(text):
    numbers = tuple(int(x) for x in text.split(","))
    if len(numbers) not in (4, 5):
        raise argparse.ArgumentTypeError("give K,V,B,T or K,V,B,T,H")
    return numbers + (16,) * (5 - len(numbers))


def options():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--peers", help="folder of the peers' code; see tests/gpu/peers.py")
    add("--out", default="table", help="folder for table.txt, table.json and logs")
    add("--only", type=lambda x: x.split(","), help="names, with commas: only these; "
        f"of {', '.join(CONTENDERS)}; without it {', '.join(DEFAULT)}")
    add("--skip", type=lambda x: x.split(","), default=[], help="names to leave out")
    add("--shape", type=sizes, action="append", help="K,V,B,T[,H], repeatable: only these")
    add("--seconds", type=float, default=560, help="of the whole run; shapes left "
        "over are reported as not run (default 560)")
    add("--compile-seconds", type=float, default=330,
        help="for the peers' first calls, all side by side (default 330)")
    add("--shape-seconds", type=float, default=150, help="for one shape (default 150)")
    add("--budget-ms", type=float, default=700,
        help="per function and shape (default 700)")
    add("--sets", type=int, default=3, help="input sets in turn (default 3)")
    add("--device", default="cuda", help="cpu: a trial of this program, no figures")
    add("--commit", default="", help="recorded in each row")
    add("--cache", help="folder of Triton's and Recurra's caches (default OUT/cache)")
    add("--tuned", help="tuned.zip of an earlier run on such a machine: what "
        "Triton's autotuner chose is taken from it, and no kernel is compiled ahead")
    add("--no-compile", action="store_true", help="the caches are warm already")
    add("--work", help=argparse.SUPPRESS)  # a request to a process of its own
    return parser.parse_args()


class Table:
    """The rows so far; every change is written to disk and printed."""

    def __init__(self, out, commit):
        self.out, self.commit, self.rows, self.cold = out, commit, [], {}
        self.started = time.monotonic()

    def tell(self, line):
        print(f"[{time.monotonic() - self.started:5.0f} s] {line}", flush=True)

    def add(self, rows):
        gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
        about = {"commit": self.commit, "gpu": gpu, "torch": torch.__version__,
                 "dtype": "bfloat16"}
        self.rows = with_reference(self.rows + [r | about for r in rows])
        (self.out / "table.json").write_text(json.dumps(self.rows, indent=1) + "\n")
        (self.out / "table.txt").write_text(text_of(self.rows, self.cold))
        print("\n".join(block(self.rows[-len(rows):])), flush=True)


def work(request):
    """In a process of its own: first calls (`warm`) or the times of a shape."""
    from contest import contest
    from warm import compile_side_by_side

    if request["device"] == "cuda" and request["triton"]:
        compile_side_by_side(request["threads"], choose=not request["warm"])
    rows = []
    for shape in request["shapes"]:
        rows += contest(
            shape, request["names"], request["peers"], request["device"],
            request["sets"], request["budget"],
            lambda name: Path(request["progress"]).write_text(name))
    Path(request["rows"]).write_text(json.dumps(rows))
    failures = [r["error"] for r in rows if (r["error"] or "").startswith("failed")]
    if request["warm"] and failures:
        raise SystemExit(failures[0].removeprefix("failed: "))


def request_of(given, out, label, names, shapes, warm):
    return {"warm": warm, "names": names, "shapes": shapes, "peers": given.peers,
            "device": given.device, "sets": 1 if warm else given.sets,
            "budget": None if warm else given.budget_ms,
            "threads": 4 if warm else os.cpu_count(),
            "triton": any(not CONTENDERS[n].ours for n in names),
            "rows": str(out / f"{label}.rows.json"),
            "progress": str(out / f"{label}.progress")}


def cache_of(given):
    return Path(given.cache or Path(given.out) / "cache")


def begin(given, out, label, names, shapes, warm):
    cache = cache_of(given)
    # A choice made without timing must not be remembered; others must.
    environment = {"TRITON_CACHE_DIR": str(cache / "triton"),
                   "RECURRA_CACHE_DIR": str(cache / "recurra"),
                   "FLA_CACHE_RESULTS": str(int(not warm)),
                   "TRITON_CACHE_AUTOTUNING": str(int(not warm))}
    request = request_of(given, out, label, names, shapes, warm)
    return start(label, ["--work", json.dumps(request)], out / f"{label}.log",
                 environment)


def small(shape):
    """A shape that compiles the same kernels in no time: Triton makes others
    for sizes that are 1 or divide by 16, so those stay so."""
    K, V, B, T, H = shape
    return shape if T == 1 else (K, V, min(B, 2), min(T, 256), H)


def compile_first(given, table, names, shapes):
    """Name and (K, V) to what went wrong in the first calls. Recurra's ops go
    first and alone: their time is a figure of its own."""
    ours = [n for n in names if CONTENDERS[n].ours]
    pairs = sorted({s[:2] for s in shapes})
    if ours:
        worker = begin(given, table.out, "ours", ours, [(*p, 1, 64, 16) for p in pairs],
                       True)
        wait_for([worker], 120, table.tell)
        found = table.out / "ours.rows.json"
        table.cold = {f"{r['name']} ({r['K']}, {r['V']})": r["first_call_s"]
                      for r in (json.loads(found.read_text()) if found.exists() else [])
                      if r["first_call_s"]}
    workers, places = [], {}
    for name in (n for n in names if n not in ours and not given.tuned):
        for pair in pairs:
            label = f"{name}-{pair[0]}-{pair[1]}"
            some = sorted({small(s) for s in shapes if s[:2] == pair}, reverse=True)
            workers.append(begin(given, table.out, label, [name], some, True))
            places[label] = (name, pair)
    problems = wait_for(workers, given.compile_seconds, table.tell)
    return {places[label]: text for label, text in problems.items() if text}


def run_shape(given, table, shape, names, left):
    """Rows of one shape. A process that dies or hangs takes only the contender
    with it whose first calls it was making; the others start again."""
    missing, names = [], list(names)
    while names:
        label = "shape-" + "-".join(map(str, shape))
        worker = begin(given, table.out, label, names, [shape], False)
        problem = wait_for([worker], min(given.shape_seconds, left()), table.tell)[label]
        if problem is None:
            return json.loads((table.out / f"{label}.rows.json").read_text()) + missing
        progress = table.out / f"{label}.progress"
        at = progress.read_text() if progress.exists() else ""
        if at not in names or left() < 20:
            return missing + [absent(n, shape, f"failed: {problem}") for n in names]
        names.remove(at)
        missing.append(absent(at, shape, f"failed: {problem}"))
    return missing


def absent(name, shape, error):
    blank = ("forward_ms", "forward_backward_ms", "peak_bytes", "graph_ms",
             "floor_ms", "floor_forward_ms", "difference", "first_call_s")
    return ({"name": name, "error": error, "exact": CONTENDERS[name].exact}
            | dict(zip("KVBTH", shape)) | dict.fromkeys(blank))


def main():
    given = options()
    if given.work:
        return work(json.loads(given.work))
    if given.device == "cuda" and not torch.cuda.is_available():
        raise SystemExit("table.py: there is no NVIDIA GPU here: nothing was timed; "
                         "run it on a machine with one")
    names = [n for n in given.only or DEFAULT if n not in given.skip]
    unknown = [n for n in names if n not in CONTENDERS]
    if unknown:
        raise SystemExit(f"table.py: no contender is called {', '.join(unknown)}; "
                         f"there are {', '.join(CONTENDERS)}")
    if not given.peers:
        names = [n for n in names if CONTENDERS[n].ours]
    shapes = given.shape or list(SHAPES)
    out = Path(given.out)
    out.mkdir(parents=True, exist_ok=True)
    table = Table(out, given.commit)
    left = lambda: given.seconds - (time.monotonic() - table.started)
    if given.tuned:
        take_choices(cache_of(given) / "triton", given.tuned)
    failed = {} if given.no_compile else compile_first(given, table, names, shapes)
    for shape in shapes:
        bad = {n: failed[n, shape[:2]] for n in names if (n, shape[:2]) in failed}
        rows = [absent(n, shape, f"failed: {text}") for n, text in bad.items()]
        if left() > 15:
            rows += run_shape(given, table, shape, [n for n in names if n not in bad], left)
        else:
            rows += [absent(n, shape, "not run: the time given was over")
                     for n in names if n not in bad]
        table.add(sorted(rows, key=lambda r: names.index(r["name"])))
        keep_choices(cache_of(given) / "triton", out / "tuned.zip")
    print(f"\n{(out / 'table.txt').read_text()}")


if __name__ == "__main__":
    main()
