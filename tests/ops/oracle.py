# The oracle of the language on a test's tensors, in float64.
# SPDX-License-Identifier: Apache-2.0
import torch

import recurra


class Oracle:
    """Takes the inputs as rounded to their dtype; see harness.Case."""

    def __init__(self, case):
        self.recurrence = recurra.parse(case.truth or case.op.text)
        self.inputs = {n: _array(x) for n, x in case.inputs.items()}
        self.initial = {n: _array(x) for n, x in case.initial.items()}
        self.offsets = None if case.offsets is None else case.offsets.tolist()

    def values(self):
        return recurra.evaluate(self.recurrence, self.inputs, self.initial,
                                offsets=self.offsets)

    def gradients(self, output_weights, final_weights):
        return recurra.differentiate(
            self.recurrence, self.inputs,
            {n: _array(x) for n, x in output_weights.items()},
            {n: _array(x) for n, x in final_weights.items()},
            self.initial, offsets=self.offsets)


def _array(x):
    return x.detach().to(torch.float64).numpy()
