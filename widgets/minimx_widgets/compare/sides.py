"""One side of a comparison: a record, a file of one, or a replay.

Side.of("monday.npz").figures["peak"]
Side.of(mx.replay.rerun(record, MXNET_ENGINE_TYPE="NaiveEngine")).predicted
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from minimx.core.errors import ArgumentError
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx.experiments import Measured, Rerun, measured
from minimx.experiments.memory import devices_of
from minimx_widgets.compare.replayed import as_record
from minimx_widgets.packing import Array
from minimx_widgets.pictures.training_series import LOSS

#: What a side may be made of.
Source = Record | Rerun | str | os.PathLike[str]
#: So many points of a line of memory are drawn.
POINTS = 600


class Line(NamedTuple):
    """Memory in use: nanoseconds from the first push, and bytes from then on."""

    t: Array
    nbytes: Array


@dataclass(frozen=True, eq=False)
class Side:
    """A run to be compared.

    name: of the record. trial: what a measured run of a replay said, if there is one.
    """

    run: Record | Rerun
    name: str = ""
    trial: Measured | None = None

    @classmethod
    def of(cls, run: Source) -> Side:
        """A side of a record, a replay, or the path of a saved record.

        Raises `DataError` for a file that is no record, `ArgumentError` for anything
        else.
        """
        if isinstance(run, str | os.PathLike):
            return cls(Record.load(run))
        if not isinstance(run, Record | Rerun):
            raise ArgumentError(
                f"ABCompare: a side is a Record, a replay (mx.replay.rerun) or the "
                f"path of a saved record, not {type(run).__name__}."
            )
        return cls(run)

    @property
    def title(self) -> str:
        """Its name, and the knobs that a replay turned."""
        if not self.predicted:
            return self.name
        texts = [
            f"{name}={knobs.declared[name].format(value)}"
            for name, value in self.changes.items()
        ]
        return f"{self.name} {'with ' + ', '.join(texts) if texts else 'replayed'}"

    @property
    def predicted(self) -> bool:
        """Whether its figures are those of a replay."""
        return isinstance(self.run, Rerun)

    @property
    def original(self) -> Record:
        """The record that it is, or that was replayed."""
        return self.run.record if isinstance(self.run, Rerun) else self.run

    @property
    def changes(self) -> dict[str, Any]:
        """The knobs that a replay turned; none of a record."""
        return dict(self.run.changes) if isinstance(self.run, Rerun) else {}

    @property
    def unknown(self) -> tuple[str, ...]:
        """What a replay cannot know, in sentences."""
        return self.run.unknown if isinstance(self.run, Rerun) else ()

    @cached_property
    def record(self) -> Record:
        """A record of its operations, for timelines and for alignment."""
        return as_record(self.run) if isinstance(self.run, Rerun) else self.run

    @property
    def drawn(self) -> object:
        """What its timeline draws: the same object for operations at the same times."""
        return self.run.schedule if isinstance(self.run, Rerun) else self.run

    @cached_property
    def took(self) -> int:
        """Nanoseconds from the first push to the last end."""
        return round(1e9 * self.figures["makespan"])

    @cached_property
    def figures(self) -> dict[str, float]:
        """Peak, reserved, driver calls, pushes, bytes moved and copied, makespan, loss.

        Bytes, calls and seconds of all devices together; without what is not known.
        """
        if isinstance(self.run, Rerun):
            moved, copied = self.run.nbytes, self.run.copied
            return {**_summed(self.run.figures()), "moved": moved, "copied": copied}
        return figures_of(self.run)

    @cached_property
    def devices(self) -> list[str]:
        """The devices whose memory is known."""
        return devices_of(self.original)

    @cached_property
    def lines(self) -> dict[str, list[list[float]]]:
        """By device: moments and bytes, as a page wants them."""
        found = {device: self.line(device) for device in self.devices}
        return {name: [a.tolist(), b.tolist()] for name, (a, b) in found.items()}

    def line(self, device: str) -> Line:
        """The requested bytes in use on a device over time, at most `POINTS` points.

        The highest of those that share a stretch is kept, so that no peak is lost.
        """
        if isinstance(self.run, Rerun):
            if device not in self.run.pools:
                return Line(np.zeros(0), np.zeros(0))
            history = self.run.pools[device].history
            moments = self.run.moments[device]
            last = max(len(moments) - 1, 0)
            t = moments[np.minimum(history.step, last)]
            return _sampled(t.astype(float), history.asked)
        curve = self.run.memory_curve(device)
        pushes = self.run.ops()["t_push"]
        zero = pushes.min() if len(pushes) else self.run.conditions.t_start
        return _sampled((curve.t - zero).astype(float), curve.total)


def figures_of(record: Record) -> dict[str, float]:
    """The figures of a record, and its last loss where it has one."""
    found = _summed(measured(record))
    found["moved"] = int(record.ops()["nbytes"].sum())
    found["copied"] = int(record.comm()["nbytes"].sum())
    metrics = record.metrics()
    if LOSS in record.strings:
        losses = metrics["value"][metrics["name"] == record.strings.index(LOSS)]
        if len(losses):
            found["loss"] = float(losses[-1])
    return found


def _summed(figures: dict[str, Any]) -> dict[str, float]:
    """Those by device added up."""
    return {
        name: sum(value.values()) if isinstance(value, dict) else value
        for name, value in figures.items()
    }


def _sampled(t: Array, nbytes: Array) -> Line:
    if len(t) <= POINTS:
        return Line(t, nbytes)
    firsts = np.linspace(0, len(t), POINTS, endpoint=False).astype(int)
    highest = np.maximum.reduceat(nbytes, firsts)
    return Line(t[firsts], highest)
