"""Every knob, one file per group, in the order in which a reader meets them."""

from __future__ import annotations

from typing import Protocol

from minimx.core.knobs.declarations import (
    bulking,
    convolution,
    distributed,
    engine,
    kernels,
    kvstore,
    library,
    memory,
    onednn,
    ours,
    planner,
    profiler,
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
    convolution,
    kvstore,
    distributed,
    onednn,
    profiler,
    library,
    simulated,
    ours,
)

DECLARATIONS: tuple[Knob, ...] = tuple(knob for group in GROUPS for knob in group.KNOBS)
