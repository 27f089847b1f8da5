# Times of an op's forward and forward+backward on a GPU, medians of CUDA-event
# times over several input sets, with peak memory and the bytes of the floor.
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import statistics

import torch
import torch.nn.functional as F

import recurra

SHAPES = ((48, 48, 8, 4096, 16), (48, 96, 8, 4096, 16), (96, 192, 8, 4096, 16),
          (128, 128, 8, 4096, 16))
REFERENCE = {(48, 48): (7.52, 37.5), (48, 96): (14.6, 77.5),
             (96, 192): (45.8, 244.7), (128, 128): (41.2, 220.0)}


def draw(K, V, B, T, H, seed):
    """Random inputs, gates as softplus with a slope per head."""
    make = torch.Generator(device="cuda").manual_seed(seed)
    randn = lambda *shape: torch.randn(*shape, generator=make, device="cuda")
    slope = 16 * torch.rand(H, generator=make, device="cuda")
    g = -F.softplus(randn(B, T, H) - 4) * slope
    inputs = [F.normalize(randn(B, T, H, K), dim=-1), F.normalize(randn(B, T, H, K), dim=-1),
              randn(B, T, H, V), g, torch.sigmoid(randn(B, T, H, V))]
    return [x.bfloat16().requires_grad_() for x in inputs], randn(B, T, H, V).bfloat16()


def timed(function, runs):
    times = []
    for _ in range(runs):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        function()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times)


def measure(op, shape, runs):
    K, V, B, T, H = shape
    sets = [draw(*shape, seed) for seed in range(2)]

    def forward(inputs, _):
        with torch.no_grad():
            op(*inputs)

    def both(inputs, cotangent):
        for x in inputs:
            x.grad = None
        op(*inputs)[0].backward(cotangent)

    for function in (forward, both):
        function(*sets[0])
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    both(*sets[0])
    peak = torch.cuda.max_memory_allocated() - before
    ahead = statistics.median(timed(lambda: forward(*s), runs) for s in sets)
    whole = statistics.median(timed(lambda: both(*s), runs) for s in sets)
    reference = REFERENCE.get((K, V), (None, None))
    slots = 4.2 * K * V * B * T * H / 32 / (132 * 4 * 1.755e6)
    return {"name": "palimpsa", "K": K, "V": V, "B": B, "T": T, "H": H,
            "forward_ms": ahead, "forward_backward_ms": whole, "peak_bytes": peak,
            "quoted_reference_forward_ms": reference[0],
            "quoted_reference_forward_backward_ms": reference[1],
            "floor_forward_ms": slots}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--output", help="write the rows as JSON to this file")
    options = parser.parse_args()
    rows = []
    for shape in SHAPES:
        rows.append(measure(recurra.ops.palimpsa, shape, options.runs))
        print(json.dumps(rows[-1]), flush=True)
    if options.output:
        with open(options.output, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
