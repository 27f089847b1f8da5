# Random calls of any recurrence, and their comparison with the oracle.
# SPDX-License-Identifier: Apache-2.0
import os
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn.functional as F

import recurra
from measure import BOUNDS, worst
from oracle import Oracle

ENTRIES = tuple(entry.name for entry in recurra.catalogue())
COARSE_FIRST = ("bfloat16", "float16", "float32", "float64")


def cases(full, sample):
    """`full` under --all, else `sample`."""
    return full if os.environ.get("RECURRA_TEST_ALL", "0") != "0" else sample


def op_of(entry):
    return getattr(recurra.ops, entry).op if isinstance(entry, str) else entry


def with_states_of(entry, dtype):
    """An entry's op, but for the dtype of its states, as its text spells it."""
    text = op_of(entry).text
    for state in op_of(entry).recurrence.states:
        axes = f"[{', '.join(state.axes)}]" if state.axes else ""
        declared = f"\nstate {state.name}{axes}"
        assert text.count(declared) == 1
        text = text.replace(declared, f"{declared} dtype {dtype}")
    return recurra.compile(text)


def _random(recurrence, name, facts, shape, draw):
    x = torch.randn(shape, generator=draw, dtype=torch.float64)
    if "nonPositive" in facts:
        return -F.softplus(x)
    if "nonNegative" in facts:
        return torch.sigmoid(x)
    if "positive" in facts:
        return 0.5 + torch.sigmoid(x)
    if name in ("q", "k") and recurrence.axes[:1] == ("K",):
        return F.normalize(x, dim=-1)
    if name == "f":
        return x + 2  # else the first tokens' gradients leave fp32's range
    return 0.3 * x if name.startswith("R_") else x


@dataclass
class Case:
    """One call: `inputs` by name (missing: default), `initial` by state name."""

    entry: object
    inputs: dict
    initial: dict = field(default_factory=dict)
    offsets: torch.Tensor = None
    outputs: tuple = None
    truth: str = None  # the text that the oracle runs; None: the op's own

    @property
    def op(self):
        return op_of(self.entry)

    @property
    def recurrence(self):
        return self.op.recurrence

    def wanted(self):
        return self.outputs or tuple(
            x.name for x in self.recurrence.outputs if not x.optional)

    def with_inputs(self, **changed):
        return Case(self.entry, {**self.inputs, **changed}, dict(self.initial),
                    self.offsets, self.outputs, self.truth)


def make(entry, B=2, T=33, H=2, group=1, seed=42, dtype=torch.float32,
         offsets=None, initial=True, outputs=None, given=(), **extents):
    """A random call. `given`: inputs with a default that are passed all the
    same. `dtype`: one, or a dict by input."""
    op = op_of(entry)
    recurrence = op.recurrence
    sizes = {a: 3 if a in ("D", "E", "N") else 4 for a in recurrence.axes}
    sizes |= recurrence.fixed_sizes
    sizes |= {a: n for a, n in extents.items() if a in recurrence.axes}
    if "E" in sizes:
        sizes["E"] = sizes["D"]
    sequences = B if offsets is None else len(offsets) - 1
    sizes |= {"B": B, "T": T, "H": H, "Hg": H // group, "N'": sequences}
    draw = torch.Generator().manual_seed(seed)
    inputs = {}
    for x in recurrence.inputs:
        shape = [sizes[d] for d in x.dimensions]
        value = _random(recurrence, x.name, x.facts, shape, draw)
        if x.default is None or x.name in given:
            kind = dtype.get(x.name, torch.float32) if isinstance(dtype, dict) else dtype
            inputs[x.name] = value.to(kind)
    states = {}
    for x in recurrence.states:
        shape = [sequences, H] + [sizes[a] for a in x.axes]
        value = _random(recurrence, x.name, x.facts, shape, draw)
        states[x.name] = value.to(x.tensor_type(inputs.values()))
    offsets = None if offsets is None else torch.tensor(offsets)
    return Case(entry, inputs, states if initial else {}, offsets, outputs)


def call(case, inputs=None, initial=None, final=True):
    """(outputs, final states), both dicts by name."""
    inputs = case.inputs if inputs is None else inputs
    initial = case.initial if initial is None else initial
    names = [x.name for x in case.recurrence.states]
    state = tuple(initial.get(n) for n in names) if initial else None
    *outputs, finals = case.op(
        **inputs, initial_state=state, output_final_state=final,
        cu_seqlens=case.offsets, outputs=case.wanted())
    finals = finals if isinstance(finals, tuple) else (finals,)
    return (dict(zip(case.wanted(), outputs)),
            dict(zip(names, finals)) if final else {})


def leaves(tensors, asking=None):
    """Fresh leaves that ask for gradients; strides are kept."""
    return {n: x.detach().requires_grad_(asking is None or n in asking)
            for n, x in tensors.items()}


def cotangents(values, seed=7):
    draw = torch.Generator().manual_seed(seed)
    return {n: torch.randn(x.shape, generator=draw, dtype=torch.float64).to(x)
            for n, x in values.items()}


@dataclass
class Run:
    """What an op gave: values and gradients by name, and the cotangents."""

    outputs: dict
    finals: dict
    of_inputs: dict
    of_initial: dict
    output_weights: dict
    final_weights: dict


def run(case, loss="both", asking=None):
    """Forward and backward. `loss`: "both", "outputs" or "states"."""
    inputs, initial = leaves(case.inputs, asking), leaves(case.initial, asking)
    outputs, finals = call(case, inputs, initial)
    on_outputs = cotangents(outputs) if loss != "states" else {}
    on_finals = cotangents(finals, 8) if loss != "outputs" else {}
    pairs = ([(outputs[n], w) for n, w in on_outputs.items()]
             + [(finals[n], w) for n, w in on_finals.items()])
    torch.autograd.backward([x for x, _ in pairs], [w for _, w in pairs])
    detach = {n: x.detach() for n, x in outputs.items()}
    return Run(detach, {n: x.detach() for n, x in finals.items()},
               {n: x.grad for n, x in inputs.items() if x.grad is not None},
               {n: x.grad for n, x in initial.items() if x.grad is not None},
               on_outputs, on_finals)


def coarsest(tensors):
    kinds = {str(x.dtype).removeprefix("torch.") for x in tensors}
    return next(k for k in COARSE_FIRST if k in kinds)


def errors(case, result):
    """Every value and gradient of `result`: name to error over its bound."""
    truth = Oracle(case)
    outputs, finals = truth.values()
    of_inputs, of_initial = truth.gradients(result.output_weights, result.final_weights)
    given = list(case.inputs.values())
    value_bound, gradient_bound = BOUNDS[coarsest(given)]
    found = {}

    def add(label, actual, expected, leading, bound):
        found[label] = worst(numpy(actual), expected, leading) / bound

    def add_state(label, actual, expected, column):
        own = coarsest([actual])
        bound = BOUNDS[coarsest([*given, actual])][column]
        found[label] = worst(numpy(actual), expected, "NH", own) / bound

    for n, x in result.outputs.items():
        add(n, x, outputs[n], "BTH", value_bound)
    for n, x in result.finals.items():
        add_state(f"final {n}", x, finals[n], 0)
    for item in case.recurrence.inputs:
        if item.name in result.of_inputs:
            lead = "".join(d[0] for d in item.dimensions[:len(item.dimensions) - len(item.axes)])
            add(f"d{item.name}", result.of_inputs[item.name], of_inputs[item.name],
                lead, gradient_bound)
    for n, x in result.of_initial.items():
        add_state(f"d initial {n}", x, of_initial[n], 1)
    return found


def numpy(x):
    return x.detach().to(torch.float64).numpy()


def check(case, loss="both", asking=None, apart=()):
    """Runs and compares everything with the oracle, but for the names in
    `apart`; returns the run."""
    result = run(case, loss, asking)
    wrong = {n: e for n, e in errors(case, result).items()
             if not e <= 1 and n not in apart}
    assert not wrong, "error over its bound: " + ", ".join(
        f"{n} {e:.3g}" for n, e in wrong.items())
    return result


def same_state(case, name, x, y):
    """Whether a state that no token changed came back: to the bit, but for mu,
    which the compiler carries as M = I mu and divides again."""
    if case.entry == "palimpsa_mu" and name == "mu":
        return torch.allclose(x, y, rtol=1e-6, atol=0)
    return torch.equal(x, y)


def same_output(case, x, y):
    """The same of an output that read a state which passed through a call."""
    if case.entry == "palimpsa_mu":
        return torch.allclose(x, y, rtol=1e-5, atol=1e-6)
    return torch.equal(x, y)


def check_palimpsa(case, loss="both"):
    """`check` for either writing. From a given precision and without decay the
    prior of palimpsa_mu has no effect: its gradient is a difference of sums that
    cancel, so it is judged by their size."""
    if case.entry != "palimpsa_mu" or not case.initial:
        return check(case, loss)
    result = check(case, loss, apart=("dprior",))
    truth, _ = Oracle(case).gradients(result.output_weights, result.final_weights)
    prior = torch.from_numpy(truth["prior"])
    size = result.of_initial["I"].abs().sum((0, 2, 3)) + prior.abs()
    error = (result.of_inputs["prior"] - prior).abs()
    assert (error <= BOUNDS["float32"][1] * size).all(), (error, size)
    return result


def same_bits(a, b):
    """Whether two runs agree to the bit in everything they hold."""
    for x, y in ((a.outputs, b.outputs), (a.finals, b.finals),
                 (a.of_inputs, b.of_inputs), (a.of_initial, b.of_initial)):
        if x.keys() != y.keys():
            return False
        for n in x:
            if x[n].shape != y[n].shape or not np.array_equal(
                    x[n].reshape(-1).view(torch.uint8).numpy(),
                    y[n].reshape(-1).view(torch.uint8).numpy()):
                return False
    return True
