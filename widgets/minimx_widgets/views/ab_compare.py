"""`ABCompare`: two records one above the other, and what differs, operator by operator.

    ABCompare(before, after, names=("imperative", "hybridized"))

Operations are aligned by what they are (operator, layer, phase), not by when they ran.
The timelines are the engine timelines of the two records, by default along one axis
of time that begins with the first push of each; rows of the table are sorted by how
much they changed.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import ipywidgets
import traitlets

from minimx.core.record import Record
from minimx_widgets import esm, palette, svg
from minimx_widgets.base import Pictured
from minimx_widgets.tables import Table
from minimx_widgets.units import human_time
from minimx_widgets.views.engine_timeline import EngineTimeline, Picture, draw, lay_out

#: So many rows of the table are shown.
ROWS = 12
COMMON, OWN = "common", "own"


@dataclass(frozen=True)
class Delta:
    """One operator of one layer in one phase: calls and nanoseconds in both records."""

    operator: str
    layer: str
    phase: str
    calls: tuple[int, int]
    took: tuple[int, int]

    @property
    def change(self) -> int:
        """Nanoseconds more in the second record; negative if it got quicker."""
        return self.took[1] - self.took[0]


def deltas(first: Record, second: Record) -> list[Delta]:
    """Every kind of operation of either record, the largest change first."""
    sums = [_sums(record) for record in (first, second)]
    keys = dict.fromkeys([*sums[0], *sums[1]])
    found = []
    for key in keys:
        (a, b), (c, d) = sums[0].get(key, (0, 0)), sums[1].get(key, (0, 0))
        found.append(Delta(*key, (a, c), (b, d)))
    return sorted(found, key=lambda one: -abs(one.change))


def _sums(record: Record) -> dict[tuple[str, str, str], tuple[int, int]]:
    """Calls and nanoseconds by operator, layer and phase."""
    sums: dict[tuple[str, str, str], tuple[int, int]] = {}
    ops = record.ops()
    keys = zip(
        *(record.texts(ops[name]) for name in ("name", "layer", "phase")), strict=True
    )
    for key, took in zip(keys, (ops["t_end"] - ops["t_start"]).tolist(), strict=True):
        calls, total = sums.get(key, (0, 0))
        sums[key] = calls + 1, total + took
    return sums


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
    """

    _esm = esm.module("ab_compare")

    title = traitlets.Unicode().tag(sync=True)
    pair = traitlets.Unicode().tag(sync=True)
    zero = traitlets.Float().tag(sync=True)
    took = traitlets.Float().tag(sync=True)
    whole = traitlets.Float().tag(sync=True)
    times = traitlets.Enum((COMMON, OWN), COMMON).tag(sync=True)

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

    def _hear(self, widget: Any, message: dict[str, Any], buffers: Any) -> None:
        if message.get("kind") == "times":
            self.times = message["times"]
        else:
            super()._hear(widget, message, buffers)


class _Compared(Picture):
    """Its times count from the first push."""

    view: Compared

    def head(self) -> list[str]:
        """What the record is called, and the key numbers."""
        self.title = self.view.title
        return super().head()

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


class ABCompare(Pictured):
    """Two records to be compared.

    names: what they are called. times: along which the timelines lie: the "common"
    ones, in which what is longer took longer, or its "own" for each, so that it fills
    the picture; to be changed at any time, on the page too.
    """

    def __init__(
        self,
        first: Record,
        second: Record,
        names: tuple[str, str] = ("A", "B"),
        *,
        times: str = COMMON,
    ) -> None:
        self.records = first, second
        self.names = names
        pair, whole = uuid.uuid4().hex[:8], max(span(first), span(second))
        self.views = tuple(
            Compared(record, title=name, height=112, pair=pair, zero=begin(record),
                     took=span(record), whole=whole, times=times)
            for name, record in zip(names, self.records, strict=True)
        )  # fmt: skip
        one, other = self.views
        self._together = traitlets.link((one, "times"), (other, "times"))
        self.deltas = deltas(first, second)
        self.box = ipywidgets.VBox([*self._parts()], layout={"grid_gap": "8px"})

    def _parts(self) -> Iterator[Any]:
        """The timelines and the table, from top to bottom."""
        yield from self.views
        table = ipywidgets.HTML(self.table().html(), layout={"width": "fit-content"})
        table.add_class("jp-RenderedHTMLCommon")  # JupyterLab's own look of tables
        yield table

    @property
    def times(self) -> str:
        """Along which times the timelines lie: "common" ones or each its "own"."""
        return str(self.views[0].times)

    @times.setter
    def times(self, times: str) -> None:
        self.views[0].times = times

    @property
    def spans(self) -> tuple[int, int]:
        """How long each record took, in nanoseconds."""
        return span(self.records[0]), span(self.records[1])

    def __repr__(self) -> str:
        a, b = self.spans
        ratio = f", {b / a:.3f} ×" if a else ""
        pushes = " → ".join(str(len(record.ops())) for record in self.records)
        return (
            f"ABCompare({human_time(a)} → {human_time(b)}{ratio}, {pushes} operations)"
        )

    def table(self) -> Table:
        """What changed most."""
        heads = ("operator", "layer", "phase", "calls", "time", "change")
        rows = []
        for one in self.deltas[:ROWS]:
            sign = "+" if one.change > 0 else "-" if one.change < 0 else "±"
            rows.append(
                (
                    one.operator,
                    one.layer,
                    one.phase,
                    " → ".join(map(str, one.calls)),
                    " → ".join(human_time(ns) for ns in one.took),
                    f"{sign}{human_time(abs(one.change))}",
                )
            )
        caption = f"{self.names[0]} → {self.names[1]}"
        if len(self.deltas) > ROWS:
            caption += f", the {ROWS} largest changes of {len(self.deltas)}"
        return Table.of(heads, rows, caption)

    def svg(self, *, dark: bool = False, width: int = 900) -> str:
        """Both timelines and the largest changes as bars."""
        pictures = [view.svg(dark=dark, width=width) for view in self.views]
        return svg.stacked([*pictures, self._bars(dark, width)], width)

    def _bars(self, dark: bool, width: int) -> str:
        """A bar for each change, to the left what got quicker."""
        ink, muted = (palette.surface(name, dark=dark) for name in ("ink", "muted"))
        rows = [one for one in self.deltas[:ROWS] if one.change]
        most = max((abs(one.change) for one in rows), default=1)
        middle, space = width * 0.6, width * 0.28
        text = f"{self.names[0]} → {self.names[1]}: what changed"
        parts = [svg.text(16, 22, text, ink, size=13, bold=True)]
        for k, one in enumerate(rows):
            y = 40.0 + 18 * k
            name = f"{one.operator} ({one.layer or 'other'})"
            parts.append(svg.text(16, y + 10, svg.clipped(name, middle - space), ink))
            long = max(1.0, space * abs(one.change) / most)
            quicker = one.change < 0
            colour = palette.state("added" if quicker else "removed", dark=dark)
            x = middle - long if quicker else middle
            parts.append(svg.rect(x, y, long, 12, colour))
            sign = "-" if quicker else "+"
            label = f"{sign}{human_time(abs(one.change))}"
            parts.append(svg.text(middle + space + 12, y + 10, label, muted))
        high = 40.0 + 18 * max(1, len(rows)) + 10
        parts.append(svg.line([(middle, 34), (middle, high - 8)], muted))
        return svg.picture(width, high, parts, title=text, dark=dark)

    def _widget(self) -> Any:
        return self.box

    def close(self) -> None:
        """Take the views away from all pages."""
        self._together.unlink()
        for view in self.views:
            view.close()
        self.box.close()
