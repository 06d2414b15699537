"""What the last turn changed, figure by figure, and the history of all turns.

One strip: every figure before | after | change, from the steps round the turn. Below
it a line for each turn; a click on a line goes back to the value before it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import traitlets

from minimx.core.errors import ArgumentError
from minimx.core.knobs import knobs
from minimx_widgets import esm, palette, svg
from minimx_widgets.base import PicturedWidget
from minimx_widgets.inbox import Inbox, Message, answered
from minimx_widgets.lab import turn_text
from minimx_widgets.lab.turns import Turn, Turns
from minimx_widgets.tables import Table, Tables
from minimx_widgets.units import counted

# So many turns the page lists; the table has all.
LISTED = 60
NOTHING = (
    "Nothing was turned yet. Turn a switch or a knob while it trains: what a step cost "
    "before and what it costs after it is compared here."
)


class BeforeAfter(PicturedWidget):
    """The last of `turns` compared, and all of them listed.

    go_back(number) puts back what a turn changed; it is called in a thread of the view
    and may raise an error of the family `MXNetError`, which is shown. Without one,
    knobs are put back, and settings, which belong to a lab, are not.
    """

    _esm = esm.module("lab/before_after")

    #: The last turn: its title, how far it is measured, and its rows.
    state = traitlets.Dict().tag(sync=True)
    #: A line for each turn, the newest first.
    history: traitlets.List[Any] = traitlets.List().tag(sync=True)

    # A view that could not be made is closed all the same, by its finaliser.
    _inbox: Inbox | None = None
    _unwatch: Callable[[], None] | None = None

    def __init__(
        self,
        turns: Turns | None = None,
        *,
        go_back: Callable[[int], object] | None = None,
        **settings: Any,
    ) -> None:
        self.turns = Turns() if turns is None else turns
        self._go_back = go_back or (lambda number: put_back(self.turns.get(number)))
        self._showing = threading.Lock()
        inbox = Inbox(self._answer, name="minimx turns")
        self._inbox = inbox
        super().__init__(**settings)
        self._show()
        self._unwatch = self.turns.watch(self._show)
        self.on_msg(lambda _widget, message, _buffers: inbox.put(message))

    def __repr__(self) -> str:
        last = self.turns.last
        if last is None:
            return "BeforeAfter(no turn yet)"
        text = turn_text.title(last)
        return f"BeforeAfter({counted(len(self.turns), 'turn')}, last: {text})"

    def table(self) -> Tables:
        """The figures of the last turn, and the history with the oldest turn first."""
        turns = self.turns.all
        rows = turn_text.rows(turns[-1]) if turns else []
        last = Table.of(
            ("figure", "before", "after", "change", "how"),
            [(r.label, r.before, r.after, r.change, r.source) for r in rows],
            turn_text.title(turns[-1]) if turns else "No turn yet",
        )
        lines = [_line(turn, newest) for turn, newest in _marked(turns)]
        keys = ("number", "step", "what", "change", "note")
        found = [tuple(str(line[key]) for key in keys) for line in lines]
        heads = ("turn", "after step", "what", "change", "note")
        return Tables((last, Table.of(heads, found, "All turns")))

    def svg(self, *, dark: bool = False, width: int = 900) -> str:
        """A static picture: the figures of the last turn, and the last turns."""
        return draw(self, dark=dark, width=width)

    def close(self) -> None:
        """Take the view away; its thread ends."""
        if self._unwatch is not None:
            self._unwatch()
        if self._inbox is not None:
            self._inbox.close()
        super().close()

    def _show(self) -> None:
        """Tell the page of a change; in the thread that made it."""
        with self._showing:  # so that the newer state is also sent later
            turns = self.turns.all
            marked = _marked(turns)
            lines = [_line(*each) for each in reversed(marked[-LISTED:])]
            self.history = lines
            self.state = _last(turns)

    def _answer(self, message: Message) -> None:
        """Do what the browser asked, and say how it went; in the inbox's thread."""
        if message.get("kind") == "table":
            self.send({"kind": "table", "html": self.table().html()})
        elif message.get("kind") == "source":
            self.send(self.source_message(message))
        elif message.get("kind") == "back":
            number = int(message["number"])
            self.send(answered(message, lambda: self._back(number), self.refused))

    def _back(self, number: int) -> str:
        turn = self.turns.get(number)
        self._go_back(number)
        value = turn_text.value_text(turn.name, turn.old)
        return f"{turn_text.plain(turn.name)} put back to {value}"


def put_back(turn: Turn) -> None:
    """Give the knob of a turn its old value. Raises `ArgumentError` for a setting."""
    if turn.kind != "knob":
        raise ArgumentError(
            f"BeforeAfter: {turn.name} is a setting of a lab, which is not known here. "
            "Give go_back=lab.go_back, or look at `lab.before_after`."
        )
    knobs.set(**{turn.name: turn.old})


def _marked(turns: list[Turn]) -> list[tuple[Turn, bool]]:
    """Each turn, and whether it is among the last ones, which are measured together."""
    first = len(turns)
    while first and turns[first - 1].step == turns[-1].step:
        if first < len(turns) and turns[first - 1].steps != turns[-1].steps:
            break
        first -= 1
    return [(turn, place >= first) for place, turn in enumerate(turns)]


def _last(turns: list[Turn]) -> dict[str, Any]:
    """The newest turn as the strip shows it."""
    if not turns:
        return {"number": 0, "title": "", "empty": NOTHING, "rows": _unknown()}
    turn = turns[-1]
    others = [each for each, newest in _marked(turns)[:-1] if newest]
    return {
        "number": turn.number,
        "title": turn_text.title(turn),
        "name": turn.name,
        "step": turn.step,
        "progress": turn_text.progress(turn),
        "settled": turn.settled,
        "steps": turn.steps,
        "note": turn.note,
        "together": [turn_text.title(each) for each in others],
        "rows": [row.as_message() for row in turn_text.rows(turn)] or _unknown(),
    }


def _unknown() -> list[dict[str, Any]]:
    """The figures before any is known, so that the page keeps their space."""
    return [row.as_message() for row in turn_text.blank()]


def _line(turn: Turn, newest: bool) -> dict[str, Any]:
    """A turn as its line in the history shows it."""
    found = turn_text.main(turn)
    measured = turn.settled or not newest
    return {
        "number": turn.number,
        "step": turn.step,
        "name": turn.name,
        "what": turn_text.title(turn),
        "change": found.text
        if found is not None and measured
        else turn_text.progress(turn, newest=newest),
        "verdict": found.verdict if found is not None and measured else "",
        "note": turn.note,
        "back": turn_text.value_text(turn.name, turn.old),
    }


ROW, TOP, SHOWN = 20, 60, 5


def draw(view: BeforeAfter, *, dark: bool, width: int) -> str:
    """The last turn's figures as a small table, and under it the newest lines."""
    ink, muted, rule, alert = (
        palette.surface(name, dark=dark) for name in ("ink", "muted", "line", "alert")
    )
    state, lines = _last(view.turns.all), view.history[:SHOWN]
    if not state["number"]:
        parts = svg.heading("Before | after", "", width, dark=dark)
        lines, y = svg.paragraph(14, 41, NOTHING, muted, space=width - 28)
        parts += lines
        return svg.picture(width, y - 2, parts, title=repr(view), dark=dark)
    text = f"{state['title']} · after step {state['step']} · {state['progress']}"
    parts = svg.heading("Before | after", text, width, dark=dark)
    places = [(0.22, "before"), (0.40, "after"), (0.58, "change"), (0.76, "")]
    for share, head in places:
        parts.append(svg.text(width * share, 44, head, muted, size=10.5))
    y = float(TOP)
    for row in state["rows"]:
        colour = {"better": palette.state("added", dark=dark), "worse": alert}.get(
            row["verdict"], ink
        )
        parts.append(svg.text(14, y, row["label"], ink, space=width * 0.2))
        for (share, _), key, fill in zip(
            places, ("before", "after", "change", "source"), (ink, ink, colour, muted),
            strict=True,
        ):  # fmt: skip
            parts.append(svg.text(width * share, y, row[key], fill, space=width * 0.17))
        y += ROW
    parts.append(svg.line([(14, y - 10), (width - 14, y - 10)], rule))
    y += 8
    for line in lines:
        text = f"{line['number']} · step {line['step']} · {line['what']}"
        parts.append(svg.text(14, y, text, ink, space=width * 0.55))
        change, space = line["change"], width * 0.4
        parts.append(svg.text(width - 14, y, change, muted, anchor="end", space=space))
        y += ROW
    return svg.picture(width, y - 4, parts, title=repr(view), dark=dark)
