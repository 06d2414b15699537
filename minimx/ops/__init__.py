"""The vocabulary: one data sheet per operator; importing this registers them all."""

from __future__ import annotations

from minimx.knobs import knobs
from minimx.ops import (
    creation,
    elementwise,
    indexing,
    join,
    mixed,
    random,
    reduce,
    registry,
    scalar,
    shape,
    sorting,
    views,
)

__all__ = [
    "creation",
    "elementwise",
    "indexing",
    "join",
    "mixed",
    "random",
    "reduce",
    "registry",
    "scalar",
    "shape",
    "sorting",
    "views",
]

# A plan settles whether its kernel runs serial or parallel, and on how many threads.
knobs.watch(
    ("MXNET_CPU_PARALLEL_SIZE", "OMP_NUM_THREADS"),
    lambda name, new, old: registry.forget_plans(),
)
