"""Every knob, one file per group, in the order in which a reader meets them."""

from __future__ import annotations

from minimx.knobs.declarations import (
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
)

GROUPS = (
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
    ours,
)

DECLARATIONS = tuple(knob for group in GROUPS for knob in group.KNOBS)
