"""Draws the accuracy of all runs of a sweep over their steps, as an SVG.

usage: plot_sweep.py SWEEP.json OUT.svg

A colour for each mixer, a dash for each learning rate, a line for each seed.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import sys
from pathlib import Path

WIDTH, HEIGHT, LEFT, TOP, LEGEND = 560, 300, 52, 16, 210
COLOURS = ("#1b6ca8", "#d1495b", "#2e8b57", "#8a5fbf", "#c98a1b")
DASHES = ("none", "6 3", "2 2", "8 3 2 3")


def text(x, y, words, anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'


def line(points, colour, dash="none", width=1.5):
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return (
        f'<polyline points="{path}" fill="none" stroke="{colour}" '
        f'stroke-width="{width}" stroke-dasharray="{dash}"/>'
    )


def axes(last):
    right, bottom = LEFT + WIDTH, TOP + HEIGHT
    for part in range(5):
        y = bottom - HEIGHT * part / 4
        yield line([(LEFT, y), (right, y)], "#ccc", width=0.7)
        yield text(LEFT - 6, y + 4, f"{25 * part} %", "end")
        x = LEFT + WIDTH * part / 4
        yield text(x, bottom + 18, f"{last * part / 4:g}", "middle")
    yield text(LEFT + WIDTH / 2, bottom + 36, "step", "middle")


def curves(runs, styles, last):
    """From no accuracy at step 0 to a dot at the last validation."""
    for run in runs:
        colour, dash = styles[run["mixer"], run["learning_rate"]]
        values = zip([0, *run["steps"]], [0, *run["accuracy"]], strict=True)
        points = [(LEFT + WIDTH * s / last, TOP + HEIGHT * (1 - a)) for s, a in values]
        yield line(points, colour, dash)
        x, y = points[-1]
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>'


def legend(runs, styles):
    x = LEFT + WIDTH + 16
    for row, ((mixer, rate), (colour, dash)) in enumerate(styles.items()):
        y = TOP + 12 + 20 * row
        mine = [r for r in runs if (r["mixer"], r["learning_rate"]) == (mixer, rate)]
        ends = [100 * r["accuracy"][-1] for r in mine if r["accuracy"]]
        mean = f", {sum(ends) / len(ends):.1f} %" if ends else ""
        yield line([(x, y), (x + 30, y)], colour, dash, 2)
        yield text(x + 36, y + 4, f"{mixer} {rate:g}{mean}")


def draw(runs):
    last = max([step for run in runs for step in run["steps"]], default=1)
    mixers = sorted({run["mixer"] for run in runs})
    rates = sorted({run["learning_rate"] for run in runs})
    styles = {
        (mixer, rate): (COLOURS[i % len(COLOURS)], DASHES[j % len(DASHES)])
        for i, mixer in enumerate(mixers)
        for j, rate in enumerate(rates)
    }
    size = f'width="{LEFT + WIDTH + LEGEND}" height="{TOP + HEIGHT + 48}"'
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        *axes(last),
        *curves(runs, styles, last),
        *legend(runs, styles),
        "</svg>\n",
    ])  # fmt: skip


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    runs = json.loads(Path(sys.argv[1]).read_text())["runs"]
    if not runs:
        sys.exit(f"{sys.argv[1]} holds no run that has ended")
    Path(sys.argv[2]).write_text(draw(runs))


if __name__ == "__main__":
    main()
