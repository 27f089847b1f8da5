# What a caller may do on a GPU: graphs, changed offsets, streams, devices,
# torch.compile, no synchronisation, no compilation for another length.
# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F

import recurra
from harness import Case, call, leaves, make, run
from on_gpu import DEVICE, on_gpu, same

PACKED = dict(B=1, T=128, H=2, K=48, V=96, dtype=torch.bfloat16)


def offsets(*values):
    return torch.tensor(values, device=DEVICE)


def both(case, inputs, weight):
    """Output and gradients, as a training step takes them."""
    o = call(case, inputs, final=False)[0]["o"]
    return (o, *torch.autograd.grad(o, list(inputs.values()), weight))


def captured(case, inputs, weight):
    """A CUDA graph of `both` and the tensors that it fills."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        both(case, inputs, weight)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = both(case, inputs, weight)
    return graph, results


@pytest.mark.parametrize("entry", ("palimpsa", "simple_gla", "gated_delta_rule"))
def test_captured_graph_follows_changed_offsets(entry):
    """C19, E50: capture forward and backward, change cu_seqlens in place, replay."""
    case = on_gpu(make(entry, offsets=[0, 40, 40, 128], initial=False, **PACKED))
    inputs = leaves(case.inputs)
    weight = torch.randn_like(case.inputs["v"])
    graph, results = captured(case, inputs, weight)
    for change in ((0, 40, 40, 128), (0, 1, 77, 128), (0, 0, 0, 128), (0, 64, 128, 128)):
        case.offsets.copy_(offsets(*change))
        graph.replay()
        torch.cuda.synchronize()
        for x, y in zip(results, both(case, inputs, weight)):
            assert torch.equal(x, y), change


def test_eager_calls_follow_changed_offsets():
    """C19: a map kept by address or identity would be stale."""
    case = on_gpu(make("palimpsa", offsets=[0, 40, 128], **PACKED))
    run(case)
    case.offsets.copy_(offsets(0, 77, 128))
    changed = run(case)
    fresh = Case(case.entry, case.inputs, case.initial, offsets(0, 77, 128))
    assert same(changed, run(fresh))


def test_captured_graph_follows_changed_inputs():
    case = on_gpu(make("palimpsa", T=200, K=96, V=192, initial=False,
                       dtype=torch.bfloat16))
    inputs, weight = leaves(case.inputs), torch.randn_like(case.inputs["v"])
    graph, results = captured(case, inputs, weight)
    with torch.no_grad():
        for x in inputs.values():
            x.copy_(x.flip(1))
    graph.replay()
    torch.cuda.synchronize()
    for x, y in zip(results, both(case, inputs, weight)):
        assert torch.equal(x, y)


@pytest.mark.parametrize("packed", (False, True))
def test_calls_do_not_synchronise(packed):
    """E49: neither offsets nor anything else is read back by the host."""
    case = on_gpu(make("palimpsa", offsets=[0, 40, 128] if packed else None,
                       **PACKED))
    inputs, weight = leaves(case.inputs), torch.randn_like(case.inputs["v"])
    both(case, inputs, weight)
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        torch.cuda._sleep(400_000_000)  # the stream is busy while the host calls
        ahead = torch.cuda.Event()
        both(case, inputs, weight)
        ahead.record()
        assert not ahead.query(), "the call waited for the device"
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_work_goes_to_the_callers_stream():
    case = on_gpu(make("palimpsa", T=64, K=48, V=96, initial=False))
    expected = call(case)[0]["o"]
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    late = {n: torch.zeros_like(x) for n, x in case.inputs.items()}
    with torch.cuda.stream(side):
        torch.cuda._sleep(50_000_000)
        for n, x in case.inputs.items():
            late[n].copy_(x)
        o = call(Case("palimpsa", late))[0]["o"]
    side.synchronize()
    assert torch.equal(o, expected)


def test_lengths_and_batches_compile_nothing():
    """C18, E43."""
    case = make("palimpsa", B=1, T=64, H=2, K=40, V=24, dtype=torch.bfloat16)
    run(on_gpu(case))
    run(on_gpu(make("palimpsa", B=1, T=64, H=2, K=40, V=24, offsets=[0, 10, 64],
                    dtype=torch.bfloat16)))
    before = recurra.counters()
    for B, T, H in ((1, 1, 2), (1, 1025, 2), (7, 512, 5), (64, 3, 1)):
        run(on_gpu(make("palimpsa", B=B, T=T, H=H, K=40, V=24, dtype=torch.bfloat16)))
    for cuts in ([0, 0, 100], [0, *range(2, 101, 2)]):
        run(on_gpu(make("palimpsa", B=1, T=100, H=2, K=40, V=24, offsets=cuts,
                        dtype=torch.bfloat16)))
    after = recurra.counters()
    assert after["compilations"] == before["compilations"]
    assert after["disk_hits"] == before["disk_hits"]


FORWARD_ALONE = """
import torch, recurra
q, k, v, beta = (torch.rand(1, 8, 2, 16, device="cuda", requires_grad=True) for _ in range(4))
g = -torch.rand(1, 8, 2, device="cuda")
recurra.ops.palimpsa(q, k, v, g, beta)
"""


def test_a_process_may_end_while_its_backward_compiles(tmp_path):
    """A forward does not wait for the backward's kernel, which its thread keeps."""
    done = subprocess.run([sys.executable, "-c", FORWARD_ALONE], capture_output=True,
                          env={**os.environ, "RECURRA_CACHE_DIR": str(tmp_path)},
                          timeout=120, check=False, text=True)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.rglob("*.kernel"))) == 2


@pytest.mark.parametrize("dynamic", (False, True))
def test_one_graph_around_norm_op_and_projection(dynamic):
    """C20: torch.compile(fullgraph=True)."""
    K, V = 24, 20
    weight = torch.randn(V, V, device=DEVICE)

    def block(q, k, v, g, beta):
        q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        return recurra.ops.palimpsa(q, k, v, g, beta)[0] @ weight

    compiled = torch.compile(block, fullgraph=True, backend="aot_eager", dynamic=dynamic)
    for T in (40, 57):
        case = on_gpu(make("palimpsa", B=1, T=T, K=K, V=V, initial=False))
        results = []
        for function in (block, compiled):
            inputs = leaves(case.inputs)
            o = function(**inputs)
            results.append((o, *torch.autograd.grad(o.sum(), list(inputs.values()))))
        for x, y in zip(*results):
            assert torch.allclose(x, y, rtol=1e-5, atol=1e-6)


def test_the_op_passes_opcheck():
    """C20."""
    case = on_gpu(make("palimpsa", T=9, K=8, V=8))
    inputs = leaves(case.inputs)
    given = [inputs.get(x.name) for x in case.recurrence.inputs]
    states = [case.initial[x.name] for x in case.recurrence.states]
    torch.library.opcheck(torch.ops.recurra.forward, (
        case.op.text, given, states, None, ["o"], True, False))


@pytest.mark.parametrize("name", ("k", "g"))
def test_mixed_devices_are_named(name):
    """C21: one tensor on another device."""
    case = on_gpu(make("palimpsa", initial=False))
    case.inputs[name] = case.inputs[name].cpu()
    with pytest.raises(ValueError, match=f"'{name}' is on cpu"):
        call(case)


def test_tensors_of_the_host_run_there():
    """C21."""
    case = make("palimpsa", T=30)
    assert call(case)[0]["o"].device.type == "cpu"


def test_another_gpu_than_the_current():
    """C21: tensors on the second GPU while the first is current."""
    if torch.cuda.device_count() < 2:
        pytest.skip("one NVIDIA GPU; this needs two")
    case = make("palimpsa", T=70, K=48, V=96)
    expected = run(on_gpu(case))
    far = {n: x.to("cuda:1") for n, x in case.inputs.items()}
    there = run(Case("palimpsa", far, {n: x.to("cuda:1") for n, x in case.initial.items()}))
    assert there.outputs["o"].device.index == 1 and torch.cuda.current_device() == 0
    assert torch.equal(there.outputs["o"].cpu(), expected.outputs["o"].cpu())
    assert torch.equal(there.of_inputs["k"].cpu(), expected.of_inputs["k"].cpu())
