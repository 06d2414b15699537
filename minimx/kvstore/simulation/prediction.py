"""What a simulation predicts. All of it is modelled, nothing measured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Lane(NamedTuple):
    """One bar of a timeline, in seconds from the start of the backward pass.

    worker: whose lane. kind: compute, push, reduce or pull. key: the layer. phase:
    forward, backward, update or communication. links: the names of those that a copy
    occupies, in its direction; nbytes: that it brings over them. Where workers are
    taken together, a bar is of all of them; links and bytes are those of one.
    """

    worker: str
    kind: str
    key: str
    start: float
    end: float
    phase: str = "communication"
    links: tuple[str, ...] = ()
    nbytes: int = 0


@dataclass(frozen=True)
class Prediction:
    """A step of training with a store.

    The step begins with the backward pass and ends with the next forward pass, when it
    could begin again. step_seconds: its length; for `dist_async`, where each worker has
    its own, the number of workers over the steps that they make in a second.
    compute_seconds: of the slowest worker. single_seconds: the step of one worker
    alone. communication_seconds: how long any copy or sum was under way.
    nbytes: bytes over each link; where workers are taken together, over the link of the
    first and of the last. busy: seconds for which each link was in use. events: how
    many copies and sums were simulated.
    """

    store: str
    workers: int
    step_seconds: float
    compute_seconds: float
    single_seconds: float
    communication_seconds: float
    nbytes: dict[str, int]
    busy: dict[str, float]
    events: int
    lanes: tuple[Lane, ...] = field(repr=False)

    @property
    def exposed_seconds(self) -> float:
        """For how long workers wait for communication, per step."""
        return max(self.step_seconds - self.compute_seconds, 0.0)

    @property
    def overlap(self) -> float:
        """The share of communication that is hidden behind computation; 1: all."""
        if self.communication_seconds <= 0:
            return 1.0
        return max(0.0, 1 - self.exposed_seconds / self.communication_seconds)

    @property
    def efficiency(self) -> float:
        """The share of `workers` times the speed of one that is reached."""
        return self.single_seconds / self.step_seconds if self.step_seconds else 1.0

    @property
    def load(self) -> dict[str, float]:
        """The share of the step for which each link is in use."""
        if not self.step_seconds:
            return {}
        return {name: busy / self.step_seconds for name, busy in self.busy.items()}

    def columns(self) -> dict[str, list[Any]]:
        """The lanes as columns, for a view."""
        return {
            name: [getattr(lane, name) for lane in self.lanes] for name in Lane._fields
        }

    def __repr__(self) -> str:
        return (
            f"Prediction({self.store}, {self.workers:,} workers, modelled: step "
            f"{self.step_seconds * 1e3:.3g} ms, {self.overlap:.0%} of communication "
            f"hidden, efficiency {self.efficiency:.0%})"
        )


@dataclass(frozen=True)
class Scaling:
    """Predictions for growing numbers of workers, each with the same work (weak)."""

    predictions: tuple[Prediction, ...]

    def columns(self) -> dict[str, list[float]]:
        """Workers, seconds of a step, efficiency, and the share hidden."""
        return {
            name: [getattr(one, name) for one in self.predictions]
            for name in ("workers", "step_seconds", "efficiency", "overlap")
        }

    def __repr__(self) -> str:
        last = self.predictions[-1]
        return (
            f"Scaling({last.store}, 1…{last.workers:,} workers, modelled: efficiency "
            f"{last.efficiency:.0%} at the end)"
        )


def union_seconds(spans: Iterable[tuple[float, float]]) -> float:
    """How long at least one of the spans lasts.

    >>> union_seconds([(0, 2), (1, 3), (5, 6)])
    4.0
    """
    total, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        if end > reached:
            total += end - max(start, reached)
            reached = end
    return total
