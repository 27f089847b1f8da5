# The measure of error itself: what it must notice and what it must forgive.
# SPDX-License-Identifier: Apache-2.0
import numpy as np

from measure import worst


def random(*shape):
    return np.random.default_rng(42).standard_normal(shape)


def test_equal_is_zero_and_scaling_is_relative():
    x = random(2, 8, 3, 5)
    assert worst(x, x, "BTH") == 0
    assert abs(worst(x * 1.01, x, "BTH") - 0.01) < 1e-12


def test_one_wrong_row_is_not_averaged_away():
    x = random(2, 64, 3, 5)
    y = x.copy()
    y[1, 7, 2] *= -1
    assert worst(y, x, "BTH") > 1.9


def test_tiny_rows_are_judged_by_their_head():
    x = random(1, 8, 2, 5)
    x[0, 3, 1] *= 1e-9
    y = x.copy()
    y[0, 3, 1] += 1e-6
    assert worst(y, x, "BTH") < 1e-4
    # A tiny head has tiny rows only: nothing hides behind another head.
    x[:, :, 1] *= 1e-9
    y = x.copy()
    y[:, :, 1] *= 2
    assert worst(y, x, "BTH") > 0.9


def test_values_without_features_have_rows_of_16_tokens():
    x = np.ones((1, 32, 2))
    y = x.copy()
    y[0, 0, 0] = 2
    assert abs(worst(y, x, "BTH") - 1 / 4) < 1e-12


def test_nan_and_shift_are_errors():
    x = random(1, 16, 2, 4)
    y = x.copy()
    y[0, 0, 0, 0] = np.nan
    assert worst(y, x, "BTH") == np.inf
    assert worst(np.roll(x, 1, axis=1), x, "BTH") > 0.5
