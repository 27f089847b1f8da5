"""AdamW as the checkpoints of consecutive steps show it, and its schedule."""
# SPDX-License-Identifier: Apache-2.0
import math

import pytest
import torch
from safetensors.torch import load_file

RATE, BETA1, BETA2, DECAY = 1e-2, 0.8, 0.9, 0.5


def load(driver, step):
    folder = driver.folder / f"run/step-{step:06}"
    files = [load_file(folder / f"{name}.safetensors") for name in ("model", "training")]
    return [{k: v.double() for k, v in tensors.items()} for tensors in files]


def gradient_of(before, after, name):
    key = f"exp_avg.{name}"
    return (after[key] - BETA1 * before[key]) / (1 - BETA1)


@pytest.fixture
def steps(driver):
    """Parameters and state after steps 2 and 3, and the lines of metrics."""
    driver.train(
        "run", optimiser__steps=3, optimiser__warmup=0, optimiser__learning_rate=RATE,
        optimiser__final_fraction=1.0, optimiser__beta1=BETA1, optimiser__beta2=BETA2,
        optimiser__eps=1e-8, optimiser__weight_decay=DECAY, optimiser__clip=0.1,
        run__checkpoint_every=1,
    )
    return load(driver, 2), load(driver, 3), driver.metrics("run", "train")


def test_an_update_is_that_of_adamw_and_decays_only_its_group(steps):
    (old, before), (new, after), _ = steps
    names = [k.removeprefix("exp_avg.") for k in after if k.startswith("exp_avg.")]
    scalars = ("A_log", "dt_bias", "D", "b_scale")
    for name in names:
        gradient = gradient_of(before, after, name)
        square = BETA2 * before[f"exp_avg_sq.{name}"] + (1 - BETA2) * gradient**2
        torch.testing.assert_close(after[f"exp_avg_sq.{name}"], square, rtol=1e-3, atol=1e-12)
        first = after[f"exp_avg.{name}"] / (1 - BETA1**3)
        second = after[f"exp_avg_sq.{name}"] / (1 - BETA2**3)
        spared = "norm.weight" in name or name.endswith(scalars)
        kept = old[name] * (1 if spared else 1 - RATE * DECAY)
        expected = kept - RATE * first / (second.sqrt() + 1e-8)
        torch.testing.assert_close(new[name], expected, rtol=1e-5, atol=1e-6)


def test_the_gradient_is_clipped_to_its_norm(steps):
    (_, before), (_, after), lines = steps
    names = [k.removeprefix("exp_avg.") for k in after if k.startswith("exp_avg.")]
    squares = sum(gradient_of(before, after, name).square().sum() for name in names)
    assert lines[-1]["gradient_norm"] > 0.1 == pytest.approx(math.sqrt(squares), rel=1e-3)


def test_frozen_parameters_stay(steps):
    (old, _), (new, after), _ = steps
    assert after["steps"] == 3
    frozen = [name for name in new if name.endswith("Ip_log")]
    assert len(frozen) == 2 and all(torch.equal(old[n], new[n]) for n in frozen)


def test_learning_rate_warms_up_and_follows_the_cosine(driver):
    driver.config.write_text(
        "[optimiser]\nlearning_rate = 3e-3\nwarmup = 100\nsteps = 3000\nfinal_fraction = 0.1\n"
    )
    rates = [float(r) for r in driver.call("rates", driver.config).stdout.split()]
    assert rates[0] == pytest.approx(3e-5) and rates[49] == pytest.approx(1.5e-3)
    assert rates[99] == pytest.approx(3e-3) and rates[-1] == pytest.approx(3e-4)
    middle = 100 + (3000 - 100) // 2
    assert rates[middle - 1] == pytest.approx((3e-3 + 3e-4) / 2)
    assert all(a > b for a, b in zip(rates[99:], rates[100:]))


def test_accumulated_batches_give_the_mean_of_their_gradients(driver):
    settings = dict(optimiser__steps=1, optimiser__warmup=0, optimiser__clip=0, optimiser__beta1=0.0)
    driver.train("run", **settings, optimiser__accumulate=2, optimiser__learning_rate=0)
    model = driver.folder / "run/step-000001/model.safetensors"
    for index in (1, 2):
        driver.call("gradient", driver.config, model, f"batch{index}", index)
    one, two = (load_file(driver.folder / f"batch{i}/step-000000/model.safetensors") for i in (1, 2))
    assert not torch.equal(one["tokens"], two["tokens"])
    state = load_file(driver.folder / "run/step-000001/training.safetensors")
    gradients = [k.removeprefix("exp_avg.") for k in state if k.startswith("exp_avg.")]
    for name in gradients:
        mean = (one[f"gradient.{name}"] + two[f"gradient.{name}"]) / 2
        torch.testing.assert_close(state[f"exp_avg.{name}"], mean, rtol=1e-4, atol=1e-7)
    line = driver.metrics("run", "train")[0]
    assert line["loss"] == pytest.approx((one["loss"] + two["loss"]).item() / 2, rel=1e-5)
