"""A garbage collection that is over when the call returns, whatever other threads do.

Arrays in reference cycles keep their memory until Python's garbage collector runs. Only
one collection runs at a time: while one of another thread is under way, `gc.collect()`
returns at once and has collected nothing. A finalizer that waits (for a lock, or for
its turn on a busy machine) makes that last long enough to be noticed: a device then
looks used although no variable refers to its arrays any more.
"""

from __future__ import annotations

import gc
import threading
import time
from typing import Any, Final

#: Seconds that a collection of another thread is waited for, and between two looks.
PATIENCE: Final = 5.0
LOOK: Final = 0.002


def collect() -> None:
    """Collect all garbage; where another thread does so, after it.

    Gives up after `PATIENCE` seconds, as a finalizer in the other thread may wait for
    what the caller holds.
    """
    mine: list[int] = []
    here, end = threading.get_ident(), time.monotonic() + PATIENCE

    def began(phase: str, info: dict[str, Any]) -> None:
        if threading.get_ident() == here and info["generation"] == 2:
            mine.append(here)

    gc.callbacks.append(began)
    try:
        gc.collect()
        while not mine and time.monotonic() < end:
            time.sleep(LOOK)
            gc.collect()
    finally:
        gc.callbacks.remove(began)
