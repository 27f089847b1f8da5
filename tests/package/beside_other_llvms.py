"""Three compilers of three LLVMs in one process, at once: Triton's on one thread,
ours on two others, beside torch. Run by test_package.py.
"""
# SPDX-License-Identifier: Apache-2.0
import threading

import torch
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import recurra


@triton.jit
def double(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)


def compile_triton():
    source = ASTSource(
        fn=double, signature={"x": "*fp32", "n": "i32", "BLOCK": "constexpr"},
        constexprs={(2,): 64},
    )
    assert ".visible .entry double" in triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"]


def compile_recurra(name, *gates):
    q, k, v = (torch.randn(2, 5, 3, n, requires_grad=True) for n in (4, 4, 6))
    o, _ = getattr(recurra.ops, name)(q, k, v, *gates)
    o.sum().backward()
    assert torch.isfinite(o).all() and torch.isfinite(q.grad).all()


def run(work, *arguments):
    def guarded():
        work(*arguments)
        done.append(work)

    thread = threading.Thread(target=guarded)
    thread.start()
    return thread


done = []
gate = -torch.rand(2, 5, 3)
threads = [
    run(compile_triton),
    run(compile_recurra, "palimpsa", gate, torch.rand(2, 5, 3, 6)),
    run(compile_recurra, "simple_gla", gate),
]
for started in threads:
    started.join()
assert len(done) == 3, done
for line in open("/proc/self/maps"):
    if ".so" in line:
        print(line.split()[-1])
