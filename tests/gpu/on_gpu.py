# Calls of the ops on a GPU: cases moved there and back, what is compared with
# the oracle and how closely, the plan of a kernel.
# SPDX-License-Identifier: Apache-2.0
import os
import re
from dataclasses import replace

import torch

from harness import Case, coarsest, errors, run
from measure import BOUNDS
from recurra._library import library

# RECURRA_TEST_DEVICE=cpu tries the suite's own code where there is no GPU.
DEVICE = torch.device(os.environ.get("RECURRA_TEST_DEVICE", "cuda"))
TF32_GRADIENTS = 2e-3  # bound for float32 where contractions take tf32 operands


def missing():
    """Whether the device that the suite wants is not there."""
    return DEVICE.type == "cuda" and not torch.cuda.is_available()


def move(tensors):
    return {n: x.to(DEVICE) for n, x in tensors.items()}


def on_gpu(case):
    offsets = None if case.offsets is None else case.offsets.to(DEVICE)
    return Case(case.entry, move(case.inputs), move(case.initial), offsets,
                case.outputs, case.truth)


def off_gpu(result):
    return replace(result, **{
        name: {n: x.cpu() for n, x in tensors.items()}
        for name, tensors in vars(result).items()})


def run_on_gpu(case, **how):
    return off_gpu(run(on_gpu(case), **how))


def example(op, dtype, sizes):
    """Inputs without tokens: what a kernel is frozen for."""
    extents = {a: sizes.get(a, 64) for a in op.recurrence.axes}
    extents |= {"B": 1, "T": 0, "H": 1, "Hg": 1}
    return [None if x.default is not None else
            torch.zeros([extents[d] for d in x.dimensions], dtype=dtype, device=DEVICE)
            for x in op.recurrence.inputs]


def stage(op, name, backward=False, dtype=torch.bfloat16, outputs=None, **sizes):
    """The text of a stage of the kernel that this device would run."""
    wanted = list(outputs or (x.name for x in op.recurrence.outputs if not x.optional))
    return library.inspect(name, backward, op.text, example(op, dtype, sizes), [], None,
                           wanted, False)


def plan(op, backward=False, **how):
    """The plan of a kernel: "form scan, ..."."""
    found = re.search(r'plan = "([^"]*)"', stage(op, "chunk", backward, **how))
    assert found, "the chunk stage prints no plan"
    return found.group(1)


def form(op, backward=False, **how):
    return re.search(r"form (\w+)", plan(op, backward, **how)).group(1)


def sizes_of(case):
    """Sizes of the axes, as the inputs have them."""
    found = {}
    for x in case.recurrence.inputs:
        if x.name in case.inputs:
            shape = case.inputs[x.name].shape
            found |= dict(zip(x.axes, shape[len(shape) - len(x.axes):]))
    return found


def takes_tf32(case):
    if DEVICE.type != "cuda":
        return False
    return "scan" in form(case.op, True, dtype=torch.float32, **sizes_of(case))


def judged(case, result, found=None):
    """Errors over their bounds. On a GPU the gradients of float32 inputs have
    the wider bound where the kernel's products round to tf32."""
    found = errors(case, result) if found is None else found
    if coarsest(case.inputs.values()) != "float32" or not takes_tf32(case):
        return found
    wider = BOUNDS["float32"][1] / TF32_GRADIENTS
    gradients = {f"d{n}" for n in case.inputs} | {f"d initial {n}" for n in case.initial}
    return {n: e * wider if n in gradients else e for n, e in found.items()}


def check(case, apart=(), **how):
    """Runs on the GPU and compares everything with the oracle but the names in
    `apart`."""
    result = run_on_gpu(case, **how)
    wrong = {n: e for n, e in judged(case, result).items()
             if not e <= 1 and n not in apart}
    assert not wrong, "error over its bound: " + ", ".join(
        f"{n} {e:.3g}" for n, e in wrong.items())
    return result


def apart(entry, initial):
    """palimpsa_mu from a given precision: dprior is a difference of sums that
    cancel."""
    return ("dprior",) if entry == "palimpsa_mu" and initial else ()


def same(a, b):
    """Whether two runs on the GPU agree to the bit in everything they hold."""
    for name, tensors in vars(a).items():
        others = getattr(b, name)
        if tensors.keys() != others.keys() or not all(
                torch.equal(bits(x), bits(others[n])) for n, x in tensors.items()):
            return False
    return True


def bits(x):
    """So that NaNs compare, and zeros of either sign differ."""
    return x.contiguous().view(-1).view(torch.uint8)
