"""./dev bench: times the ops against their peers, one run, medians.

Writes docs/benchmarks/cpu.json and cpu.txt: the machine, the times, the share
of the host's measured peak of fused multiply-adds, and the peak memory.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import datetime
import json
import os
import subprocess
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))
import latency  # noqa: E402
import measure  # noqa: E402
import peers  # noqa: E402

SIZES = {"B": 2, "T": 1024, "H": 4, "K": 64, "V": 64}
THREADS = 2
OUT = peers.ROOT / "docs" / "benchmarks"

# Operations per token, head and (k, v) element of the state, multiply, add and
# divide counted as one each; exponentials of gates and work on vectors are left
# out (they are K or V times fewer). "backward" adds to "forward".
OPERATIONS = {
    "palimpsa": {
        "forward": "M: a*M + v*k 3; J: a*J + beta*k2 3; J + 1 1; / 1; * q, sum 2",
        "backward": "states again 6; J + 1, 1/., mu 3; grad 2; U, W sums 3; dq 2; dk 4; dv 2; dbeta 2; dg 4; a*U, a*W 2",
    },
    "simple_gla": {
        "forward": "S: a*S + v*k 3; readout 2",
        "backward": "state again 3; dS + q do 2; dq 2; dk 2; dv 2; dg 2; a*dS 1",
    },
    "gated_delta_rule": {
        "forward": "a*S 1; S'k 2; S + k u 2; readout 2",
        "backward": "state again 5; dS + q do 2; dq 2; du 2; dk of write 2; dk of erase 2; dS - k du 2; dg 2; a*dS 1",
    },
}


def operations(op, part):
    """The sum of the numbers in the spelled-out count."""
    return sum(int(item.split()[-1]) for item in OPERATIONS[op][part].split(";") for item in [item.replace(",", " ")])


def ours(op):
    import recurra

    return lambda x: getattr(recurra.ops, op)(**x)[0]


def with_gradients(call, x, do):
    """forward + backward through autograd, gradients of every input."""
    leaves = {name: value.clone().requires_grad_() for name, value in x.items()}

    def run():
        for leaf in leaves.values():
            leaf.grad = None
        call(leaves).backward(do)
        return leaves

    return run


def contenders(op, x, do):
    """{name: (forward, forward and backward)} as calls without arguments."""
    torch_calls = {"recurra": ours(op), "eager": peers.EAGER[op], **peers.TRANSFORMERS[op]()}
    found = {
        name: (lambda call=call: call(x), with_gradients(call, x, do))
        for name, call in torch_calls.items()
    }
    if op == "palimpsa":
        for compiler in peers.compilers():
            loop = peers.HandWritten(compiler, THREADS)
            found[f"C++ loop, {Path(compiler).name}"] = (
                lambda loop=loop: loop.forward(x),
                lambda loop=loop: loop.forward_backward(x, do),
            )
    return found


def check_equal(op, found):
    """Peers that compute something else would be no peers."""
    reference = found["eager"][0]()
    for name, (forward, _) in found.items():
        error = (forward() - reference).norm() / reference.norm()
        if not error < 1e-3:
            raise SystemExit(f"bench: {op}: {name} differs from the eager loop by {error:.1e}")


def memory_main(op, name):
    """In a process of its own: prints the two peaks of one contender."""
    x = peers.inputs(op, **SIZES)
    forward, both = contenders(op, x, torch.randn_like(x["v"]))[name]
    with torch.no_grad():
        first = measure.peak_bytes(forward)
    print(json.dumps([first, measure.peak_bytes(both)]))


def peak_memory(op, name):
    done = subprocess.run(
        [sys.executable, __file__, "--memory", op, name], check=True, capture_output=True, text=True,
        env={**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"},
    )
    return json.loads(done.stdout.strip().split("\n")[-1])


def bench_op(op, peak, seconds):
    x = peers.inputs(op, **SIZES)
    do = torch.randn_like(x["v"])
    found = contenders(op, x, do)
    with torch.no_grad():
        check_equal(op, found)
        forward = measure.medians({name: calls[0] for name, calls in found.items()}, seconds)
    both = measure.medians({name: calls[1] for name, calls in found.items()}, seconds)
    elements = SIZES["B"] * SIZES["T"] * SIZES["H"] * SIZES["K"] * SIZES["V"]
    flops = [elements * operations(op, "forward")]
    flops.append(flops[0] + elements * operations(op, "backward"))
    rows = []
    for name in found:
        memory = peak_memory(op, name)
        rows.append({
            "op": op, "peer": name, "forward_ms": forward[name], "forward_backward_ms": both[name],
            "forward_fma_share": flops[0] / forward[name] / peak * 1e3,
            "forward_backward_fma_share": flops[1] / both[name] / peak * 1e3,
            "forward_peak_bytes": memory[0], "forward_backward_peak_bytes": memory[1],
        })
    return rows


def table(result):
    lines = [
        f"{result['date']}, commit {result['commit']}, {result['machine']}",
        f"sizes {SIZES}, fp32, {THREADS} threads, medians of one run",
        f"FMA peak measured: {result['fma_peak_gflops']:.0f} Gflop/s on {THREADS} threads",
        "",
        f"{'op':18}{'':24}{'fwd ms':>9}{'fwd+bwd':>9}{'% peak':>8}{'% peak':>8}{'MiB':>7}{'MiB':>8}",
    ]
    for row in result["rows"]:
        lines.append(
            f"{row['op']:18}{row['peer']:24}{row['forward_ms']:9.2f}{row['forward_backward_ms']:9.2f}"
            f"{100 * row['forward_fma_share']:8.1f}{100 * row['forward_backward_fma_share']:8.1f}"
            f"{row['forward_peak_bytes'] / 2**20:7.1f}{row['forward_backward_peak_bytes'] / 2**20:8.1f}"
        )
    lines += ["", "Operations per token, head and (k, v) element:"]
    for op, parts in OPERATIONS.items():
        for part, text in parts.items():
            lines.append(f"  {op} {part}: {operations(op, part)} = {text}")
    lines += ["", "Latency, ms:"]
    lines += [f"  {name}: {value:.0f}" for name, value in result["latency"].items()]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ops", nargs="*", default=list(OPERATIONS), choices=list(OPERATIONS))
    parser.add_argument("--out", type=Path, default=OUT, help="folder for cpu.json and cpu.txt")
    parser.add_argument("--seconds", type=float, default=20, help="of rounds for each op and direction")
    parser.add_argument("--memory", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    torch.set_num_threads(THREADS)
    peers.install_transformers()
    if arguments.memory:
        memory_main(*arguments.memory)
        return
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=peers.ROOT, capture_output=True, text=True
    ).stdout.strip()
    result = {
        "date": datetime.date.today().isoformat(), "commit": commit, "machine": measure.machine(),
        "torch": torch.__version__, "sizes": SIZES, "threads": THREADS, "dtype": "f32",
        "operations": OPERATIONS,
    }
    peak = peers.fma_peak(THREADS)
    result["rows"] = [row for op in arguments.ops for row in bench_op(op, peak, arguments.seconds)]
    result["fma_peak_gflops"] = peak / 1e9
    result["latency"] = latency.measure_all()
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "cpu.json").write_text(json.dumps(result, indent=1) + "\n")
    text = table(result)
    (arguments.out / "cpu.txt").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
