"""Whether a knob can act on what runs now, and why not where it cannot.

Pure: a table of conditions over a `Situation`, so that a panel can say "acts on graphs;
this network runs imperatively" instead of "applied".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from minimx.graph.settings import KNOBS as OF_GRAPHS
from minimx.knobs import knobs

#: The knobs that shape a graph when it is bound.
GRAPH_KNOBS = frozenset(knobs.resolve(name) for name in OF_GRAPHS.values())


@dataclass(frozen=True)
class Situation:
    """What runs: how, where and in which type.

    way: "imperative", "hybridized" or "static". device: "cpu" or "gpu". dtype: in what
    layers compute. training: whether something runs at all.
    """

    way: str = "hybridized"
    device: str = "cpu"
    dtype: str = "float32"
    training: bool = False

    @classmethod
    def of(cls, settings: Any, fit: Any) -> Situation:
        """That of a lab's settings and its training, None without one."""
        return cls(
            way=settings.graph,
            device=settings.device.partition("(")[0],
            dtype=settings.dtype,
            training=fit is not None,
        )


def reason(name: str, now: Situation) -> str:
    """Why a knob cannot act on what runs; empty if it can."""
    knob = knobs.declared[knobs.resolve(name)]
    if not knob.live:
        return f"planned: {knob.planned_in}"
    if knob.name in GRAPH_KNOBS and now.way == "imperative":
        return "acts on graphs; this network runs imperatively"
    return ""
