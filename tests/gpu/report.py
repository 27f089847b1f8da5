# The speed table's rows as text.
# SPDX-License-Identifier: Apache-2.0
from floor import SPELLED_OUT

SIZES = ("K", "V", "B", "T", "H")
COLUMNS = (("", 21), ("forward", 9), ("floor", 10), ("share", 6), ("fwd+bwd", 9),
           ("floor", 10), ("share", 6), ("GiB", 7), ("x ref", 7), ("diff", 9),
           ("first s", 9))


def place(row):
    return tuple(row[x] for x in SIZES)


def with_reference(rows):
    """Each row with the reference's times at its shape beside its own."""
    found = {place(r): r for r in rows if r["name"] == "reference"}
    fields = ("forward_ms", "forward_backward_ms")
    return [r | {f"reference_{f}": found.get(place(r), {}).get(f) for f in fields}
            for r in rows]


def number(value, digits=3):
    return "-" if value is None else f"{value:.{digits}g}"


def share(least, time):
    return "-" if not (least and time) else f"{100 * least / time:.0f} %"


def cells(row):
    # A decode step has no backward pass: its floor is the forward's.
    decode = row["T"] == 1
    forward = row.get("graph_ms") if decode else row["forward_ms"]
    both = row["forward_backward_ms"]
    whole = None if decode else row["floor_ms"]
    reference = row.get("reference_forward_backward_ms")
    least, peak = row["floor_forward_ms"], row["peak_bytes"]
    return (row["name"], number(forward, 4), number(least), share(least, forward),
            number(both, 4), number(whole), share(whole, both),
            number(peak and peak / 2**30),
            number(reference / both) if reference and both else "-",
            number(row["difference"], 2), number(row["first_call_s"], 2))


def line(values):
    first, *rest = zip(values, COLUMNS)
    return first[0].ljust(first[1][1]) + "".join(x.rjust(w) for x, (_, w) in rest)


def block(rows):
    """The lines of one shape."""
    r = rows[0]
    lines = [f"(K, V) = ({r['K']}, {r['V']})  B={r['B']} T={r['T']} H={r['H']}"]
    if r["T"] == 1:
        lines[0] += "  one decode step, states in and out; CUDA graph replays"
    lines.append(line([name for name, _ in COLUMNS]))
    for row in rows:
        if row["error"] and row["forward_ms"] is None:
            lines.append(f"{row['name']:21}  {row['error']}")
            continue
        lines.append(line(cells(row)))
        if row["error"]:
            lines.append(f"{'':21}  {row['error']}")
        if row["T"] == 1:
            lines.append(f"{'':21}  {number(row['forward_ms'], 4)} ms called from Python")
    return lines


def text_of(rows, cold):
    about = rows[0]
    lines = [f"{about['gpu']}, torch {about['torch']}, {about['dtype']}, commit "
             f"{about['commit'] or 'not given'}; medians in ms", ""]
    places = list(dict.fromkeys(place(r) for r in rows))
    for shape in places:
        lines += block([r for r in rows if place(r) == shape]) + [""]
    if cold:
        lines.append("First calls with an empty cache, forward and backward, behind "
                     "torch's own first gradient, in s:")
        lines += [f"  {label}: {seconds:.2f}" for label, seconds in cold.items()] + [""]
    lines += ["GiB: peak of forward+backward. x ref: the reference's forward+backward "
              "over this one's.", "diff: |o - ours| / |ours|; the approximations compute"
              " another function. first s: first calls", "of the process that timed, "
              "compiled code on disk.", ""]
    return "\n".join(lines) + SPELLED_OUT + "\n"
