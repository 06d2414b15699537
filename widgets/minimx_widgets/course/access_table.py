"""`AccessTable`: which element a kernel touched, when, and how often."""

from __future__ import annotations

import html
from typing import Any

import ipywidgets as ipw

from minimx_widgets.base import Bundle, mimebundle
from minimx_widgets.course.accesses import READ, Accesses

#: So many elements of an array are drawn; the others are only counted.
SHOWN = 12
_READ, _WRITE, _AGAIN = "25,118,210", "67,160,71", "229,57,53"
_TIMES = {1: "first", 2: "second", 3: "third"}


class AccessTable(ipw.VBox):  # type: ignore[misc]
    """A run of a kernel, access by access.

        AccessTable(counted(kernel, x, y, out))

    One row for each array, one box for each element, with the number of its reads (r)
    and writes (w) so far: blue where it was only read, green where it was written, red
    where one of the two happened more than once. The slider goes through the run.
    """

    def __init__(self, found: Accesses, title: str = "") -> None:
        self.found = found
        self.title = title
        self._slider = ipw.IntSlider(
            value=found.total,
            min=0,
            max=found.total,
            description="access",
            tooltip="how far the run has come",
            layout=ipw.Layout(width="32em"),
            style={"description_width": "4em"},
        )
        self._grid = ipw.HTML(self.grid(found.total))
        self._slider.observe(self._moved, "value")
        super().__init__(
            [self._slider, self._grid], layout=ipw.Layout(margin="0.3em 0")
        )

    def _moved(self, change: Any) -> None:
        self._grid.value = self.grid(change["new"])

    def __repr__(self) -> str:
        return f"{self.title}\n{self.found}" if self.title else repr(self.found)

    def _repr_mimebundle_(self, **_: Any) -> Bundle:
        data, metadata = mimebundle(self, repr(self))
        data["text/html"] = self.grid(self.found.total)
        return data, metadata

    def sentence(self, upto: int) -> str:
        """The last of the first `upto` accesses in words."""
        total = self.found.total
        if upto == 0:
            return f"before the first of {total} accesses"
        number, place, what = self.found.events[upto - 1]
        times = self.found.events[:upto].count((number, place, what))
        name = self.found.memories[number].name
        again = _TIMES.get(times, f"{times}th")
        how = "read" if what == READ else "written"
        again = f", for the {again} time" if times > 1 else ""
        return f"{upto} of {total}: {name}[{place}] is {how}{again}"

    def grid(self, upto: int) -> str:
        """The first `upto` accesses as an HTML table."""
        memories = self.found.memories
        reads = [[0] * m.values.size for m in memories]
        writes = [[0] * m.values.size for m in memories]
        for number, place, what in self.found.events[:upto]:
            (reads if what == READ else writes)[number][place] += 1
        now = self.found.events[upto - 1][:2] if upto else None
        rows = []
        for k, memory in enumerate(memories):
            boxes = [
                _box(reads[k][i], writes[k][i], now == (k, i))
                for i in range(min(SHOWN, memory.values.size))
            ]
            more = "…" if memory.values.size > SHOWN else ""
            total = f"{sum(reads[k])} r, {sum(writes[k])} w"
            kind = "" if memory.name.startswith(memory.kind) else f" {memory.kind}"
            name = f"<b>{html.escape(memory.name)}</b>{kind}"
            rows.append(
                f"<tr><td style='text-align:left'>{name}</td>{''.join(boxes)}"
                f"<td>{more}</td><td style='text-align:right'>{total}</td></tr>"
            )
        each = f"{self.found.per_element:g} accesses for each element of the output"
        head = f"<b>{html.escape(self.title)}</b><br>" if self.title else ""
        return (
            f"<div style='line-height:1.5'>{head}{html.escape(self.sentence(upto))}"
            f"<table style='margin:0.3em 0'>{''.join(rows)}</table>"
            f"{self.found.total} accesses, {each}</div>"
        )


def _box(reads: int, writes: int, now: bool) -> str:
    """One element: its counts, coloured by what happened to it."""
    texts = [f"{reads} r"] * bool(reads) + [f"{writes} w"] * bool(writes)
    colour = _WRITE if writes else _READ
    if max(reads, writes) > 1:
        colour = _AGAIN
    shade = f"rgba({colour},{0.35 if texts else 0})"
    edge = "2px solid currentColor" if now else "1px solid rgba(128,128,128,0.5)"
    return (
        f"<td style='background:{shade};border:{edge};min-width:3em;"
        f"text-align:center;white-space:nowrap'>{' '.join(texts) or '·'}</td>"
    )
