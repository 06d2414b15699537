"""A run: one record, the views that look at it, and the thread that feeds them.

All views of a run share what is selected. The feed is one thread per run: at most 15
times a second it reads what is new in the record and hands it to each view that a
browser shows. Callbacks of the browser only drop a message into its queue, so that
they never wait, whatever the kernel is doing. Without a browser (nbclient, nbval, a
script) no widget connects, and no thread is ever started.
"""

from __future__ import annotations

import queue
import threading
import time
import uuid
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from minimx.core.record import Batch, Cursor, Record
from minimx_widgets.packing import Array
from minimx_widgets.training.ledger import Ledger

if TYPE_CHECKING:
    from minimx_widgets.base import View
    from minimx_widgets.marking import Marking

TICK = 1 / 15
IDLE_TICK = 0.25


@dataclass(frozen=True)
class News:
    """What a view receives: new rows, memory changes among them, all strings so far.

    `full` says that it is everything, for a browser that begins to look.
    """

    batch: Batch
    memory: Array
    strings: list[str]
    full: bool


class Run:
    """One record and its views; all views of a record get the same from `Run.of`."""

    _known: weakref.WeakKeyDictionary[Record, Run] = weakref.WeakKeyDictionary()

    def __init__(self, record: Record | None = None) -> None:
        self.id = uuid.uuid4().hex[:8]
        self.record = Record() if record is None else record
        self.selected = 0
        #: What a training session says about itself; shown by the training monitor.
        self.status: dict[str, Any] = {}
        self.views: list[View] = []
        #: What marks operations too, and is fed no rows.
        self.marking: list[Marking] = []
        #: Called with every operation that is marked, or 0.
        self.heard: list[Callable[[int], None]] = []
        self.feed = Feed(self)

    @classmethod
    def of(cls, record: Record | Run | None) -> Run:
        """The run of a record; a run is itself; None is a new record."""
        if isinstance(record, Run):
            return record
        if record is None:
            return cls()
        if record not in cls._known:
            cls._known[record] = cls(record)
        return cls._known[record]

    def replace(self, record: Record) -> None:
        """Look at another record from now on; the views begin again."""
        for view in list(self.views):
            view.leave(self.record)
        self.record = record
        self.selected = 0
        for view in list(self.views):
            view.chosen()
        for one in list(self.marking):
            one.chosen()
            one.tell(self.selection())
        self.feed.post(self.feed.restart)

    def select(self, op: int, *, sender: View | Marking | None = None) -> None:
        """Mark an operation in all views; 0 marks none.

        sender: a view whose page has marked it in all views there already.
        """
        self.selected = int(op)
        for view in [*self.views, *self.marking]:
            view.chosen()
            if sender is None:
                view.tell(self.selection())
        for hear in list(self.heard):
            hear(self.selected)

    def selection(self) -> dict[str, Any]:
        """The marked operation as the browser receives it."""
        op = self.selected
        return {"kind": "select", "op": op, "t": self._start_of(op)}

    def _start_of(self, op: int) -> int | None:
        """When an operation started, after the record did; None if it is not there."""
        ops = self.record.ops()
        found = ops[ops["op"] == op]
        if not len(found):
            return None
        return int(found["t_start"][0]) - self.record.conditions.t_start

    def attach(self, view: View) -> None:
        """A view begins to look at this run."""
        self.views.append(view)

    def detach(self, view: View) -> None:
        """A view was closed; with the last one the feed ends."""
        if view in self.views:
            self.views.remove(view)
        if not self.views:
            self.feed.stop()

    def close(self) -> None:
        """Close all views and end the feed."""
        for view in list(self.views):
            view.close()
        self.feed.stop()


class Feed:
    """The thread that brings a run's views what its record learned."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._inbox: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._cursor: Cursor | None = None
        self._strings: list[str] = []
        self._ledger: Ledger | None = None
        self._shown: list[View] = []
        self._busy_until = 0.0

    @property
    def running(self) -> bool:
        """Whether the thread is there."""
        return self._thread is not None and self._thread.is_alive()

    def post(self, job: Callable[[], None]) -> None:
        """Run `job` in the feed's thread, soon. Never waits."""
        self._inbox.put(job)

    def hello(self, view: View) -> None:
        """A browser begins to show a view: it gets everything, then what is new."""
        self.post(lambda: self._welcome(view))
        with self._lock:
            if not self.running:
                self._thread = threading.Thread(
                    target=self._loop, name=f"minimx views {self._run.id}", daemon=True
                )
                self._thread.start()

    def poke(self) -> None:
        """Something has just happened: look at once, and often for a while."""
        if self.running:
            self.post(self._look_now)

    def stop(self) -> None:
        """End the thread and wait for it, unless it is the caller."""
        thread = self._thread
        if thread is not None and thread.is_alive():
            self._inbox.put(None)
            if thread is not threading.current_thread():
                thread.join(timeout=5)
        self._thread = None

    def restart(self) -> None:
        """Forget the record's rows and tell every shown view all there is again."""
        self._cursor, self._ledger, self._strings = None, None, []
        shown, self._shown = self._shown, []
        for view in shown:
            self._welcome(view)

    # What follows runs in the feed's thread.

    def _loop(self) -> None:
        next_tick = 0.0
        while True:
            wait = max(0.0, next_tick - time.monotonic())
            try:
                job = self._inbox.get(timeout=wait or 1e-4)
            except queue.Empty:
                self._tick()
                pace = TICK if time.monotonic() < self._busy_until else IDLE_TICK
                next_tick = time.monotonic() + pace
                continue
            if job is None:
                return
            job()

    def _look_now(self) -> None:
        self._stay_awake()
        self._tick(urgent=True)

    def _stay_awake(self) -> None:
        self._busy_until = time.monotonic() + 2.0

    def _tick(self, *, urgent: bool = False) -> None:
        """Read what is new and offer it to every shown view."""
        if not self._shown:
            return
        news = self._news()
        if len(news.batch):
            self._stay_awake()
        for view in self._shown:
            view.offer(news, urgent=urgent)
        if any(view.waiting for view in self._shown):
            self._stay_awake()

    def _news(self) -> News:
        record = self._run.record
        batch = record.since(self._cursor)
        self._cursor = batch.cursor
        self._strings.extend(batch.strings)
        if self._ledger is None:
            self._ledger = Ledger(self._strings, record.conditions.t_start)
        return News(batch, self._ledger.take(batch["mem"]), self._strings, full=False)

    def _welcome(self, view: View) -> None:
        """Bring the others up to date, then tell this view everything up to there."""
        news = self._news()
        for other in self._shown:
            other.offer(news)
        if view not in self._shown:
            self._shown.append(view)
        if self._ledger is None or self._cursor is None:
            raise RuntimeError("the feed has read nothing")
        batch = _up_to(self._run.record.since(None), self._cursor)
        view.offer(News(batch, self._ledger.recent(), self._strings, full=True))
        if self._run.selected:
            view.tell(self._run.selection())
        self._stay_awake()

    def forget(self, view: View) -> None:
        """A view was closed."""
        if view in self._shown:
            self._shown.remove(view)


def _up_to(batch: Batch, cursor: Cursor) -> Batch:
    """The rows of a batch that come before a cursor."""
    kept = {}
    for (name, rows), reached, wanted in zip(
        batch.tables.items(), batch.cursor, cursor, strict=False
    ):
        kept[name] = rows[: len(rows) - (reached - wanted)]
    return Batch(kept, batch.strings, cursor, batch.lost)
