# From a recurrence's signature to a Python function of FLA's calling
# convention: argument names, defaults, documentation.
# SPDX-License-Identifier: Apache-2.0
import torch

from ._library import library

SPECIAL = """\
initial_state: {states} or None, the state before the first token
    (float32 unless said; float64 if every input is). Gradients flow to it.
output_final_state: return the state after the last token, too.
cu_seqlens: int32 or int64 [N + 1], offsets of N sequences packed into one row
    (B = 1).
outputs: names of the outputs wanted, in order, among {outputs}."""


def _number(value, inputs):
    """A Python number as a tensor, in the precision of the other inputs."""
    given = [x for x in inputs if isinstance(x, torch.Tensor)]
    double = given and all(x.dtype == torch.float64 for x in given)
    return torch.tensor(value, dtype=torch.float64 if double else torch.float32)


def _tensors(name, names, inputs):
    for place, value in enumerate(inputs):
        if not (value is None or isinstance(value, (torch.Tensor, int, float))):
            raise TypeError(
                f"{name}: '{names[place]}' is a {type(value).__name__}; it must "
                "be a tensor (or a number where it has no axes); convert it")
    return [_number(x, inputs) if isinstance(x, (int, float)) else x
            for x in inputs]


def _states(name, states, inputs, state):
    """A list with one tensor or None per state, in the state's dtype."""
    if state is None:
        return []
    values = [state] if isinstance(state, torch.Tensor) else list(state)
    if len(values) != len(states):
        names = ", ".join(x.name for x in states)
        raise ValueError(
            f"{name}: initial_state holds {len(values)} tensors; the states are "
            f"({names}); pass one for each, in this order")
    return [x if x is None else x.to(s.tensor_type(inputs))
            for x, s in zip(values, states)]


def arguments(recurrence, inputs, initial_state, output_final_state, cu_seqlens,
              outputs):
    """What the torch ops take, from what a caller gives."""
    names = [x.name for x in recurrence.inputs]
    tensors = _tensors(recurrence.name, names, inputs)
    states = _states(recurrence.name, recurrence.states, tensors, initial_state)
    wanted = [outputs] if isinstance(outputs, str) else list(outputs)
    return tensors, states, cu_seqlens, wanted, bool(output_final_state)


def call(recurrence, inputs, initial_state, output_final_state, cu_seqlens,
         outputs):
    tensors, states, offsets, wanted, final = arguments(
        recurrence, inputs, initial_state, output_final_state, cu_seqlens, outputs)
    results = library.forward(
        recurrence.text, tensors, states, offsets, wanted, final, False)
    finals = tuple(results[len(wanted):]) or None
    if finals and len(finals) == 1:
        finals = finals[0]
    return (*results[:len(wanted)], finals)


def default_outputs(recurrence):
    return tuple(x.name for x in recurrence.outputs if not x.optional)


def _document_input(item):
    parts = [f"{item.name}: {item.shape}"]
    if item.facts:
        parts.append("(" + ", ".join(item.facts) + ")")
    if item.default is not None:
        parts.append(f"; None means {item.default}")
    return " ".join(parts).replace(" ;", ";")


def document(recurrence):
    """The docstring: shapes, defaults, results, and where it is defined."""
    states = ", ".join(
        f"{x.name} {x.shape}" + (f" {x.dtype}" if x.dtype != "float32" else "")
        for x in recurrence.states)
    outputs = ", ".join(x.name for x in recurrence.outputs)
    first = [f"{recurrence.name}: one recurrence over tokens, differentiable in "
             "every tensor.", ""]
    first += [_document_input(x) for x in recurrence.inputs]
    first += [SPECIAL.format(
        states=states if len(recurrence.states) == 1 else f"a tuple ({states})",
        outputs=outputs)]
    first += ["", "Returns (" + ", ".join(default_outputs(recurrence))
              + ", final_state); final_state is None unless asked for."]
    first += [f"Outputs {x.name}: {x.shape}." for x in recurrence.outputs]
    if recurrence.source:
        first += [f"Defined at {recurrence.source}."]
    return "\n".join(first)


def make(recurrence):
    """A function with the recurrence's own signature, so that help(), keyword
    arguments and torch.compile see an ordinary function."""
    required = [x.name for x in recurrence.inputs if x.default is None]
    names = [x.name for x in recurrence.inputs]
    if names[:len(required)] != required:
        # A required argument behind one with a default: all are keywords there.
        head = names[:next(i for i, n in enumerate(names) if n not in required)]
    else:
        head = required
    rest = names[len(head):]
    parameters = head + [
        f"{n}=None" for n in rest] + [
        "initial_state=None", "output_final_state=False", "cu_seqlens=None",
        f"outputs={default_outputs(recurrence)!r}"]
    source = (f"def {recurrence.name}({', '.join(parameters)}):\n"
              f"    return _call(_recurrence, ({', '.join(names)},), initial_state,"
              " output_final_state, cu_seqlens, outputs)\n")
    scope = {"_call": call, "_recurrence": recurrence}
    exec(compile(source, f"<recurra {recurrence.name}>", "exec"), scope)
    function = scope[recurrence.name]
    function.__doc__ = document(recurrence)
    function.__module__ = "recurra.ops"
    return function
