"""The bench's peers compute what ours computes, and its counts add up."""
# SPDX-License-Identifier: Apache-2.0
import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))
import bench  # noqa: E402
import measure  # noqa: E402
import peers  # noqa: E402

import recurra  # noqa: E402


def close(actual, expected):
    return (actual - expected).norm() <= 1e-5 * expected.norm()


@pytest.mark.parametrize("op", list(peers.EAGER))
def test_the_eager_loop_computes_the_op(op):
    x = peers.inputs(op, 2, 37, 2, 8, 6)
    assert close(peers.EAGER[op](x), getattr(recurra.ops, op)(**x)[0])


@pytest.mark.parametrize("compiler", peers.compilers())
def test_the_hand_written_loop_has_the_ops_values_and_gradients(compiler):
    x = peers.inputs("palimpsa", 2, 70, 2, 8, 5)
    do = torch.randn_like(x["v"])
    o, gradients = peers.HandWritten(compiler, 2).forward_backward(x, do)
    leaves = {name: value.clone().requires_grad_() for name, value in x.items()}
    expected = recurra.ops.palimpsa(**leaves)[0]
    expected.backward(do)
    assert close(o, expected)
    for name, leaf in leaves.items():
        assert close(gradients[name], leaf.grad), name


def test_operations_are_the_sum_of_what_is_spelled_out():
    assert bench.operations("palimpsa", "forward") == 10
    assert bench.operations("palimpsa", "backward") == 30
    assert bench.operations("simple_gla", "forward") == 5
    assert bench.operations("gated_delta_rule", "backward") == 20


def test_the_peak_of_memory_counts_what_a_call_allocates():
    megabytes = 64

    def call():
        torch.ones(megabytes * 2**18)

    assert 0.9 * megabytes < measure.peak_bytes(call) / 2**20 < 1.5 * megabytes


def test_the_fma_peak_is_the_same_again_and_that_of_one_thread_or_two():
    """Two threads share a core's units where the machine's cores are its two
    halves."""
    one, two, again = (peers.fma_peak(threads) for threads in (1, 2, 2))
    assert max(two, again) < 1.15 * min(two, again)
    assert 0.9 * one < two < 2.3 * one


def test_the_median_is_of_interleaved_rounds():
    order = []
    times = measure.medians({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, most=3)
    assert "".join(order) == "ab" + "ab" * 3
    assert set(times) == {"a", "b"}
