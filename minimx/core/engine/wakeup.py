"""A thread sleeps until another one wakes it."""

from __future__ import annotations

import threading
from time import monotonic
from typing import Final

# A signal that arrives just before a thread falls asleep does not wake it, so sleepers
# look up now and then, in seconds. Ctrl-C takes no longer than this to be noticed.
NAP: Final = 0.2


class Wakeup:
    """Wakes the thread that waits; signalled once."""

    __slots__ = ("_lock", "signal")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()
        self.signal = self._lock.release

    def wait(self, patience: float = -1) -> None:
        """Sleep until it is signalled, or for `patience` seconds; -1 is for ever."""
        end = float("inf") if patience < 0 else monotonic() + patience
        while not self._lock.acquire(timeout=NAP):
            if monotonic() > end:
                return
