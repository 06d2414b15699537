"""Ctrl-C that arrives while Python finalizes an object is not lost.

Python raises KeyboardInterrupt wherever it happens to be. If that is a `__del__`, the
exception cannot leave it: it is printed as ignored, and the program runs on. Arrays are
finalized at every other line, so this happens; then the interrupt is sent once more.
"""

from __future__ import annotations

import _thread
import sys
import time
from typing import Any, Final

#: Seconds until an interrupt is sent again.
PAUSE: Final = 0.005


def install() -> None:
    """Send interrupts again that finalizers have swallowed, from now on."""
    before = sys.unraisablehook

    def hook(unraisable: Any) -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            _thread.start_new_thread(_interrupt_soon, ())
        else:
            before(unraisable)

    sys.unraisablehook = hook


def _interrupt_soon() -> None:
    """Interrupt the main thread after the hook, which could not raise it either."""
    time.sleep(PAUSE)
    _thread.interrupt_main()
