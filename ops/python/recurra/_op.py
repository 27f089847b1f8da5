# A compiled recurrence as a callable: the same calling convention as the
# catalogue's ops, and a look at what it was lowered to.
# SPDX-License-Identifier: Apache-2.0
import torch

from . import _function
from ._definition import signature
from ._library import library

DEFAULT_SIZE = 64
STAGES = ("rec", "linear", "backward", "chunk", "llvm", "asm")


def _sizes(recurrence, sizes):
    unknown = set(sizes) - set(recurrence.axes)
    if unknown:
        raise ValueError(
            f"{recurrence.name}: no axis is called {', '.join(sorted(unknown))}; "
            f"the axes are {', '.join(recurrence.axes)}; give sizes for those")
    usual = dict.fromkeys(recurrence.axes, DEFAULT_SIZE)
    return usual | recurrence.fixed_sizes | sizes


class Op:
    """Call it like an entry of recurra.ops. `text` is its canonical text, which
    is all that it holds: it can be copied and pickled."""

    def __init__(self, recurrence):
        self.recurrence = signature(recurrence)
        self.function = _function.make(self.recurrence)
        self.__name__ = self.recurrence.name
        self.__doc__ = self.function.__doc__

    def __call__(self, *inputs, **options):
        return self.function(*inputs, **options)

    def __repr__(self):
        names = ", ".join(x.name for x in self.recurrence.inputs)
        return f"<recurra op {self.name}({names})>"

    def __reduce__(self):
        return (Op, (self.text,))

    @property
    def name(self):
        return self.recurrence.name

    @property
    def text(self):
        return self.recurrence.text

    def _example(self, sizes, dtype, group):
        """Inputs without tokens: what a kernel is frozen for, and no work."""
        extents = _sizes(self.recurrence, sizes)
        lead = {"B": 1, "T": 0, "H": group, "Hg": 1, "N": 1}
        kinds = dtype if isinstance(dtype, dict) else {}
        kind = torch.float32 if isinstance(dtype, dict) else dtype

        def make(dimensions, axes, dtype):
            outer = dimensions[:len(dimensions) - len(axes)]
            shape = [lead[d] for d in outer] + [extents[a] for a in axes]
            return torch.zeros(shape, dtype=dtype)

        inputs = [None if x.default is not None else
                  make(x.dimensions, x.axes, kinds.get(x.name, kind))
                  for x in self.recurrence.inputs]
        states = [make(("N", "H") + x.axes, x.axes, x.tensor_type(inputs))
                  for x in self.recurrence.states]
        return inputs, states

    def inspect(self, stage, backward=False, dtype=torch.float32, group=1,
                packed=False, initial_state=False, output_final_state=False,
                outputs=None, **sizes):
        """The text of a stage of the compiler: rec, linear, backward, chunk,
        llvm or asm. Sizes of axes by name (64 unless given); dtype one or a dict
        by input; group = value heads per head of q and k."""
        if stage not in STAGES:
            raise ValueError(f"{self.name}: there is no stage '{stage}'; the "
                             f"stages are {', '.join(STAGES)}; name one of them")
        inputs, states = self._example(sizes, dtype, group)
        wanted = list(outputs or _function.default_outputs(self.recurrence))
        return library.inspect(
            stage, backward, self.text, inputs, states if initial_state else [],
            torch.tensor([0, 0]) if packed else None, wanted, output_final_state)

    def warmup(self, backward=True, dtype=torch.float32, group=1, packed=False,
               initial_state=False, output_final_state=False, outputs=None,
               **sizes):
        """Compiles, or loads from the cache, what a call with these sizes and
        dtypes will run: the arguments of inspect. Runs no token."""
        inputs, states = self._example(sizes, dtype, group)
        for tensor in (inputs + states) if backward else ():
            if tensor is not None:
                tensor.requires_grad_()
        wanted = tuple(outputs or _function.default_outputs(self.recurrence))
        with torch.set_grad_enabled(backward):
            results = _function.call(
                self.recurrence, inputs, states if initial_state else None,
                output_final_state, torch.tensor([0, 0]) if packed else None,
                wanted)
        if backward:
            flat = [x for r in results if r is not None
                    for x in (r if isinstance(r, tuple) else (r,))]
            sum(x.sum() for x in flat).backward()
