"""`View`: a window on a run. What every picture of a record has in common.

A view has two faces made of the same numbers. In a browser it is an anywidget: its
module is `static/<name>.js`, it gets binary columns from the run's feed and sends back
what was clicked. Everywhere else it is text and a picture: `repr(view)` is one line
with the key numbers, `view.svg()` a static picture, `view.table()` the numbers.

Subclasses fill in `columns` (what of the news goes to the browser) and those of
`Pictured`, which is the base of what shows no record as well.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from minimx.core.errors import ArgumentError, MXNetError
from minimx.core.record import Record
from minimx_widgets import esm, palette
from minimx_widgets.code.asking import ShowsSource
from minimx_widgets.flow import Flow
from minimx_widgets.packing import Columns, join, newest, pack, pieces
from minimx_widgets.run import News, Run
from minimx_widgets.saving.states import Stateful, checked_window
from minimx_widgets.tables import Table, Tables

STYLE = palette.css() + (esm.STATIC / "theme.css").read_text(encoding="utf-8")
# A frame never brings more rows of a table than this.
FRAME_LIMIT = 60_000


# Data by MIME type, and their metadata.
Bundle = tuple[dict[str, Any], dict[str, Any]]


class Pictured:
    """What has a static picture and a table beside the widget that a page shows.

    Subclasses give both, and a `repr` of one line with the key numbers.
    """

    def svg(self, *, dark: bool = False, width: int = 900) -> str:
        """A static picture as SVG, `width` pixels wide, of what is shown now."""
        raise NotImplementedError

    def table(self) -> Table | Tables:
        """The numbers of the picture."""
        raise NotImplementedError

    def save(self, path: str | Path, *, dark: bool = False) -> Path:
        """Write the static picture to a file, and return its path."""
        path = Path(path)
        path.write_text(self.svg(dark=dark), encoding="utf-8")
        return path

    def _widget(self) -> Any:
        """What a page shows where there is a browser."""
        return self

    def _repr_mimebundle_(self, **_: Any) -> Bundle:
        return mimebundle(self._widget(), repr(self), self.svg())


class PicturedWidget(Stateful, Pictured, ShowsSource, anywidget.AnyWidget):
    """A widget of this kind, in the style of all."""

    _css = STYLE


class AnsweringWidget(PicturedWidget):
    """One whose page asks for something to be done, and is answered at once."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.on_msg(self._hear)

    def _do(self, message: Mapping[str, Any]) -> str:
        """Do what the page asks; the text of the answer. What it raises is refused."""
        raise NotImplementedError

    def _hear(self, _widget: Any, message: Mapping[str, Any], _buffers: Any) -> None:
        if message.get("kind") == "table":
            self.send({"kind": "table", "html": self.table().html()})
            return
        if message.get("kind") == "source":
            self.send(self.source_message(message))
            return
        answer: dict[str, Any] = {"kind": "answer", "ok": True, "text": ""}
        try:
            answer["text"] = self._do(message)
        except (MXNetError, ValueError, TypeError, KeyError) as refused:
            answer |= {"ok": False, "text": self.refused(refused)}
        self.send(answer)


class View(PicturedWidget):
    """The base of the views of a run."""

    #: At most so many frames a second.
    rate = 12.0
    #: The page keeps so many of the newest rows of a table; one that was away skips
    #: what is between. More than one frame may hold come in several.
    kept_rows = FRAME_LIMIT

    #: Views of one run share the selection on the page under this name.
    run_id = traitlets.Unicode().tag(sync=True)
    height = traitlets.Int(190).tag(sync=True)
    axis = traitlets.Enum(("time", "events"), "time").tag(sync=True, kept=True)
    #: A whole frame kept in the widget's state, for pages without a kernel.
    frozen: traitlets.List[Any] = traitlets.List().tag(sync=True)

    def __init__(self, record: Record | Run | None = None, **settings: Any) -> None:
        # Before the traits get their values: observers of them may run in there.
        self.run = Run.of(record)
        self._flow = Flow(self.rate)
        self._pending: list[News] = []
        self._backlog: deque[dict[str, Any]] = deque()  # frames that wait their turn
        self._known_strings = 0
        self._known_status: dict[str, Any] = {}
        self._known_live = False
        super().__init__(run_id=self.run.id, **settings)
        self.run.attach(self)
        self.on_msg(self._hear)

    @property
    def record(self) -> Record:
        """The record that is shown."""
        return self.run.record

    def leave(self, record: Record) -> None:
        """The run is about to show another record: keep what is wanted of this one."""

    @traitlets.validate("window")
    def _valid_window(self, proposal: Any) -> list[float]:
        return checked_window(type(self).__name__, proposal["value"])

    # Selection, which is a part of the state as well

    def _more_names(self) -> tuple[str, ...]:
        return ("op",)

    def _more(self) -> dict[str, Any]:
        op = self.run.selected
        return {"op": op} if op else {}

    def _bring(self, more: Mapping[str, Any]) -> None:
        op = more.get("op", 0)
        if isinstance(op, bool) or not isinstance(op, int) or op < 0:
            raise ArgumentError(f"op={op!r} is not the number of an operation.")
        self.run.select(op)

    def chosen(self) -> None:
        """An operation was marked in the run."""
        self._keep()

    def select(self, op: int) -> None:
        """Mark an operation in all views of this run; 0 marks none."""
        self.run.select(op)

    # Towards the browser; in the feed's thread

    def columns(self, news: News) -> Columns:
        """What of the news this view's browser side wants, as columns."""
        raise NotImplementedError

    def extras(self, news: Sequence[News]) -> dict[str, Any]:
        """More for the head of a frame; empty for nothing new."""
        return {}

    def offer(self, news: News, *, urgent: bool = False) -> None:
        """News arrived. They wait here until the browser can take them."""
        if news.full:
            self._pending, self._known_strings, self._known_status = [], 0, {}
            self._backlog.clear()
        if len(news.batch) or news.full:
            self._pending.append(news)
        urgent = urgent or news.full or bool(self._backlog)
        ready = self._flow.ready(time.monotonic(), urgent=urgent)
        if ready and (self._backlog or self._pending or self._restless()):
            self._ship()

    @property
    def waiting(self) -> bool:
        """Whether a long record is still on its way to the browser."""
        return bool(self._backlog)

    def freeze(self) -> None:
        """Keep everything in the widget's state, so that a saved page shows it."""
        from minimx_widgets.training.ledger import Ledger

        batch = self.record.since(None)
        strings = list(batch.strings)
        ledger = Ledger(strings, self.record.conditions.t_start)
        news = News(batch, ledger.take(batch["mem"]), strings, full=True)
        (header,) = self._frames([news], 0, FRAME_LIMIT)
        buffers = header.pop("buffers")
        self.frozen = [header, [bytes(buffer) for buffer in buffers]]

    def tell(self, message: dict[str, Any]) -> None:
        """Send a small message to the browser; nothing happens without one."""
        if self.comm is not None:
            self.send(message)

    def _restless(self) -> bool:
        """Whether there is something to say without new rows.

        That is another status, or that the record runs no more.
        """
        ended = self._known_live and not self.record.running
        return ended or self.run.status != self._known_status

    def _ship(self) -> None:
        if not self._backlog:
            self._backlog.extend(
                self._frames(self._pending, self._known_strings, self.kept_rows)
            )
            self._known_strings += len(self._backlog[0]["strings"])
            self._known_status = dict(self.run.status)
            self._known_live = bool(self._backlog[0]["live"])
            self._pending = []
        header = self._backlog.popleft()
        buffers = header.pop("buffers")
        header["seq"] = self._flow.send(time.monotonic())
        if self.comm is not None:
            self.send(header, buffers)

    def _frames(
        self, pending: Sequence[News], known: int, most: int
    ) -> list[dict[str, Any]]:
        """Everything pending, as one frame or several; rows left out are counted.

        The buffers of a frame stand beside its facts, under that name.
        """
        record = self.record
        strings = pending[-1].strings if pending else []
        tables, skipped = newest(join([self.columns(n) for n in pending]), most)
        facts = {"kind": "frame", "live": record.running}
        facts["clock"] = record.conditions.clock
        parts = pieces(tables, FRAME_LIMIT)
        frames = []
        for number, part in enumerate(parts, 1):
            layout, buffers = pack(part)
            more = {
                "full": False, "skipped": 0, "strings_from": 0, "strings": [],
                "knobs": [],
            }  # fmt: skip
            if number == 1:
                more = {
                    "full": any(news.full for news in pending),
                    "skipped": skipped,
                    "strings_from": known,
                    "strings": strings[known:],
                    "knobs": [mark for news in pending for mark in self._marks(news)],
                    **self.extras(pending),
                }
            more |= {"tables": layout, "buffers": buffers}
            frames.append({**facts, **more, "loaded": number / len(parts)})
        return frames

    def _marks(self, news: News) -> list[dict[str, Any]]:
        """The knob changes among the news."""
        start = self.record.conditions.t_start
        return [
            {
                "t": int(row["t"]) - start,
                "name": news.strings[row["name"]],
                "old": news.strings[row["old"]],
                "new": news.strings[row["new"]],
                "scope": news.strings[row["scope"]],
            }
            for row in news.batch["knobs"]
        ]

    # From the browser; in a thread that must not wait

    def _hear(self, _widget: Any, message: dict[str, Any], _buffers: Any) -> None:
        kind = message.get("kind")
        if kind == "ack":
            self._flow.acknowledge(int(message["seq"]))
        elif kind == "hello":
            self._flow = Flow(self.rate)
            self.run.feed.hello(self)
        elif kind == "select":
            self.run.select(int(message["op"]), sender=self)
        elif kind == "table":
            self.run.feed.post(self._send_table)
        elif kind == "source":
            self.run.feed.post(lambda: self.tell(self.source_message(message)))

    def _send_table(self) -> None:
        self.tell({"kind": "table", "html": self.table().html()})

    def close(self) -> None:
        """Take the view away from all pages and from its run."""
        feed = self.run.feed
        feed.post(lambda: feed.forget(self))
        self.run.detach(self)
        super().close()


def mimebundle(widget: Any, text: str, svg: str = "") -> Bundle:
    """How a widget is displayed: live where a front end can, else a picture, else text.

    The text is what nbval compares, so it is not cut.
    """
    data: dict[str, Any] = {"text/plain": text}
    if svg:
        data["image/svg+xml"] = svg
    if widget._view_name is not None and widget.comm is not None:
        data["application/vnd.jupyter.widget-view+json"] = {
            "version_major": 2,
            "version_minor": 0,
            "model_id": widget.model_id,
        }
    return data, {}
