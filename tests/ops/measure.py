# The measure of error that the whole project uses, and its bounds by dtype.
# SPDX-License-Identifier: Apache-2.0
"""A row is one token of one head; its error is |x - oracle| over the feature
axes, divided by the larger of |oracle row| and a twentieth of the mean row norm
of that head. Values without a feature axis have rows of 16 tokens."""

import numpy as np

BOUNDS = {  # dtype of inputs and outputs: (outputs and final states, gradients)
    "float64": (1e-10, 1e-9),
    "float32": (2e-5, 1e-4),
    "float16": (1e-3, 4e-3),
    "bfloat16": (5e-3, 1.5e-2),
}
TOKENS_PER_ROW = 16
LEAST_HALF = 2.0 ** -14  # with full precision; other dtypes have float's exponents


def _rows(x, leading):
    """[heads, rows, features]; `leading` names the axes before the features."""
    x = np.asarray(x, dtype=np.float64)
    features = x.shape[len(leading):]
    x = x.reshape(x.shape[:len(leading)] + (int(np.prod(features)),))
    if "H" in leading:
        x = np.moveaxis(x, leading.index("H"), 0)
        leading = "H" + leading.replace("H", "")
    else:
        x = x[None]
        leading = "H" + leading
    if not features and "T" in leading:
        x = np.moveaxis(x[..., 0], leading.index("T"), -1)
        x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, -x.shape[-1] % TOKENS_PER_ROW)])
        x = x.reshape(x.shape[0], -1, TOKENS_PER_ROW)
    return x.reshape(x.shape[0], -1, x.shape[-1]) if x.size else x.reshape(
        x.shape[0], 0, 1)


def worst(actual, oracle, leading, dtype="float32"):
    """The largest row error. NaN counts as infinite. `leading`: "BTH" for a
    token tensor with heads, "BT" without, "NH" for states, "H" or "" for
    parameters. What `dtype` cannot tell from 0 counts as 0."""
    assert np.shape(actual) == np.shape(oracle), (np.shape(actual), np.shape(oracle))
    x, ref = _rows(actual, leading), _rows(oracle, leading)
    if ref.size == 0:
        return 0.0
    norms = np.linalg.norm(ref, axis=-1)
    # As in runtime/RowError.cpp: the least norm that float holds with full
    # precision, and some room.
    least = LEAST_HALF * ref.shape[-1] ** 0.5 if dtype == "float16" else 1e-30
    floor = np.maximum(norms.mean(axis=1, keepdims=True) / 20, least)
    scale = np.maximum(norms, floor)
    error = np.linalg.norm(x - ref, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(scale > 0, error / scale, np.where(error == 0, 0, np.inf))
    return float(np.max(np.where(np.isnan(ratio), np.inf, ratio)))
