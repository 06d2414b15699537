"""The timeline of one of two runs that are compared, along times that both share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import traitlets

from minimx.core.record import Record
from minimx_widgets import esm, svg
from minimx_widgets.compare.sides import Side
from minimx_widgets.run import News, Run
from minimx_widgets.sources import PREDICTED, of_clock
from minimx_widgets.units import human_time
from minimx_widgets.views.engine_timeline import EngineTimeline, Picture, draw, lay_out

COMMON, OWN = "common", "own"


def span(record: Record) -> int:
    """Nanoseconds from the first push to the last end; 0 for an empty record."""
    ops = record.ops()
    return int(ops["t_end"].max() - ops["t_push"].min()) if len(ops) else 0


def begin(record: Record) -> int:
    """Nanoseconds from the start of a record to its first push; 0 if there is none."""
    ops = record.ops()
    return int(ops["t_push"].min()) - record.conditions.t_start if len(ops) else 0


class Compared(EngineTimeline):
    """The timeline of one of two records.

    pair: what both have in common. zero: the moment that is called 0 s. took: how many
    nanoseconds it took. whole: those that fill the picture where times are "common".
    predicted: whether it was replayed and did not run. revision: of the comparison,
    when it got this record.
    """

    _esm = esm.module("ab_compare")

    title = traitlets.Unicode().tag(sync=True)
    pair = traitlets.Unicode().tag(sync=True)
    zero = traitlets.Float().tag(sync=True)
    took = traitlets.Float().tag(sync=True)
    whole = traitlets.Float().tag(sync=True)
    times = traitlets.Enum((COMMON, OWN), COMMON).tag(sync=True)
    predicted = traitlets.Bool(False).tag(sync=True)
    revision = traitlets.Int(0).tag(sync=True)

    #: What is drawn: a record, or the schedule of a replay.
    drawn: object = None

    def __init__(self, side: Side, **settings: Any) -> None:
        record = side.record
        super().__init__(Run(record), zero=begin(record), took=span(record), **settings)
        self.drawn = side.drawn

    def compare(self, side: Side, revision: int, **facts: Any) -> None:
        """Show another side, or the same one beside another; facts: traits.

        Nothing new is drawn of one whose operations run at the same times.
        """
        with self.hold_sync():
            for name, value in facts.items():
                setattr(self, name, value)
            if side.drawn is self.drawn:
                return
            record = side.record
            self.zero, self.took = begin(record), span(record)
            self.drawn, self.revision = side.drawn, revision
        self.run.replace(record)

    def summary(self) -> list[str]:
        """The key numbers, in words."""
        return [human_time(self.took), *super().summary()]

    def svg(self, *, dark: bool = False, width: int = 900) -> str:
        """A static picture along the common times, or along its own."""
        layout = lay_out(self.record, axis=self.axis)
        if self.axis == "time" and self.times == COMMON:
            end = self.zero + max(self.whole, 1.0)
            layout = replace(layout, start=self.zero, end=end)
        return draw(self, layout, dark=dark, width=width, picture=_Compared)

    def extras(self, news: Sequence[News]) -> dict[str, Any]:
        """To which revision of the comparison the operations belong."""
        return {"revision": self.revision}

    def _hear(self, widget: Any, message: dict[str, Any], buffers: Any) -> None:
        if message.get("kind") == "times":
            self.times = message["times"]
            return
        super()._hear(widget, message, buffers)


class _Compared(Picture):
    """Its times count from the first push."""

    view: Compared

    def head(self) -> list[str]:
        """What the record is called, and the key numbers."""
        view = self.view
        source = PREDICTED if view.predicted else of_clock(self.record.conditions.clock)
        text = " · ".join([*view.summary(), source])
        return svg.heading(view.title, text, self.width, dark=self.dark)

    def axis(self) -> list[str]:
        """Ticks of time since the first push, or of numbers of operations."""
        layout, zero = self.layout, self.view.zero
        if self.view.axis == "events":
            return super().axis()
        try:
            self.layout = replace(
                layout, start=layout.start - zero, end=layout.end - zero
            )
            return super().axis()
        finally:
            self.layout = layout
