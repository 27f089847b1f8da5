# Token loops in NumPy float64, written from the published equations and not
# from the definitions in ops/catalogue: what the ops are compared with.
# SPDX-License-Identifier: Apache-2.0
"""`LOOPS[name](inputs, initial)` gives (outputs, final states), both dicts.

Arrays are [B, T, H, axes..] as the op takes them; q and k may have fewer heads
than v. Every loop also runs on complex arrays, so that `differences.gradients`
can take a complex step.
"""

from . import class1, delta, palimpsa, selective, xlstm

LOOPS = {
    "linear_attention": class1.linear_attention,
    "simple_gla": class1.simple_gla,
    "gla": class1.gla,
    "hgrn": class1.hgrn,
    "gated_delta_rule": delta.gated_delta_rule,
    "gated_delta_product": delta.gated_delta_product,
    "palimpsa": palimpsa.linear_form,
    "palimpsa_mu": palimpsa.published_form,
    "mamba1": selective.mamba1,
    "longhorn": selective.longhorn,
    "mlstm": xlstm.mlstm,
    "slstm": xlstm.slstm,
}
