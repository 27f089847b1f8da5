# Times of an op's forward and forward+backward on a GPU, medians of CUDA-event
# times over several input sets, with peak memory and the floor in issue slots.
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import statistics

import torch
import torch.nn.functional as F

import recurra

SHAPES = ((48, 48, 8, 4096, 16), (48, 96, 8, 4096, 16), (96, 192, 8, 4096, 16),
          (128, 128, 8, 4096, 16))
# The floor: issue slots per state element and token of the best code known for
# this readout, forward and backward, at one instruction a cycle per scheduler.
SLOTS_FORWARD, SLOTS_BACKWARD = 4.2, 10.0


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
    device = torch.cuda.get_device_properties(0)
    cycles = K * V * B * T * H / 32 / (4 * device.multi_processor_count)
    floor = cycles / (device.clock_rate if hasattr(device, "clock_rate") else 1.98e6)
    return {"name": "palimpsa", "K": K, "V": V, "B": B, "T": T, "H": H,
            "forward_ms": ahead, "forward_backward_ms": whole, "peak_bytes": peak,
            "floor_forward_ms": SLOTS_FORWARD * floor,
            "floor_forward_backward_ms": (SLOTS_FORWARD + SLOTS_BACKWARD) * floor}


def main():
    parser = argparse.ArgumentParser(
        description="Time palimpsa on a GPU at the four shapes of the paper's models.")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--output", help="write the rows as JSON to this file")
    parser.add_argument("--commit", default="", help="recorded in each row")
    options = parser.parse_args()
    rows = []
    for shape in SHAPES:
        row = measure(recurra.ops.palimpsa, shape, options.runs)
        rows.append(row | {"gpu": torch.cuda.get_device_name(), "commit": options.commit})
        print(json.dumps(rows[-1]), flush=True)
    if options.output:
        with open(options.output, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
