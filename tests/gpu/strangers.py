# Recurrences drawn at random from the class that Palimpsa belongs to: states
# with a scalar decay and rank-1 writes, read element by element.
# SPDX-License-Identifier: Apache-2.0
"""What varies: the gate, the writes, the readout, a second output, the names of
everything, the order of declarations and of the states' axes."""

import random
import re
from dataclasses import dataclass

import recurra as rc

WORDS = ("amber", "basil", "cedar", "delta2", "ember", "fjord", "grove", "heron",
         "iris", "jade", "kelp", "lotus", "maple", "nova", "onyx", "pearl", "quartz",
         "rook", "slate", "topaz", "umber", "vale", "wren", "yarrow")
AXES = ("A", "C", "L", "P", "Q", "U", "X", "Y", "Keys", "Values")
GATES = ("exp", "sigmoid", "softplus", "sloped")
WRITES = ("square", "second key", "plain")
READOUTS = ("ratio", "ratio to a constant", "root", "squared", "own size")
EXTRAS = ("none", "variance", "linear")


@dataclass(frozen=True)
class Stranger:
    """A recurrence and the names of its axes in the roles of K and V."""

    recurrence: object
    rows: str
    columns: str
    kind: str

    def sizes(self, K, V):
        return {self.rows: K, self.columns: V}


def gate(r, kind, name, slope):
    if kind == "exp":
        return rc.exp(r.token(name, (), rc.non_positive))
    if kind == "sigmoid":
        return rc.sigmoid(r.token(name, ()))
    if kind == "softplus":
        return rc.exp(-rc.softplus(r.token(name, ())))
    return rc.exp(r.head(slope, (), rc.positive) * r.token(name, (), rc.non_positive))


def readout(kind, M, J, prior):
    """What the query contracts with, element by element."""
    if kind == "ratio":
        return M / (J + prior)
    if kind == "ratio to a constant":
        return M / (J + 1.5)
    if kind == "root":
        return M * rc.rsqrt(J + prior)
    if kind == "squared":
        return M / (rc.square(J) + prior)
    return M / (rc.square(M) + prior)


def declare(pick, writes):
    """(name, axes) of the inputs, in a random order; roles to names."""
    names = pick.sample(WORDS, 10)
    roles = ["q", "k", "v", "b"] + (["k2"] if writes == "second key" else [])
    named = dict(zip(roles, names))
    rest = dict(zip(("gate", "slope", "prior", "M", "J"), names[5:]))
    pick.shuffle(roles)
    return roles, named | rest


def draw(seed):
    """The stranger of a seed; neighbours differ in gate and readout."""
    pick = random.Random(seed)
    gate_kind = GATES[seed % len(GATES)]
    read_kind = READOUTS[seed % len(READOUTS)]
    writes, extra = pick.choice(WRITES), EXTRAS[seed % len(EXTRAS)]
    rows, columns = pick.sample(AXES, 2)
    turned, state_first = pick.random() < 0.5, pick.random() < 0.5
    roles, names = declare(pick, writes)
    single = read_kind == "own size"

    def body(r):
        if turned:
            V, K = r.axis(columns), r.axis(rows)
        else:
            K, V = r.axis(rows), r.axis(columns)
        order = (V, K) if turned else (K, V)
        axes = {"q": (K,), "k": (K,), "v": (V,), "b": (V,), "k2": (K,)}
        x = {}
        for role in roles:
            if not (single and role in ("b", "k2")):
                facts = (rc.non_negative,) if role in ("b", "k2") else ()
                x[role] = r.token(names[role], axes[role], *facts)
        prior = (1.0 if read_kind == "ratio to a constant"
                 else r.head(names["prior"], (), rc.positive))
        decay = gate(r, gate_kind, names["gate"], names["slope"])
        M = r.state(names["M"], order)
        update_m = lambda: setattr(r, names["M"], decay * M + x["v"] * x["k"])
        if single:
            update_m()
            J = None
        else:
            J = r.state(names["J"], order, rc.non_negative)
            key = {"square": lambda: rc.square(x["k"]), "second key": lambda: x["k2"],
                   "plain": lambda: rc.abs(x["k"])}[writes]()
            update_j = lambda: setattr(r, names["J"], decay * J + x["b"] * key)
            for update in (update_j, update_m) if state_first else (update_m, update_j):
                update()
        q = x["q"]
        r.output("out", 0.25 * rc.sum(readout(read_kind, M, J, prior) * q, K))
        if extra == "variance" and not single:
            r.output("spread", rc.sum(rc.square(q) / (J + 0.5), K))
        elif extra == "linear":
            r.output("line", rc.sum(M * q, K))

    kind = f"{gate_kind}, {writes}, {read_kind}, {extra}"
    return Stranger(rc.define(f"stranger{seed}", body), rows, columns, kind)


def counted(text):
    """Operations on values of two axes in the text of a stage, for each of their
    elements; an outer product is one, a sum over an axis is one."""
    matrices = set()
    axes = {"!s": set()}
    for alias, inside in re.findall(r"^(!\w+) = !rec\.val(?:<([^>]*)>)?$", text, re.M):
        axes[alias] = set(inside.replace(" ", "").split(",")) - {""}
        if len(axes[alias]) > 1:
            matrices.add(alias)
    count = 0
    for line in text.splitlines():
        found = re.match(r"\s*%\S+ = rec\.(?!scan|const)\w+ .* : (.*)$", line)
        if found:
            together = set().union(*(axes.get(t, set()) for t in
                                     re.findall(r"!\w+", found.group(1))))
            count += len(together) > 1
    return count
