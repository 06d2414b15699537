"""The operations of a run: who ran what, when, and what waited for what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import traitlets

from minimx.core.engine.bulking import NAME as BULK
from minimx.core.errors import ArgumentError
from minimx.core.events import PHASES
from minimx_widgets import esm
from minimx_widgets.base import View
from minimx_widgets.code.decisions import decision
from minimx_widgets.code.finding import source
from minimx_widgets.code.lines import line_of
from minimx_widgets.code.pieces import Code
from minimx_widgets.joined import busy, holding, joined
from minimx_widgets.packing import Array, Coder, Columns
from minimx_widgets.pictures.engine_layout import EngineLayout, lane_order, plain
from minimx_widgets.pictures.engine_layout import lay_out as lay_out
from minimx_widgets.pictures.engine_picture import KINDS
from minimx_widgets.pictures.engine_picture import LEFT as LEFT
from minimx_widgets.pictures.engine_picture import RIGHT as RIGHT
from minimx_widgets.pictures.engine_picture import Picture as Picture
from minimx_widgets.pictures.engine_picture import draw as draw
from minimx_widgets.run import News
from minimx_widgets.saving import states
from minimx_widgets.tables import Table, Tables
from minimx_widgets.units import counted, human_count, human_share, human_time

COLOURS = ("auto", "phase", "layer", "operator")


class EngineTimeline(View):
    """A lane for the pushing thread and one for each worker, with every operation.

    `colour` is "phase", "layer", "operator", or "auto": by phase, but by operator where
    only one phase occurs. `axis` is "time" or "events". Selecting an operation shows
    what it waited for.
    """

    _esm = esm.module("engine_timeline")
    kept_rows = 1_200_000

    colour = traitlets.Enum(COLOURS, "auto").tag(sync=True, kept=True)
    window = states.window()
    #: Lanes that stay at the top; up to two marked times in nanoseconds; a search.
    pinned = traitlets.List(traitlets.Unicode()).tag(sync=True, kept=True)
    marks = traitlets.List(traitlets.Float(), maxlen=2).tag(sync=True, kept=True)
    find = traitlets.Unicode("").tag(sync=True, kept=True)

    def __init__(self, record: Any = None, **settings: Any) -> None:
        self._phases = Coder(PHASES)
        self._kinds = Coder(KINDS)
        self._holders: set[int] = set()  # whose rows have not come yet
        super().__init__(record, **settings)

    @property
    def lanes(self) -> list[str]:
        """The lanes that ran something, and the pusher."""
        return lane_order(self.record.texts(np.unique(self.record.ops()["worker"])))

    @property
    def busy(self) -> dict[str, float]:
        """The share of the record in which each lane ran something, 0 to 1."""
        layout = self.arrangement()
        return dict(zip(layout.lanes, layout.busy.tolist(), strict=True))

    def arrangement(self) -> EngineLayout:
        """The picture as numbers."""
        by = "name" if self.shown_colour == "operator" else "layer"
        return lay_out(self.record, axis=self.axis, by=by)

    @property
    def shown_colour(self) -> str:
        """What the colours of the picture stand for: phases, layers or operators."""
        if self.colour != "auto":
            return str(self.colour)
        several = len(np.unique(self.record.ops()["phase"])) > 1
        return "phase" if several or not len(self.record.ops()) else "operator"

    def summary(self) -> list[str]:
        """The key numbers, in words."""
        return [
            f"{human_count(len(self.record.ops()))} operations",
            counted(len(self.lanes) - 1, "worker"),
        ]

    def __repr__(self) -> str:
        ops = self.record.ops()
        workers = len(self.lanes) - 1
        parts = [
            counted(len(ops), "operation"),
            counted(workers, "worker"),
            counted(len(self.record.deps()), "dependency"),
            f"clock={self.record.conditions.clock}",
        ]
        return f"EngineTimeline({', '.join(parts)})"

    def columns(self, news: News) -> Columns:
        """Operations and dependencies, times relative to the record's start."""
        if news.full:
            self._phases, self._kinds = Coder(PHASES), Coder(KINDS)
            self._holders.clear()
        ops, deps = news.batch["ops"], news.batch["deps"]
        inside = joined(deps, news.strings)
        self._holders.update(deps["src"][inside].tolist())
        deps = deps[~inside]
        holds = holding(ops, self._holders)
        self._holders.difference_update(ops["op"][holds].tolist())
        start = self.record.conditions.t_start
        times = {n: ops[f"t_{n}"] - start for n in _TIMES}
        return {
            "ops": {
                **{n: ops[old].astype(np.int64) for n, old in _NUMBERS.items()},
                "phase": self._phases.codes(news.strings, ops["phase"]),
                "failed": ops["failed"].astype("u1"),
                "holds": holds.astype("u1"),
                "priority": ops["priority"],
                **times,
            },
            "deps": {
                "src": deps["src"],
                "dst": deps["dst"],
                "kind": self._kinds.codes(news.strings, deps["kind"]),
            },
        }

    def source_for(self, message: Mapping[str, Any]) -> Code:
        """The line that pushed an operation, and those that define its operator."""
        ops = self.record.ops()
        row = ops[ops["op"] == int(message["op"])][:1]
        (name,) = self.record.texts(row["name"]) or [f"#{message['op']}"]
        if name == BULK:
            return decision("scheduler", "BULK")
        pieces, missing = [], ""
        try:
            pieces.append(line_of(self.record, next(iter(self.lines_of(row)), "")))
        except ArgumentError as unknown:
            missing = str(unknown)
        try:
            found = source(name).pieces
        except ArgumentError as unknown:
            if not pieces:
                raise
            missing = str(unknown)
            found = ()
        return Code(name, (*found, *pieces), missing if not found else "")

    def lines_of(self, rows: Array) -> list[str]:
        """Where the program pushed some rows of `ops`, such as "Cell In[3]:7"."""
        return self.record.texts(rows["line"])

    def table(self) -> Tables:
        """Busy time by lane, and the operators that took the most time."""
        return Tables((self._lane_table(self.lanes), self._operator_table()))

    def svg(self, *, dark: bool = False, width: int = 900) -> str:
        """A static picture of the record, with the arrows of the selected operation."""
        return draw(self, self.arrangement(), dark=dark, width=width)

    def _lane_table(self, lanes: Sequence[str]) -> Table:
        record, rows = self.record, []
        ops = record.ops()[plain(record)]
        number = {text: i for i, text in enumerate(record.strings)}
        took = ops["t_end"] - ops["t_start"]
        shares = self.busy
        for lane in lanes:
            mine = ops["worker"] == number.get(lane, -1)
            total = busy(ops["t_start"][mine], ops["t_end"][mine])
            longest, count = int(took[mine].max(initial=0)), int(mine.sum())
            share = human_share(shares[lane])
            times = (human_time(total), human_time(longest))
            rows.append((lane, str(count), times[0], share, times[1]))
        heads = ("lane", "operations", "busy", "share", "longest")
        return Table.of(heads, rows, "Lanes")

    def _operator_table(self, most: int = 12) -> Table:
        ops, strings = self.record.ops()[plain(self.record)], self.record.strings
        took, wait = ops["t_end"] - ops["t_start"], ops["t_start"] - ops["t_ready"]
        calls = np.bincount(ops["name"])
        totals, waits = (np.bincount(ops["name"], each) for each in (took, wait))
        rows = [
            (strings[name], int(totals[name]), int(calls[name]), int(waits[name]))
            for name in np.flatnonzero(calls).tolist()
        ]
        rows.sort(key=lambda row: (-row[1], row[0]))
        texts = [
            (name, str(count), human_time(total), human_time(total / count),
             human_time(queued / count))
            for name, total, count, queued in rows[:most]
        ]  # fmt: skip
        heads = ("operator", "calls", "total", "mean", "mean queue wait")
        return Table.of(heads, texts, "Operators by time")


_TIMES = ("push", "ready", "start", "end")
_NUMBERS = {
    "op": "op",
    "name": "name",
    "layer": "layer",
    "worker": "worker",
    "forward": "forward_op",
}
