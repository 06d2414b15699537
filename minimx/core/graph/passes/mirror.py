"""Mirroring: what the gradient recomputes, so that it need not be kept.

    keep = chosen(graph, wanted, specs, Settings.now())
    training = differentiate(graph, wanted, specs, keep)

A policy looks at the forward graph and says, for every node, whether its results are
kept or recomputed (`Keep`). It changes no number, only memory and time. This file
lists the policies:

    mirror_rule       MXNet's rule, as it was and as it should have been
    mirror_segments   checkpoints: the √N plan of memonger, and the best one

Further ones come with the extension "mirror strategies" (`minimx/graphs`): only where
what is kept for it is smaller (echo), and the best of all within a budget of memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minimx.core.errors import ArgumentError, did_you_mean
from minimx.core.extensions import provided
from minimx.core.graph.passes.mirror_rule import legacy, remap
from minimx.core.graph.passes.mirror_segments import (
    best_segments,
    planned_bytes,
    search_plan,
)
from minimx.core.graph.passes.recompute import Keep
from minimx.core.graph.running.settings import Settings
from minimx.core.graph.values.ir import Graph, Node
from minimx.core.graph.values.specs import Specs


def chosen(
    graph: Graph, wanted: Sequence[Node], specs: Specs, settings: Settings
) -> Keep:
    """What the knobs ask for.

    wanted: the variables whose gradients are computed. specs: of all entries. Without
    MXNET_BACKWARD_DO_MIRROR only nodes with the remark `force_mirroring` are
    recomputed; with it, the policy that MINIMX_MIRROR names decides. Raises
    ArgumentError if there is none of that name.
    """
    if not settings.backward_do_mirror:
        if not any("__force_mirroring__" in node.attrs for node in graph):
            return Keep()
        if settings.mirror == "1.x":
            return legacy(graph, specs, False, settings.backward_mirror_step)
        return remap(graph, specs, False, settings.backward_mirror_step)
    rule = POLICIES.get(settings.mirror)
    if rule is None:
        hint = did_you_mean(settings.mirror, POLICIES)
        raise ArgumentError(
            f"there is no mirror policy {settings.mirror!r}; there are "
            f"{', '.join(POLICIES)}.{hint}"
        )
    return rule(graph, wanted, specs, settings)


def _strategies() -> Any:
    return provided("mirror strategies")


Policy = Callable[[Graph, Sequence[Node], Specs, Settings], Keep]

#: All policies by the names that MINIMX_MIRROR takes.
POLICIES: dict[str, Policy] = {
    "remap": lambda g, w, s, k: remap(g, s, True, k.backward_mirror_step),
    "1.x": lambda g, w, s, k: legacy(g, s, True, k.backward_mirror_step),
    "echo": lambda g, w, s, k: _strategies().echo(g, w, s),
    "auto": lambda g, w, s, k: _strategies().within_budget(g, w, s, k),
    "segments": lambda g, w, s, k: best_segments(g, w, s, expensive=False),
    "sqrt": lambda g, w, s, k: search_plan(g, w, s, planned_bytes(k)),
    "best": lambda g, w, s, k: _strategies().best_planned(g, w, s, k).keep,
}
