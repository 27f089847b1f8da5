"""Draws the accuracy and the loss of a run over its steps, as text.

usage: plot_curve.py METRICS.jsonl
"""
# SPDX-License-Identifier: Apache-2.0
import json
import sys
from pathlib import Path

WIDTH, HEIGHT = 64, 12
EIGHTHS = " ▁▂▃▄▅▆▇█"


def read(path):
    lines = [json.loads(line) for line in Path(path).read_text().splitlines()]
    return lines, [line for line in lines if line["kind"] == "validation"]


def resample(steps, values, width):
    """The value at each of `width` equal parts of the steps: the last one seen
    there, or the one before."""
    last, columns, at = values[0], [], 0
    for column in range(width):
        limit = steps[-1] * (column + 1) / width
        while at < len(steps) and steps[at] <= limit + 1e-9:
            last, at = values[at], at + 1
        columns.append(last)
    return columns


def chart(columns, top, label):
    """Rows of text, top first; each column is a bar of eighths of a row."""
    filled = [max(0, round(8 * HEIGHT * value / top)) for value in columns]
    for row in reversed(range(HEIGHT)):
        cells = "".join(EIGHTHS[min(8, max(0, f - 8 * row))] for f in filled)
        mark = label(top * (row + 1) / HEIGHT) if row % 3 == 2 else ""
        yield f"{mark:>7} │{cells}"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    lines, validations = read(sys.argv[1])
    if not validations:
        sys.exit(f"{sys.argv[1]} holds no validation yet")
    steps = [line["step"] for line in validations]
    accuracy = resample(steps, [line["accuracy"] for line in validations], WIDTH)
    loss = resample(steps, [line["loss"] for line in validations], WIDTH)
    axis = f"{'':>7} └{'─' * WIDTH}\n{'step':>7}  0{steps[-1]:>{WIDTH - 1}}"
    print("validation accuracy")
    print("\n".join(chart(accuracy, 1.0, lambda y: f"{100 * y:.0f}%")))
    print(axis)
    print("validation loss")
    print("\n".join(chart(loss, max(loss), lambda y: f"{y:.1f}")))
    print(axis)
    last = validations[-1]
    print(
        f"step {last['step']}: accuracy {100 * last['accuracy']:.2f} %, "
        f"loss {last['loss']:.4f}, {last['seconds']:.0f} s of training"
    )


if __name__ == "__main__":
    main()
