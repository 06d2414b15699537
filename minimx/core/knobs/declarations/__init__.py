"""Every knob, one file per group, in the order in which a reader meets them.

Those of parts outside the core are declared there; see `core/extensions.py`.
"""

from __future__ import annotations

from typing import Protocol

from minimx.core.extensions import provided
from minimx.core.knobs.declarations import (
    bulking,
    engine,
    kernels,
    library,
    memory,
    ours,
    planner,
    simulated,
)
from minimx.core.knobs.knob import Knob


class Group(Protocol):
    """What a file of declarations offers."""

    @property
    def GROUP(self) -> str:
        """The name of the group."""

    @property
    def KNOBS(self) -> tuple[Knob, ...]:
        """Its knobs."""


GROUPS: tuple[Group, ...] = (
    engine,
    memory,
    bulking,
    kernels,
    planner,
    *provided("knob declarations").GROUPS,
    library,
    simulated,
    ours,
)

DECLARATIONS: tuple[Knob, ...] = tuple(knob for group in GROUPS for knob in group.KNOBS)
