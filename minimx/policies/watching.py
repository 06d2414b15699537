"""A time limit for code of a user's own that runs in the thread of its caller.

    with limited(5.0):      # raises `Overrun` in the block when they are over
        answer = policy.size(nbytes, idle)

Checks of policies run in a thread of their own (`within`). In the running system a
policy is asked by the threads of the program and of the engine. One more thread,
started with the first limit, looks four times a second which limit is over, and raises
an exception in the thread that is inside, as often as it takes. Machine code that does
not return cannot be stopped.
"""

from __future__ import annotations

import ctypes
import threading
from time import monotonic, sleep
from typing import Any, Final

from minimx.policies.asking import Asked, Broken, Overrun

#: Seconds of real time that a policy may take for one answer.
LIMIT: Final = 5.0


class limited:  # noqa: N801 - a context manager, used like a function
    """Raise `Overrun` in the block once so many seconds of real time are over."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __enter__(self) -> None:
        self.thread = threading.get_ident()
        self.over = monotonic() + self.seconds
        self.sent = False
        _watch.begin(self)

    def __exit__(self, *_: object) -> None:
        _watch.end(self)


class _Watch:
    """The thread that looks at the limits in force."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: set[limited] = set()
        self._thread: threading.Thread | None = None

    def begin(self, limit: limited) -> None:
        """Watch a limit. A process that was forked starts a thread of its own."""
        with self._lock:
            self._open.add(limit)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._look, name="time limit", daemon=True
                )
                self._thread.start()

    def end(self, limit: limited) -> None:
        """Watch it no longer; nothing that was raised arrives later than this."""
        mine = False
        while True:
            try:
                with self._lock:
                    self._open.discard(limit)
                if not limit.sent:
                    return
                # One may still be on its way. Ours takes its place, and arrives here.
                # (To take it back would leave CPython 3.11 looking for it for ever.)
                mine = True
                _raise_in(limit.thread)
                while True:
                    sleep(0)
            except Overrun:
                if mine:
                    return

    def _look(self) -> None:
        while True:
            sleep(0.25)
            with self._lock:
                for limit in self._open:
                    if monotonic() > limit.over:
                        limit.sent = True
                        _raise_in(limit.thread)


def _raise_in(thread: int) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread), ctypes.py_object(Overrun)
    )


_watch = _Watch()


class Watched(Asked):
    """The question to a policy in the running system, which may not take for ever."""

    def __call__(self, *question: Any) -> Any:
        """The answer. Raises `Broken` where there is none after `LIMIT` seconds."""
        try:
            with limited(LIMIT):
                return super().__call__(*question)
        except Overrun:
            raise Broken(
                f"{self.shown(question)} had no answer after {LIMIT:g} s",
                "a policy decides at once: look for a loop that does not end",
            ) from None
