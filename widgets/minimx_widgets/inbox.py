"""Messages of a page, done one after the other in a thread that may take its time.

The thread that receives them serves all widgets, so it must not wait; applying a change
may (another engine starts only when the old one has drained). The thread starts with
the first message, so that a widget that no browser shows never has one.
"""

from __future__ import annotations

import queue
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

from minimx.core.errors import MXNetError

Message = dict[str, Any]


class Inbox:
    """Calls `handle` with each message, in a thread of its own.

    overtake: of several changes that wait for the same name, make only the last.
    """

    def __init__(
        self, handle: Callable[[Message], None], *, name: str, overtake: bool = False
    ) -> None:
        self._handle = handle
        self._name = name
        self._overtake = overtake
        self._queue: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self.thread: threading.Thread | None = None

    def put(self, message: Message) -> None:
        """Have a message done, soon. Never waits."""
        with self._lock:
            self._queue.put(message)
            if self.thread is None or not self.thread.is_alive():
                self.thread = threading.Thread(
                    target=self._work, name=self._name, daemon=True
                )
                self.thread.start()

    def close(self) -> None:
        """End the thread, after what it is doing, and wait for it."""
        with self._lock:
            thread, self.thread = self.thread, None
            if thread is None or not thread.is_alive():
                return
            self._queue.put(None)
        if thread is not threading.current_thread():
            thread.join(timeout=5)

    def _work(self) -> None:
        while True:
            waiting = [self._queue.get()]
            while self._overtake and not self._queue.empty():
                waiting.append(self._queue.get())
            for message in latest(waiting):
                if message is None:
                    return
                self._handle(message)


def latest(waiting: list[Message | None]) -> list[Message | None]:
    """What is waiting, without changes that a later one of the same name overtakes.

    >>> latest([{"kind": "set", "name": "A", "text": "1"},
    ...         {"kind": "set", "name": "A", "text": "2"}])
    [{'kind': 'set', 'name': 'A', 'text': '2'}]
    """
    last = {
        message["name"]: i
        for i, message in enumerate(waiting)
        if message and message.get("kind") == "set"
    }
    return [
        message
        for i, message in enumerate(waiting)
        if not message or message.get("kind") != "set" or last[message["name"]] == i
    ]


def answered(
    message: Message,
    do: Callable[[], str],
    words: Callable[[BaseException], str],
) -> Message:
    """Do what a message asks; returns the answer for the page: done, or why not.

    do: returns in words what it did. words: what is said of a refusal, such as
    `ShowsSource.refused`, which keeps the lines that refused. Any error is
    shown, as it may come from any part that watches a knob; so are warnings.
    """
    answer = {"kind": "answer", "id": message.get("id", 0)}
    answer["name"] = str(message.get("name", ""))
    began = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            done = do()
    except MXNetError as refused:
        return {**answer, "ok": False, "text": words(refused)}
    except Exception as broken:
        text = f"{type(broken).__name__}: {words(broken)}"
        return {**answer, "ok": False, "text": text}
    took = 1e3 * (time.perf_counter() - began)
    notes = "".join(f" {warning.message}" for warning in caught)
    return {**answer, "ok": True, "text": f"{done} in {took:.0f} ms.{notes}"}
