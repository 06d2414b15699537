"""A time limit for policies in the running system.

Checks run a policy in a thread of their own. In the running system it is asked by the
threads of the program and of the engine, so one more thread, started with the first
question, looks four times a second which question is open for longer than `LIMIT`. It
raises an exception inside the policy, as often as it takes; `Watched` makes `Broken` of
it, and the built-in takes over. Machine code that does not return cannot be stopped.
"""

from __future__ import annotations

import ctypes
import threading
from time import monotonic, sleep
from typing import Any, Final

from minimx.policies.asking import Asked, Broken, Overrun

#: Seconds of real time that a policy may take for one answer.
LIMIT: Final = 5.0


class _Question:
    """An open question: which thread asks it, and since when."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.since = monotonic()


class _Watch:
    """The thread that looks at open questions."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: set[_Question] = set()
        self._thread: threading.Thread | None = None

    def begin(self, question: _Question) -> None:
        """Watch a question. A process that was forked starts a thread of its own."""
        with self._lock:
            self._open.add(question)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._look, name="policy limit", daemon=True
                )
                self._thread.start()

    def end(self, question: _Question) -> None:
        """Watch it no longer; an exception that is still on its way is taken back."""
        while True:
            try:
                with self._lock:
                    self._open.discard(question)
                    _raise_in(question.thread, None)
                return
            except Overrun:
                continue

    def _look(self) -> None:
        while True:
            sleep(0.25)
            with self._lock:
                for question in self._open:
                    if monotonic() - question.since > LIMIT:
                        _raise_in(question.thread, Overrun)


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    raised = None if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), raised)


_watch = _Watch()


class Watched(Asked):
    """The question to a policy in the running system, which may not take for ever."""

    def __call__(self, *question: Any) -> Any:
        """The answer. Raises `Broken` where there is none after `LIMIT` seconds."""
        opened = _Question()
        try:
            try:
                _watch.begin(opened)
                return super().__call__(*question)
            finally:
                _watch.end(opened)
        except Overrun:
            raise Broken(
                f"{self.shown(question)} had no answer after {LIMIT:g} s",
                "a policy decides at once: look for a loop that does not end",
            ) from None
