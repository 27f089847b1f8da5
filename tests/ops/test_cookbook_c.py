# The cookbook's ready inputs, by their number (C1 to C22).
# SPDX-License-Identifier: Apache-2.0
import hashlib
import subprocess
import sys

import pytest
import torch

import recurra
from harness import (ENTRIES, call, cases, check, check_palimpsa, make, run,
                     same_bits, same_output)
from test_cookbook_e_calls import fenced
from test_cookbook_e_numerics import GATED, finite

LENGTHS = (1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129)
WIDTHS = (8, 16, 31, 48, 60, 64, 65, 96, 100, 128, 192, 256, 320)


@pytest.mark.parametrize("T", LENGTHS)
@pytest.mark.parametrize("entry", cases(ENTRIES, ("palimpsa",)))
def test_c01_lengths(entry, T):
    check(make(entry, B=2, T=T, H=3, K=48, V=96))


@pytest.mark.parametrize("K,V", cases(
    [(WIDTHS[i], WIDTHS[-i - 2]) for i in range(len(WIDTHS) - 1)],
    [(8, 320), (31, 60), (65, 48), (256, 31)]))
@pytest.mark.parametrize("entry", cases(
    ("palimpsa", "simple_gla", "gla", "gated_delta_rule", "mlstm"), ("palimpsa",)))
def test_c02_widths_in_buffers_of_nan(entry, K, V):
    case = make(entry, B=1, T=70, H=2, K=K, V=V)
    case = case.with_inputs(**{n: fenced(x) for n, x in case.inputs.items()})
    case.initial = {n: fenced(x) for n, x in case.initial.items()}
    check(case)


@pytest.mark.parametrize("place", cases(range(64), (0, 1, 31, 62, 63)))
@pytest.mark.parametrize("steps", (1, 2))
def test_c03_one_or_two_steep_steps(place, steps):
    case = make("gated_delta_rule", B=1, T=66)
    g = torch.zeros_like(case.inputs["g"])
    g[:, place:place + steps] = -50
    check(case.with_inputs(g=g))


@pytest.mark.parametrize("share", (0.1, 0.5, 0.9))
@pytest.mark.parametrize("reset", (-1000.0, -torch.inf))
@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16))
@pytest.mark.parametrize("entry", cases(GATED, ("gla", "palimpsa")))
def test_c04_many_resets(entry, share, reset, dtype):
    case = make(entry, B=1, T=70, dtype=dtype)
    draw = torch.Generator().manual_seed(3)
    shape = case.inputs["g"].shape
    g = torch.where(torch.rand(shape, generator=draw) < share, reset,
                    -torch.rand(shape, generator=draw))
    finite(check(case.with_inputs(g=g.to(dtype))))


@pytest.mark.parametrize("offsets", (
    [0, 0, 16], [0, 5, 5, 5, 70], [0, 0, 0], [0, 1, 2, 3, 67], [0, 63, 64, 128, 193]))
@pytest.mark.parametrize("entry", cases(ENTRIES, ("palimpsa", "gated_delta_rule")))
def test_c08_packed_sequences(entry, offsets):
    check(make(entry, B=1, T=offsets[-1], offsets=offsets))


@pytest.mark.parametrize("split", (1, 15, 16, 64, 65, 79))
@pytest.mark.parametrize("entry", cases(ENTRIES, ("palimpsa", "gated_delta_rule", "mlstm")))
def test_c09_two_calls_equal_one(entry, split):
    case = make(entry, B=1, T=80)
    whole = run(case)
    inputs = {n: x.clone().requires_grad_() for n, x in case.inputs.items()}
    initial = {n: x.clone().requires_grad_() for n, x in case.initial.items()}

    def part(begin, end, state):
        tokens = {x.name for x in case.recurrence.inputs if x.role == "token"}
        cut = {n: x[:, begin:end] if n in tokens else x for n, x in inputs.items()}
        return call(case.with_inputs(**cut), cut, state)

    first, middle = part(0, split, initial)
    second, final = part(split, 80, middle)
    for name, x in whole.outputs.items():
        assert same_output(case, torch.cat([first[name], second[name]], 1), x)
    pairs = [(torch.cat([first[n], second[n]], 1), w)
             for n, w in whole.output_weights.items()]
    pairs += [(final[n], w) for n, w in whole.final_weights.items()]
    torch.autograd.backward([x for x, _ in pairs], [w for _, w in pairs])
    for name, x in whole.of_inputs.items():
        assert torch.allclose(inputs[name].grad, x, rtol=1e-4, atol=1e-5), name
    for name, x in whole.of_initial.items():
        assert torch.allclose(initial[name].grad, x, rtol=1e-4, atol=1e-5), name


@pytest.mark.parametrize("entry", ENTRIES)
def test_c10_losses_and_states_that_are_absent(entry):
    case = make(entry, T=18)
    check(case, loss="states")
    check(case, loss="outputs")
    asked = check(case, asking=set(case.inputs))
    assert not asked.of_initial
    case.initial = {}
    check(case)


@pytest.mark.parametrize("entry", ("palimpsa", "palimpsa_mu"))
def test_c12_views_and_strided_gradients(entry):
    B, T, H, K, V = 2, 33, 2, 5, 7
    draw = torch.Generator().manual_seed(42)
    buffer = torch.rand(B, T, H, 2 * K + 2 * V, generator=draw)
    q, k, v, b = buffer.split((K, K, V, V), dim=-1)
    case = make(entry, T=T, K=K, V=V).with_inputs(q=q, k=k, v=v, beta=b)
    check(case)
    inputs = {n: x.detach().requires_grad_() for n, x in case.inputs.items()}
    results = []
    for weights in (lambda x: torch.ones_like(x).transpose(-1, -2).contiguous()
                    .transpose(-1, -2), torch.ones_like):
        outputs, finals = call(case, inputs)
        values = [outputs["o"], *finals.values()]
        grads = [torch.ones(()).expand_as(outputs["o"])] + [weights(x) for x in finals.values()]
        results.append(torch.autograd.grad(values, list(inputs.values()), grads))
    for x, y in zip(*results):
        assert torch.equal(x, y)


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16, torch.float16))
@pytest.mark.parametrize("autocast", (False, True))
def test_c13_one_input_at_a_time(dtype, autocast):
    for name in make("gated_delta_rule", T=1).inputs:
        case = make("gated_delta_rule", T=17, dtype={name: dtype})
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            result = check(case)
        assert result.of_inputs[name].dtype == dtype


def digest(result):
    tensors = [*result.outputs.values(), *result.finals.values(),
               *result.of_inputs.values(), *result.of_initial.values()]
    joined = b"".join(x.reshape(-1).view(torch.uint8).numpy().tobytes() for x in tensors)
    return hashlib.sha256(joined).hexdigest()


@pytest.mark.parametrize("entry", cases(ENTRIES, ("palimpsa", "gated_delta_rule")))
def test_c17_same_bits_on_every_run(entry, tmp_path):
    case = make(entry, B=2, T=130, H=2, K=16, V=24)
    first = run(case)
    threads = torch.get_num_threads()
    for i in range(100):
        torch.set_num_threads(1 + i % max(2, threads))
        assert same_bits(run(case), first), i
    torch.set_num_threads(threads)
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); import recurra; "
        "recurra.set_option('cache_dir', sys.argv[2]); "
        "from harness import make, run; from test_cookbook_c import digest; "
        "print(digest(run(make(sys.argv[3], B=2, T=130, H=2, K=16, V=24))))")
    for folder in ("cold", "cold"):  # the second time from a warm disk cache
        out = subprocess.run(
            [sys.executable, "-c", script, sys.path[0], str(tmp_path / folder), entry],
            check=True, capture_output=True, text=True).stdout
        assert out.strip() == digest(first)


def test_c17_a_row_does_not_depend_on_its_batch():
    case = make("palimpsa", B=3, T=70, K=16, V=24)
    alone = case.with_inputs(**{n: x[2:] for n, x in case.inputs.items()})
    alone.initial = {n: x[2:] for n, x in case.initial.items()}
    with torch.no_grad():
        a, final_a = call(case)
        b, final_b = call(alone)
    assert torch.equal(a["o"][2:], b["o"])
    assert torch.equal(final_a["M"][2:], final_b["M"])


def test_c18_documents_and_lengths_compile_nothing():
    def documents(count, T):
        cuts = sorted(torch.randint(0, T + 1, (count - 1,)).tolist())
        return make("gated_delta_rule", B=1, T=T, offsets=[0, *cuts, T])

    torch.manual_seed(0)
    run(documents(2, 64))
    before = recurra.counters()["compilations"]
    for T, count in ((1024, 1), (1025, 7), (512, 50), (4096, 3)):
        run(documents(count, T))
    assert recurra.counters()["compilations"] == before


@pytest.mark.parametrize("gate", (0.0, -1e-6, -1.0, -40.0, -1000.0))
@pytest.mark.parametrize("entry", ("palimpsa", "palimpsa_mu"))
def test_c22_palimpsa_from_a_given_posterior(entry, gate):
    """I0 above the prior, any mean; loss on the final states."""
    case = make(entry, T=50, outputs=("o", "o_var"), given=("prior",))
    prior = case.inputs["prior"][None, :, None, None]
    draw = torch.Generator().manual_seed(5)
    above = torch.rand(case.initial[case.recurrence.states[1].name].shape, generator=draw)
    mean = torch.randn(above.shape, generator=draw)
    precision = prior + above
    case.initial = ({"M": precision * mean, "J": above} if entry == "palimpsa"
                    else {"mu": mean, "I": precision})
    case.inputs["scale"] = torch.tensor(0.1)
    case.inputs["g"] = torch.full_like(case.inputs["g"], gate)
    finite(check_palimpsa(case, loss="states"))
    finite(check_palimpsa(case))
