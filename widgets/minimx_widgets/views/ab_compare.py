"""`ABCompare`: two runs one above the other, what differs, and why.

    ABCompare(before, after, names=("imperative", "hybridized"))    # two records
    ABCompare("monday.npz", "friday.npz")                           # two files
    ABCompare(record, net=net, MXNET_EXEC_ENABLE_INPLACE=False)     # and its replay

Operations are aligned by what they are (operator, layer, phase), not by when they ran.
The timelines lie, by default, along one axis of time that begins with the first push of
each, and so do the curves of memory above them. Turning a knob of B replays the record
(`mx.replay.rerun`), which takes a fraction of a second: nothing runs, and no knob of
the program is turned. What comes of a replay is called predicted.
"""

from __future__ import annotations

import gc
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

import ipywidgets
import traitlets

from minimx.core.errors import ArgumentError, MXNetError
from minimx.core.knobs import knobs as registry
from minimx.core.record import Record
from minimx.experiments import Alignment, Measured, Rerun, align, rerun, why_each
from minimx.experiments.groups import checked, value_of
from minimx_widgets import svg
from minimx_widgets.base import Pictured
from minimx_widgets.compare import causes, picture
from minimx_widgets.compare.board import Board
from minimx_widgets.compare.differences import Delta, Row, deltas, rows
from minimx_widgets.compare.marks import Marks
from minimx_widgets.compare.sides import Side, Source
from minimx_widgets.compare.timeline import COMMON, Compared
from minimx_widgets.compare.turnable import turnable
from minimx_widgets.inbox import Inbox, Message, answered
from minimx_widgets.pictures.pool_knobs import control
from minimx_widgets.saving.states import HasState
from minimx_widgets.tables import Table, Tables
from minimx_widgets.units import human_time
from minimx_widgets.views.knob_panel import code

#: So many rows of the table of operators are shown.
ROWS = 12
#: Seconds without a change before causes are looked for.
QUIET = 0.3
#: Of more operations causes are looked for only when they are asked for.
EXPLAINED = 20_000
Made = TypeVar("Made")


class ABCompare(HasState, Pictured):
    """Two runs to be compared.

    first, second: records, replays (`mx.replay.rerun`), or paths of saved records.
    Without `second`, B is the replay of the first under `knobs`. names: what they are
    called. times: along which the timelines lie: the "common" ones, in which what is
    longer took longer, or its "own" for each, so that it fills the picture. net: the
    hybridized block that was recorded, which knobs of the passes over its graph need.
    program: does what was recorded, for `measure` and the button "Run it".

    Raises `DataError` for a file that is no record, `ArgumentError` and `KnobError` for
    what cannot be replayed.
    """

    def __init__(
        self,
        first: Source,
        second: Source | None = None,
        names: tuple[str, str] = ("A", "B"),
        *,
        times: str = COMMON,
        net: Any = None,
        program: Callable[[], object] | None = None,
        **knobs: Any,
    ) -> None:
        a = replace(Side.of(first), name=names[0])
        if second is None:
            b = replace(a, run=rerun(a.original, net=net, **{**a.changes, **knobs}))
        elif knobs:
            raise ArgumentError(
                "ABCompare: knobs make B from the first record, and a second run was "
                "given as well. Leave one of them out, or turn knobs with `turn`."
            )
        else:
            b = replace(Side.of(second), name=names[1])
        self.sides = a, b
        self.net, self.program = net, program
        #: Whether A stays what it is when a knob of B is turned.
        self.frozen = True
        self.revision = 0
        self._first = b.changes
        self._changing = threading.RLock()
        self._known: dict[str, Any] = {}
        self._offered: tuple[Record, list[str]] | None = None
        pair = uuid.uuid4().hex[:8]
        self.views = tuple(
            Compared(side, height=112, pair=pair, times=times) for side in self.sides
        )
        one, other = self.views
        self._together = traitlets.link((one, "times"), (other, "times"))
        self.marks = Marks(self)
        self._later = Inbox(self._explain, name="minimx why", overtake=True)
        self.board = Board(self._asked, pair=pair)
        self.board.belong(self)
        self.operators = ipywidgets.HTML(layout={"width": "fit-content"})
        self.operators.add_class("jp-RenderedHTMLCommon")  # the look of its tables
        self._show()
        self.operators.value = self.changes().html()
        parts = [self.board, *self.views, self.operators]
        self.box = ipywidgets.VBox(parts, layout={"grid_gap": "8px"})

    # Changing what is compared

    def turn(self, **knobs: Any) -> None:
        """Make B from A, or from what B was, with knobs at other values; None: as in A.

        B is replayed. Where A is not frozen, it becomes what B was before. Raises
        `KnobError` and `ArgumentError` as `mx.replay.rerun`, and changes nothing then.
        """
        with self._changing, _uncollected():
            a, b = self.sides
            base = b if b.original is a.original or not self.frozen else a
            changes = {**base.changes, **knobs}
            wanted = checked({n: v for n, v in changes.items() if v is not None})
            if base is b and b.predicted and wanted == b.changes:
                return
            made = rerun(base.original, net=self.net, **wanted)
            self.sides = (a if self.frozen else b), Side(made, base.name)
            self._show()

    def reset(self) -> None:
        """Let B be the replay of its record under the knobs that this one has."""
        self.turn(**dict.fromkeys(self.sides[1].changes))

    def swap(self) -> None:
        """Let A be B, and B be A."""
        with self._changing:
            self.sides = self.sides[1], self.sides[0]
            self._show()

    def freeze(self, on: bool = True) -> None:
        """Keep A as it is when a knob of B is turned; or let it follow B."""
        with self._changing:
            self.frozen = on
            self._show()

    def measure(self, program: Callable[[], object] | None = None) -> Measured:
        """Run a program under the knobs of B, and show what that took beside it.

        program: does what was recorded; by default the one that was given. Raises
        `ArgumentError` without one, and where B is no replay.
        """
        program = program or self.program
        side = self.sides[1]
        if program is None or not isinstance(side.run, Rerun):
            what = "B is a record and no replay" if program else "no program is known"
            raise ArgumentError(
                f"ABCompare.measure: {what}. Give what was recorded, "
                "ABCompare(record, program=f), and turn a knob of B."
            )
        trial = side.run.measure(program)
        with self._changing:
            if self.sides[1] is side:
                self.sides = self.sides[0], replace(side, trial=trial)
                self._show()
        return trial

    # Looking

    def code(self) -> str:
        """A `with` block that puts the knobs in force which are turned for B."""
        return code({n: (None, value) for n, value in self.sides[1].changes.items()})

    @property
    def names(self) -> tuple[str, str]:
        """What the sides are called, with the knobs that a replay turned."""
        return self.sides[0].title, self.sides[1].title

    @property
    def times(self) -> str:
        """Along which times the timelines lie: "common" ones or each its "own"."""
        return str(self.views[0].times)

    @times.setter
    def times(self, times: str) -> None:
        self.views[0].times = times

    @property
    def spans(self) -> tuple[int, int]:
        """How long each side took, in nanoseconds."""
        return self.sides[0].took, self.sides[1].took

    @property
    def rows(self) -> list[Row]:
        """The figures of both sides, and how they differ."""
        return rows(*self.sides)

    @property
    def alignment(self) -> Alignment:
        """Each operation of A in B."""
        a, b = self.sides
        return self._kept("alignment", lambda: align(a.record, b.record))

    @property
    def deltas(self) -> list[Delta]:
        """Every kind of operation of either side, the largest change first."""
        return self._kept("deltas", lambda: deltas(self.alignment))

    @property
    def why(self) -> str:
        """Which decisions made the difference, in sentences; see `mx.replay.why`."""
        return self._kept("why", self._why)

    @property
    def said(self) -> str:
        """What pictures and pages say of `why`: of long records, how to ask for it."""
        longest = max(side.original.rows("ops") for side in self.sides)
        if longest <= EXPLAINED:
            return self.why
        return (
            f"looking into {longest:,} operations takes a while: ask for it in a cell, "
            "with the property `why` of the comparison."
        )

    def _why(self) -> str:
        a, b = self.sides
        try:
            return causes.said(why_each(a.run, b.run, net=self.net))
        except MXNetError as refused:
            return str(refused)

    def _kept(self, name: str, make: Callable[[], Made]) -> Made:
        """What was made for the sides as they are, or make it."""
        known = self._known
        if name not in known:
            known[name] = make()
        made: Made = known[name]
        return made

    def __repr__(self) -> str:
        a, b = self.spans
        ratio = f", {b / a:.3f} ×" if a else ""
        pushes = " → ".join(f"{side.figures['pushes']:.0f}" for side in self.sides)
        said = ", B predicted" if self.sides[1].predicted else ""
        return (
            f"ABCompare({human_time(a)} → {human_time(b)}{ratio}, {pushes} pushes"
            f"{said})"
        )

    def table(self) -> Tables:
        """The figures of both sides, and the operators that changed most."""
        return Tables((self._figures(), self.changes()))

    def _figures(self) -> Table:
        found = self.rows
        heads = ["figure", *self._heads(), "difference", "ratio"]
        cells = [
            [r.label, r.before, r.after, r.measured, r.difference, r.ratio]
            for r in found
        ]
        if self.sides[1].trial:
            heads.insert(3, "B, measured")
        else:
            cells = [row[:3] + row[4:] for row in cells]
        return Table.of(heads, cells, " → ".join(self.names))

    def _heads(self) -> list[str]:
        return [
            f"{letter}, predicted" if side.predicted else letter
            for letter, side in zip("AB", self.sides, strict=True)
        ]

    def changes(self) -> Table:
        """The operators of either side that changed most."""
        heads = ("operator", "layer", "phase", "calls", "time", "change")
        cells = []
        for one in self.deltas[:ROWS]:
            sign = "+" if one.change > 0 else "-" if one.change < 0 else "±"
            cells.append(
                (
                    one.operator,
                    one.layer,
                    one.phase,
                    " → ".join(map(str, one.calls)),
                    " → ".join(human_time(ns) for ns in one.took),
                    f"{sign}{human_time(abs(one.change))}",
                )
            )
        caption = f"Operations: {repr(self.alignment).strip('<>')}"
        if len(self.deltas) > ROWS:
            caption += f"; the {ROWS} largest changes of {len(self.deltas)}"
        return Table.of(heads, cells, caption)

    def svg(self, *, dark: bool = False, width: int = 900) -> str:
        """Figures, curves of memory, both timelines, the largest changes as bars."""
        parts = [
            picture.board(self, dark=dark, width=width),
            *(view.svg(dark=dark, width=width) for view in self.views),
            picture.bars(self.deltas[:ROWS], dark=dark, width=width),
        ]
        return svg.stacked(parts, width)

    # To and from the page

    def _show(self) -> None:
        """Show the sides as they are now."""
        self.revision += 1
        self._known.clear()
        whole = max(self.spans)
        devices = list(dict.fromkeys(d for side in self.sides for d in side.devices))
        names = self._turnable()
        with self.board.hold_sync():
            if names != [one["name"] for one in self.board.declared]:
                self.board.declared = [control(name) for name in names]
            self.board.lines = [side.lines for side in self.sides]
            self.board.state = self._state(names, devices, whole)
        for view, side in zip(self.views, self.sides, strict=True):
            facts = {"title": side.title, "predicted": side.predicted, "whole": whole}
            view.compare(side, self.revision, **facts)
        self.marks.follow()
        if self._later.thread is not None:  # a page looks
            self._look_into()

    def _turnable(self) -> list[str]:
        a, b = (side.original for side in self.sides)
        record = b if a is b or not self.frozen else a
        if self._offered is None or self._offered[0] is not record:
            self._offered = record, turnable(record, self.net)
        return self._offered[1]

    def _state(
        self, names: list[str], devices: list[str], whole: int
    ) -> dict[str, Any]:
        side = self.sides[1]
        values = side.original.conditions.knobs
        now = {n: value_of({**values, **side.changes}, n) for n in names}
        return {
            "names": list(self.names),
            "predicted": [one.predicted for one in self.sides],
            "rows": [row.as_message() for row in self.rows],
            "devices": devices,
            "whole": whole,
            "took": list(self.spans),
            "values": {n: registry.declared[n].format(v) for n, v in now.items()},
            "turned": {
                n: registry.declared[n].format(v) for n, v in side.changes.items()
            },
            "unknown": list(side.unknown),
            "frozen": self.frozen,
            "program": self.program is not None,
            "code": self.code(),
            "revision": self.revision,
            "timelines": [
                view.revision if view.drawn is one.drawn else self.revision
                for view, one in zip(self.views, self.sides, strict=True)
            ],
        }

    def _look_into(self) -> None:
        self._later.put({"kind": "set", "name": "why", "revision": self.revision})

    def _explain(self, message: Message) -> None:
        """Say why the sides differ, and how operators do, once nothing changes."""
        time.sleep(QUIET)
        revision = message["revision"]
        if revision != self.revision:
            return
        said, table = self.said, self.changes().html()
        with self._changing:
            if revision == self.revision:
                self.board.why = {"revision": revision, "text": said}
                self.operators.value = table

    def _asked(self, message: Message) -> None:
        """Do what the page asks, and answer; in the board's thread."""
        if message.get("kind") == "hello":
            self._look_into()
        elif message.get("kind") == "show":
            self.board.show = str(message["show"])
        else:
            self.board.tell(answered(message, lambda: self._do(message), str))

    def _do(self, message: Message) -> str:
        kind = message.get("kind")
        if kind == "set":
            self.turn(**{str(message["name"]): str(message["text"])})
        elif kind == "drop":
            self.turn(**{str(message["name"]): None})
        elif kind == "freeze":
            self.freeze(bool(message["on"]))
        elif kind == "table":
            self.board.tell({"kind": "table", "html": self.table().html()})
        elif kind in ("reset", "swap", "measure"):
            getattr(self, kind)()
        else:
            raise ValueError(f"ABCompare: {kind!r} is not a message that it knows.")
        return str(kind)

    def counterpart(self, place: int, op: int) -> int:
        """The id that an operation of side 0 or 1 has on the other side; 0 if none."""
        found = self.alignment
        mine, theirs = found.before, found.after
        here, there = found.pairs[:, 0], found.pairs[:, 1]
        if place:
            mine, theirs, here, there = theirs, mine, there, here
        at = (mine.ops()["op"][here] == op).nonzero()[0]
        return int(theirs.ops()["op"][there[at[0]]]) if len(at) else 0

    # Its state

    def state_widget(self) -> Board:
        """The board."""
        return self.board

    def state_names(self) -> tuple[str, ...]:
        """What is turned for B, whether A is frozen, the times, what is marked in A."""
        return ("turned", "frozen", "times", "op")

    def state_parts(self) -> dict[str, Any]:
        """What differs from how the comparison was made."""
        changes, found = self.sides[1].changes, dict[str, Any]()
        if changes != self._first:
            declared = registry.declared
            found["turned"] = {n: declared[n].format(v) for n, v in changes.items()}
        if not self.frozen:
            found["frozen"] = False
        if self.times != COMMON:
            found["times"] = self.times
        if op := self.views[0].run.selected:
            found["op"] = op
        return found

    def bring_state(self, parts: Mapping[str, Any]) -> None:
        """Turn the same knobs for B, and show the same of it."""
        wanted = dict(parts.get("turned", self._first))
        now = dict.fromkeys(self.sides[1].changes)
        self.turn(**{**now, **wanted})
        self.times = parts.get("times", COMMON)
        self.freeze(bool(parts.get("frozen", True)))
        self.views[0].run.select(int(parts.get("op", 0)))

    def _widget(self) -> Any:
        return self.box

    def close(self) -> None:
        """Take the views away from all pages."""
        self._later.close()
        self.marks.close()
        self._together.unlink()
        for part in (self.board, *self.views, self.operators, self.box):
            part.close()


@contextmanager
def _uncollected() -> Iterator[None]:
    """Put garbage collections off: a replay makes many objects, and they are kept.

    One collection of a notebook's memory takes as long as a whole replay.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
