# Recurrences on the Python side: from the builder's values to signatures.
# SPDX-License-Identifier: Apache-2.0
import re

from . import _dsl
from ._signature import Input, Output, Signature, State


def recurrence_of(value):
    """A Recurrence from what recurra.compile takes."""
    if isinstance(value, _dsl.Recurrence):
        return value
    if isinstance(value, str):
        return _dsl.parse(value)
    raise TypeError(
        f"recurra: a {type(value).__name__} is no recurrence; pass what "
        "recurra.define returns, or a canonical text")


def signature(value):
    recurrence = recurrence_of(value)
    text = recurrence.to_text(locations=True)
    place = re.search(r"  @ (\S.*:\d+)$", text, re.MULTILINE)
    return Signature(
        name=recurrence.name,
        text=text,
        source=place.group(1) if place else "",
        axes=tuple(recurrence.axes),
        fixed_sizes=recurrence.fixed_sizes,
        inputs=tuple(
            Input(x["name"], x["role"], x["sharing"], x["axes"], x["facts"],
                  x["default"]) for x in recurrence.inputs),
        states=tuple(State(x["name"], x["axes"], x["facts"], x["dtype"])
                     for x in recurrence.states),
        outputs=tuple(Output(x["name"], x["axes"], x["optional"])
                      for x in recurrence.outputs))


def catalogue():
    """The recurrences that come with Recurra, in their order."""
    return list(_dsl.catalogue().values())
