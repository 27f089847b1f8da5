"""Names, shapes and counts of the model's parameters, and its function."""
# SPDX-License-Identifier: Apache-2.0
import json

import pytest
import torch
from conftest import CONFIGS
from safetensors.torch import load_file
from torch.nn import functional as F


def describe(driver, config=None, *words):
    return json.loads(driver.call("describe", config or driver.config, *words).stdout)


def test_state_dictionary_has_the_names_and_shapes_of_the_reference(driver):
    described = describe(driver, None, "--set", "model.mlp=true", "--set", "model.layers=1")
    shapes = {t["name"]: t["shape"] for t in described["tensors"]}
    mixer = {
        "q_proj.weight": [32, 32], "k_proj.weight": [32, 32], "v_proj.weight": [32, 32],
        "q_conv1d.weight": [32, 1, 4], "k_conv1d.weight": [32, 1, 4], "v_conv1d.weight": [32, 1, 4],
        "b_rank_proj.weight": [4, 32], "b_proj.weight": [32, 4], "bs_proj.weight": [2, 32],
        "dt_proj.weight": [2, 32], "g_proj.weight": [32, 32], "o_norm.weight": [16],
        "o_proj.weight": [32, 32], "A_log": [2], "dt_bias": [2], "b_scale": [2], "D": [2], "Ip_log": [2],
    }  # fmt: skip
    expected = {f"model.layers.0.attn.{name}": shape for name, shape in mixer.items()}
    expected |= {
        "model.embeddings.weight": [32, 32],
        "model.norm.weight": [32],
        "model.layers.0.attn_norm.weight": [32],
        "model.layers.0.mlp_norm.weight": [32],
        "model.layers.0.mlp.gate_proj.weight": [256, 32],
        "model.layers.0.mlp.up_proj.weight": [256, 32],
        "model.layers.0.mlp.down_proj.weight": [32, 256],
    }
    assert shapes == expected


def test_gates_norms_and_scalars_do_not_decay_and_the_prior_is_frozen(driver):
    words = ("--set", "model.mlp=true", "--set", "model.layers=1")
    tensors = describe(driver, None, *words)["tensors"]
    still = {t["name"].removeprefix("model.layers.0.") for t in tensors if not t["decay"]}
    scalars = {"attn.A_log", "attn.dt_bias", "attn.D", "attn.b_scale", "attn.Ip_log"}
    norms = {"attn.o_norm.weight", "attn_norm.weight", "mlp_norm.weight", "model.norm.weight"}
    assert still == scalars | norms
    assert {t["name"].split(".")[-1] for t in tensors if t["frozen"]} == {"Ip_log"}


@pytest.mark.parametrize("size, millions", [("170m", 172.34), ("760m", 776.25)])
def test_parameter_counts_of_the_paper(driver, size, millions):
    described = describe(driver, CONFIGS / f"palimpsa-d-{size}.toml")
    assert round(described["parameters"] / 1e6, 2) == millions


def rms(x, weight, eps=1e-6):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight


def convolve(x, weight):
    """x [B, T, C] through torch's own convolution."""
    padded = F.pad(x.transpose(1, 2), (weight.shape[-1] - 1, 0))
    return F.silu(F.conv1d(padded, weight, groups=len(weight)).transpose(1, 2))


def recur(q, k, v, decay, beta, prior):
    """The token loop of palimpsa, states [B, H, V, K]."""
    m = torch.zeros(*v.shape[:1], *v.shape[2:], k.shape[-1], dtype=v.dtype)
    j, outputs = torch.zeros_like(m), []
    for t in range(q.shape[1]):
        a, kt = decay[:, t, :, None, None], k[:, t, :, None, :]
        m = a * m + v[:, t, :, :, None] * kt
        j = a * j + beta[:, t, :, :, None] * kt.square()
        read = m / (j + prior[:, None, None]) * q[:, t, :, None, :]
        outputs.append(read.sum(-1) * k.shape[-1] ** -0.5)
    return torch.stack(outputs, 1)


def recur_gla(q, k, v, decay):
    """The token loop of simple_gla: one state, read as it is."""
    state = torch.zeros(*v.shape[:1], *v.shape[2:], k.shape[-1], dtype=v.dtype)
    outputs = []
    for t in range(q.shape[1]):
        state = decay[:, t, :, None, None] * state + v[:, t, :, :, None] * k[:, t, :, None, :]
        outputs.append((state * q[:, t, :, None, :]).sum(-1) * k.shape[-1] ** -0.5)
    return torch.stack(outputs, 1)


def mix(h, p, heads, mixer):
    def split(x):
        return x.unflatten(-1, (heads, -1))

    q, k, x = (split(convolve(h @ p[f"{n}_proj.weight"].T, p[f"{n}_conv1d.weight"])) for n in "qkv")
    q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
    dt = F.softplus(h @ p["dt_proj.weight"].T + p["dt_bias"])
    step = torch.sigmoid(h @ p["bs_proj.weight"].T)[..., None]
    ranked = split(torch.sigmoid(h @ p["b_rank_proj.weight"].T @ p["b_proj.weight"].T))
    beta = step * ranked * F.softplus(p["b_scale"])[:, None]
    decay = torch.exp(-dt * p["A_log"].exp())
    y = p["D"][:, None] * x
    if mixer == "palimpsa":
        y = y + recur(q, k, step * x, decay, beta, p["Ip_log"].exp())
    if mixer == "simple_gla":
        y = y + recur_gla(q, k, step * x, decay)
    gate = split(F.silu(h @ p["g_proj.weight"].T))
    return (rms(y, p["o_norm.weight"]) * gate).flatten(2) @ p["o_proj.weight"].T


def run_model(tokens, parameters, layers, heads, mlp, mixer):
    def under(prefix):
        return {k[len(prefix) :]: v for k, v in parameters.items() if k.startswith(prefix)}

    x = parameters["model.embeddings.weight"][tokens]
    for layer in range(layers):
        p = under(f"model.layers.{layer}.")
        h, own = rms(x, p["attn_norm.weight"]), under(f"model.layers.{layer}.attn.")
        x = x + mix(h, own, heads, mixer)
        if mlp:
            h = rms(x, p["mlp_norm.weight"])
            inner = F.silu(h @ p["mlp.gate_proj.weight"].T) * (h @ p["mlp.up_proj.weight"].T)
            x = x + inner @ p["mlp.down_proj.weight"].T
    return rms(x, parameters["model.norm.weight"]) @ parameters["model.embeddings.weight"].T


def train_and_differentiate(driver, settings, first=""):
    """A checkpoint after five steps, which move every parameter off its initial
    value, and what the driver says of it with `settings` in [model] and `first`
    on top of the file."""
    text = driver.config.read_text().replace("mlp = false", settings)
    driver.config.write_text(text)
    driver.train("run", optimiser__steps=5)
    driver.config.write_text(text.replace("[run]", "[run]\n" + first))
    checkpoint = driver.folder / "run/step-000005/model.safetensors"
    driver.call("gradient", driver.config, checkpoint, "out")
    return load_file(checkpoint), load_file(driver.folder / "out/step-000000/model.safetensors")


def differentiate(loaded, got, mlp, mixer):
    """The same of the eager model in double: logits of the asked rows, loss and
    parameters with their gradients."""
    parameters = {k: v.double().requires_grad_(not k.endswith("Ip_log")) for k, v in loaded.items()}
    tokens = got["tokens"]
    asked = torch.zeros_like(tokens, dtype=torch.bool)
    for row in range(len(tokens)):
        for key in tokens[row, 0:8:2]:
            asked[row, 8:] |= tokens[row, 8:] == key
    logits = run_model(tokens, parameters, layers=2, heads=2, mlp=mlp, mixer=mixer)[asked]
    targets = torch.roll(tokens, -1, 1)[asked]
    loss = F.cross_entropy(logits, targets)
    loss.backward()
    # The driver keeps its rows in the order of the pairs, this test in time.
    assert sorted(got["targets"].tolist()) == sorted(targets.tolist())
    return logits.detach(), loss.item(), parameters


def compare_gradients(got, parameters, bound):
    # Without the recurrence the norm behind D leaves it hardly any gradient.
    floor = 1e-3 * max(p.grad.norm() for p in parameters.values() if p.grad is not None)
    for name, parameter in parameters.items():
        if parameter.grad is None:
            assert not got.get(f"gradient.{name}", torch.zeros(1)).any()
            continue
        gradient = got[f"gradient.{name}"].double()
        error = (gradient - parameter.grad).norm() / max(parameter.grad.norm(), floor)
        assert error < bound, f"{name}: {error:.1e}"


@pytest.mark.parametrize("mlp, mixer, form, fused", [
    (True, "palimpsa", "auto", True), (True, "palimpsa", "shifted", False), (False, "palimpsa", "grouped", True),
    (False, "convolution", "auto", True), (True, "simple_gla", "auto", True),
])  # fmt: skip
def test_logits_and_gradients_agree_with_an_eager_model_in_double(driver, mlp, mixer, form, fused):
    flags = f"mlp = {str(mlp).lower()}\nfused = {str(fused).lower()}"
    settings = f'{flags}\nmixer = "{mixer}"\nconvolution_form = "{form}"'
    loaded, got = train_and_differentiate(driver, settings)
    logits, loss, parameters = differentiate(loaded, got, mlp, mixer)
    torch.testing.assert_close(got["logits"].double().sum(0), logits.sum(0), rtol=1e-4, atol=1e-3)
    assert got["loss"].item() == pytest.approx(loss, rel=1e-5)
    compare_gradients(got, parameters, 2e-4)


@pytest.mark.parametrize("form, fused", [("recurrence", True), ("shifted", False)])
def test_autocast_stays_within_bfloat16_of_the_model_in_double(driver, form, fused):
    settings = f'mlp = true\nfused = {str(fused).lower()}\nconvolution_form = "{form}"'
    loaded, got = train_and_differentiate(driver, settings, 'precision = "bfloat16"')
    _, loss, parameters = differentiate(loaded, got, True, "palimpsa")
    exact = got["loss"].item() == pytest.approx(loss, rel=1e-6)
    assert got["loss"].item() == pytest.approx(loss, rel=2e-2) and not exact
    compare_gradients(got, parameters, 0.1)


@pytest.mark.parametrize("form, length, size", [
    ("shifted", 264, 4), ("grouped", 264, 3), ("recurrence", 262, 4), ("recurrence", 160, 2),
    ("recurrence", 24, 1), ("recurrence", 24, 16), ("grouped", 24, 16),
])  # fmt: skip
def test_every_form_of_the_convolution_is_the_same(driver, form, length, size):
    """Over several segments of a sequence (88 tokens, 80), and over one."""
    text = driver.config.read_text().replace("length = 24", f"length = {length}")
    text = text.replace("batch = 32", "batch = 3").replace("mlp = false", f"convolution = {size}")
    results = []
    for name in ("shifted" if form == "recurrence" else "recurrence", form):
        driver.config.write_text(text.replace("[model]", f'[model]\nconvolution_form = "{name}"'))
        if not results:
            driver.train("run", optimiser__steps=1)
        driver.call("gradient", driver.config, driver.folder / "run/step-000001/model.safetensors", name)
        results.append(load_file(driver.folder / name / "step-000000/model.safetensors"))
    reference, got = results
    assert got.keys() == reference.keys()
    for name, expected in reference.items():
        torch.testing.assert_close(got[name], expected, rtol=1e-3, atol=2e-6, msg=lambda m, n=name: f"{n}: {m}")
