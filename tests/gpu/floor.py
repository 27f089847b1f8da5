# The least time that a call can take on a GPU: operations over the rate of the
# unit that does them, bytes over the bandwidth of its memory.
# SPDX-License-Identifier: Apache-2.0
from dataclasses import dataclass

import torch

BANDWIDTH = 4.8e12  # bytes/s of an H200's memory, by its datasheet
LANES, SCHEDULERS = 32, 4  # lanes of a warp; schedulers of a multiprocessor
# Issue slots per state element and token of the best code known for a readout
# that divides element by element, in a forward and in a backward pass.
SLOTS_FORWARD, SLOTS_BACKWARD = 4.2, 10.0

SPELLED_OUT = f"""\
Floor = the larger of two times.
Operations (ops whose readout divides by a state, so that no matrix product can
do it): {SLOTS_FORWARD} issue slots per (K, V) element and token forward and {SLOTS_BACKWARD:g} more
backward, one slot a cycle on each scheduler:
  slots * K * V * B * T * H / (lanes {LANES} * schedulers {SCHEDULERS} * multiprocessors * clock).
Bytes: every input read once, every output written once, forward; backward the
inputs and the output's cotangent read once, the gradients written once; over
{BANDWIDTH / 1e12:g} TB/s. A decode step reads and writes its states, too. Ops with a linear
readout are given their bytes only.
Share = floor / measured time."""


@dataclass(frozen=True)
class Floor:
    """Times in ms; `backward` excludes the forward pass."""

    operations_forward: float
    operations_backward: float
    bytes_forward: float
    bytes_backward: float

    @property
    def forward(self):
        return max(self.operations_forward, self.bytes_forward)

    @property
    def both(self):
        return self.forward + max(self.operations_backward, self.bytes_backward)


def slots_per_second(device):
    """How many instructions of a warp the whole GPU can issue in a second."""
    if torch.device(device).type != "cuda":
        return float("inf")
    properties = torch.cuda.get_device_properties(device)
    clock = getattr(properties, "clock_rate", 1.98e6) * 1e3
    return SCHEDULERS * properties.multi_processor_count * clock


def size(tensors):
    return sum(x.numel() * x.element_size() for x in tensors)


def floor(shape, inputs, outputs, states, divides, device):
    """`inputs` are read and have gradients, `outputs` are written, `states` are
    read and written."""
    elements = shape.K * shape.V * shape.B * shape.T * shape.H
    slots = elements / LANES / slots_per_second(device) * 1e3 if divides else 0.0
    milliseconds = 1e3 / BANDWIDTH
    forward = size(inputs) + size(outputs) + 2 * size(states)
    backward = 2 * size(inputs) + size(outputs)
    return Floor(SLOTS_FORWARD * slots, SLOTS_BACKWARD * slots,
                 forward * milliseconds, backward * milliseconds)
