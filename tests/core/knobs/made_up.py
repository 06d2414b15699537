"""A knob that is declared and does not act, for tests of how such knobs are announced.

Those of MXNet that are planned today become live one by one, so no test relies on one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from minimx.core.knobs import Knob, Knobs
from minimx.core.knobs.environ import Environment

NAME = "MXNET_MADE_UP"
KNOB = Knob(
    name=NAME,
    type="bool",
    default=False,
    group="library",
    planned_in="a later part",
    meaning="Nothing obeys it.",
    observable="Nothing.",
)


@contextmanager
def declared(knobs: Knobs) -> Iterator[None]:
    """For the length of a block `knobs` has one more knob, NAME."""
    before, environment = knobs.declared, knobs._environment
    knobs.declared = {**before, NAME: KNOB}
    knobs._environment = Environment(knobs.declared, environment._environ)
    knobs._environment.changed_texts()  # what stands there now is no news
    knobs._values[NAME] = KNOB.default
    try:
        yield
    finally:
        knobs.reset(NAME)
        del knobs._values[NAME]
        knobs.declared, knobs._environment = before, environment
