# The language in Python: the same texts as in C++, errors at the line of this
# file, and the oracle on NumPy arrays.
# SPDX-License-Identifier: Apache-2.0
import inspect
import pickle
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

from recurra import _dsl as dsl

PACKAGE = pathlib.Path(__file__).parents[2] / "build" / "python" / "recurra"


def line():
    return inspect.currentframe().f_back.f_lineno


def test_needs_no_torch():
    code = ("import sys, _dsl; assert _dsl.catalogue()['gla'].hash(); "
            "assert 'torch' not in sys.modules")
    subprocess.run([sys.executable, "-c", code], check=True, cwd=PACKAGE)


def palimpsa(r):
    K, V = r.axis("K"), r.axis("V")
    q = r.token("q", (K,), dsl.per_group)
    k = r.token("k", (K,), dsl.per_group)
    v, g = r.token("v", (V,)), r.token("g", (), dsl.non_positive)
    beta = r.token("beta", (V,), dsl.non_negative)
    prior = r.head("prior", (), dsl.positive, default=1)
    scale = r.scalar("scale", default=dsl.rsqrt(dsl.extent(K)))
    M, J = r.state("M", (K, V)), r.state("J", (K, V), dsl.non_negative)
    r.M = dsl.exp(g) * r.M + v * k
    J.update(dsl.exp(g) * J + beta * dsl.square(k))
    r.output("o", scale * dsl.sum(M / (J + prior) * q, K))
    r.output("o_var", scale * dsl.sum(dsl.square(q) / (r.J + prior), K),
             optional=True)


def test_gives_the_same_text_and_hash_as_cpp():
    mine, theirs = dsl.define(palimpsa), dsl.catalogue()["palimpsa"]
    assert mine.to_text() == theirs.to_text()
    assert mine.hash() == theirs.hash()


def test_names_every_line_of_this_file():
    text = dsl.define(palimpsa).to_text(locations=True)
    first = palimpsa.__code__.co_firstlineno
    update = next(x for x in text.splitlines() if x.startswith("next M"))
    assert update.endswith(f"@ {__file__}:{first + 9}")
    state = next(x for x in text.splitlines() if x.startswith("state M"))
    assert state.endswith(f"@ {__file__}:{first + 8}")


def test_every_entry_parses_back():
    for name, entry in dsl.catalogue().items():
        again = dsl.parse(entry.to_text(locations=True))
        assert again.to_text() == entry.to_text()
        assert again.name == name
        assert pickle.loads(pickle.dumps(entry)).to_text() == entry.to_text()


def test_describes_the_signature_as_plain_objects():
    entry = dsl.catalogue()["palimpsa"]
    assert entry.axes == ("K", "V")
    assert [x["name"] for x in entry.inputs] == [
        "q", "k", "v", "g", "beta", "prior", "scale"]
    assert entry.inputs[0] == {
        "name": "q", "role": "token", "sharing": "group", "axes": ("K",),
        "facts": (), "default": None}
    assert entry.inputs[5]["facts"] == ("positive",)
    assert entry.inputs[5]["default"] == "1"
    assert entry.inputs[6]["default"] == "rsqrt(extent(K))"
    assert entry.states[1] == {"name": "J", "axes": ("K", "V"),
                               "facts": ("nonNegative",), "dtype": "float32",
                               "initial": "0"}
    assert entry.outputs[1] == {"name": "o_var", "axes": ("V",),
                                "optional": True}
    assert dsl.default_value(entry, "scale", {"K": 64, "V": 1}) == 0.125


def test_an_axis_may_have_a_fixed_size():
    def body(r):
        R = r.axis("R", size=2)
        r.output("o", r.token("x", (R,)).at(R, 1))
    pairs = dsl.define("pairs", body)
    assert "axis R 2\n" in pairs.to_text()
    assert pairs.axes == ("R",) and pairs.fixed_sizes == {"R": 2}


class FromTorch:
    """Spelt as torch.bfloat16 is; the language does without torch."""
    def __str__(self):
        return "torch.bfloat16"


@pytest.mark.parametrize("dtype", ("bfloat16", "bf16", FromTorch()))
def test_a_state_may_have_a_dtype(dtype):
    def body(r):
        D = r.axis("D")
        x = r.token("x", (D,))
        r.state("h", (D,), dtype=dtype, initial=2)
        r.state("n", (D,), dtype="float32")
        r.h, r.n = r.h + x, r.n + 1
        r.output("o", r.h * r.n)
    halves = dsl.define("halves", body)
    assert "state h[D] dtype bf16 initial 2\n" in halves.to_text()
    assert "state n[D] initial 0\n" in halves.to_text()
    assert [x["dtype"] for x in halves.states] == ["bfloat16", "float32"]
    assert pickle.loads(pickle.dumps(halves)).hash() == halves.hash()


def build(body):
    """Defines one state h over D and input x; `body(r, D, x)` adds to it."""
    def wrapped(r):
        D = r.axis("D")
        x = r.token("x", (D,))
        r.state("h", (D,))
        body(r, D, x)
    return dsl.define("built", wrapped)


def check(body, number, message):
    with pytest.raises(dsl.UserError) as raised:
        build(body)
    assert str(raised.value).startswith(f"{__file__}:{number}: "), raised.value
    assert re.search(message, str(raised.value)), raised.value


def test_errors_name_this_line():
    def axes(r, D, x):
        r.h = dsl.sum(x, D)
    check(axes, line() - 1, r"state 'h' has axes \{D\} but its update has \{\}")

    def twice(r, D, x):
        r.h = x * dsl.sum(dsl.sum(x, D), D)
    check(twice, line() - 1, "sum over axis 'D'")

    def unknown(r, D, x):
        r.j = x
    check(unknown, line() - 1, "no state is called 'j'")

    def truth(r, D, x):
        return 1 if x else 2
    check(truth, line() - 1, "condition of Python")

    def builtin(r, D, x):
        r.h = max(x, r.h)
    check(builtin, line() - 1, "min and max of the language")

    def kind(r, D, x):
        r.h = x + "1"
    check(kind, line() - 1, "a str is used as a value")

    def power(r, D, x):
        r.h = x ** 3
    check(power, line() - 1, "a power other than 2")

    def repeated(r, D, x):
        r.repeat(17)
    check(repeated, line() - 1, "repeated 1 to 16 times")

    def option(r, D, x):
        r.token("y", (D,), 3)
    check(option, line() - 1, "3 is no fact")

    for dtype in ("float8", "float64"):
        def no_such_dtype(r, D, x):
            r.state("j", (D,), dtype=dtype)
            r.j = r.j + x
            r.h = r.h + r.j
            r.output("o", r.h)
        check(no_such_dtype, line() - 4,
              f"state 'j' has the dtype '(f64|{dtype})'; .* f32, f16 or bf16")

    def axis(r, D, x):
        r.token("y", ("D",))
    check(axis, line() - 1, "'D' is no axis")

    def size(r, D, x):
        r.axis("R", 0)
    check(size, line() - 1, "axis 'R' has the size 0")


def test_errors_of_the_whole_name_the_declaration():
    def rebound(r, D, x):
        h = x + r.h  # rebinds a name of Python: no update
        r.output("o", h)
    declared = build.__code__.co_firstlineno + 5
    check(rebound, declared, "state 'h' is never updated.*in Python: r.h = ..")


def test_assigning_a_state_to_a_state_is_an_update():
    def body(r):
        D = r.axis("D")
        x = r.token("x", (D,))
        a, b = r.state("a", (D,)), r.state("b", (D,))
        old = a.read()
        r.a = b
        r.b = old + x
        r.output("o", r.a + r.b)
    text = dsl.define("swap", body).to_text()
    assert "next a = b\n" in text
    assert "next b = a + x\n" in text


def test_in_place_operators_are_updates():
    def body(r):
        D = r.axis("D")
        x = r.token("x", (D,))
        h = r.state("h", (D,), initial=2)
        h *= 0.5
        r.h += x
        r.h -= 1
        h /= 4
        r.output("o", h)
    text = dsl.define("in_place", body).to_text()
    assert "next h = (h * 0.5 + x - 1) / 4\n" in text
    assert "state h[D] initial 2\n" in text


@pytest.mark.filterwarnings("ignore:.*divisor of")
def test_every_operator_has_the_spelling_of_the_text():
    def body(r):
        D, E, R = r.axis("D"), r.axis("E"), r.axis("R")
        x = r.token("x", (D,), dsl.within(-1, 1), dsl.unit(D))
        y = r.token("y", (D, R), dsl.positive, dsl.shared_by_all_heads)
        w = r.head("w", (D, E))
        h = r.state("h", (D,))
        for j in r.repeat(2):
            h += y.at(R, j)
        h.update(dsl.select(x < 0, -h, abs(h)))
        h.update(dsl.select(0 < x, dsl.min(x, 1), dsl.max(h, x)) + (2 - x) ** 2)
        h.update(h + dsl.max(h, D) * dsl.softmax(x, D) + dsl.mean(y, R))
        h.update(dsl.tanh(dsl.sum(w * dsl.rename(h, D, E), E)))
        h.update(h + dsl.previous(x) + dsl.previous(x * h, "xh"))
        r.output("o", dsl.detach(dsl.l2norm(1 / h, D)), axes=(D,))
        for f in (dsl.exp, dsl.log, dsl.expm1, dsl.log1p, dsl.sqrt, dsl.rsqrt,
                  dsl.sigmoid, dsl.softplus, dsl.logsigmoid, dsl.silu):
            r.output(f"o_{f.__name__}", f(h))
    recurrence = dsl.define("all", body)
    text = recurrence.to_text()
    for word in ("range(-1, 1) unit(D)", "sharedByAllHeads positive",
                 "select(x < 0, ", "select(0 < x, ", "min(x, 1)", "max(", "at(y, R, 1)",
                 "softmax(x, D)", "mean(y, R)", "rename(", "previous_x",
                 "previous_xh", "detach(l2norm(1 / ", "square(2 - x)", "exp(",
                 "log(", "expm1(", "log1p(", "sqrt(", "rsqrt(", "sigmoid(",
                 "softplus(", "logsigmoid(", "silu("):
        assert word in text, (word, text)
    assert dsl.parse(text).to_text() == text


def test_warns_of_a_division_that_no_fact_protects():
    def body(r, D, x):
        r.h = r.h + 1 / x
        r.output("o", r.h)
    number = line() - 2
    with pytest.warns(UserWarning, match="the divisor of '/' may be zero"):
        warnings = build(body).warnings
    assert len(warnings) == 1
    assert warnings[0].startswith(f"{__file__}:{number}: the divisor of '/'")


def simple_gla_call():
    rng = np.random.default_rng(0)
    shape = (2, 5, 4)
    inputs = {"q": rng.standard_normal((2, 5, 2, 3)),
              "k": rng.standard_normal((2, 5, 2, 3)),
              "v": rng.standard_normal(shape + (6,)),
              "g": -np.abs(rng.standard_normal(shape))}
    return inputs, {"S": rng.standard_normal((2, 4, 3, 6))}


def loop(inputs, states):
    q, k = (np.repeat(inputs[n], 2, axis=2) for n in "qk")
    state, rows = states["S"], []
    for t in range(q.shape[1]):
        state = (np.exp(inputs["g"][:, t])[..., None, None] * state
                 + np.einsum("bhk,bhv->bhkv", k[:, t], inputs["v"][:, t]))
        rows.append(np.einsum("bhkv,bhk->bhv", state, q[:, t]) * 3 ** -0.5)
    return np.stack(rows, 1), state


def test_oracle_on_arrays():
    inputs, states = simple_gla_call()
    entry = dsl.catalogue()["simple_gla"]
    outputs, finals = dsl.evaluate(entry, inputs, states)
    o, final = loop(inputs, states)
    np.testing.assert_allclose(outputs["o"], o, atol=1e-13)
    np.testing.assert_allclose(finals["S"], final, atol=1e-13)


def test_oracle_gradients_and_packed_sequences():
    inputs, states = simple_gla_call()
    entry = dsl.catalogue()["simple_gla"]
    inputs = {n: x.reshape((1, 10) + x.shape[2:]) for n, x in inputs.items()}
    rng = np.random.default_rng(1)
    do = rng.standard_normal((1, 10, 4, 6))
    dfinal = rng.standard_normal((2, 4, 3, 6))

    def loss(inputs, states):
        outputs, finals = dsl.evaluate(entry, inputs, states, offsets=[0, 5, 10])
        return (outputs["o"] * do).sum() + (finals["S"] * dfinal).sum()

    grads, dstates = dsl.differentiate(
        entry, inputs, {"o": do}, {"S": dfinal}, states, offsets=[0, 5, 10])
    for given, found in ((inputs, grads), (states, dstates)):
        for name, x in given.items():
            step = rng.standard_normal(x.shape)
            plus = {**given, name: x + 1e-6 * step}
            minus = {**given, name: x - 1e-6 * step}
            ends = [loss(p, states) if given is inputs else loss(inputs, p)
                    for p in (plus, minus)]
            slope = (ends[0] - ends[1]) / 2e-6
            np.testing.assert_allclose((found[name] * step).sum(), slope,
                                       rtol=1e-7, atol=1e-7)


def test_oracle_names_what_is_wrong():
    inputs, states = simple_gla_call()
    del inputs["q"]
    with pytest.raises(dsl.UserError, match="input 'q' is missing"):
        dsl.evaluate(dsl.catalogue()["simple_gla"], inputs, states)
