"""While numba compiles: a terminal says so, and no garbage is collected.

watch()         from now on; called where numba is imported
COMPILERS       what compiles kernels and their parts: see `compiling_parts`
"""

from __future__ import annotations

import gc
import os
import sys
from functools import cache
from typing import Any

from numba.core.event import Event, Listener, register

from minimx.core.knobs import knobs
from minimx.fast import ahead
from minimx.fast.compiling_parts import COMPILERS as COMPILERS

#: What a person reads meanwhile.
NOTICE = (
    "minimx compiles kernels for this processor: 5 to 30 s for a network, once. "
    "Later programs load them. `minimx compile` makes the common ones ahead of time."
)


class CompileNotice(Listener):
    """Prints on a terminal why a program takes long, as its first kernel is compiled.

    The knob MINIMX_PROGRESS turns it off. Meanwhile Python collects no garbage: going
    through all that numba makes takes a tenth of the time.
    """

    shown = False
    outermost: Any = None  # what is compiled without collections

    def on_start(self, event: Event) -> None:
        """A function is about to be compiled, perhaps one of the user's own."""
        if gc.isenabled():
            gc.disable()
            self.outermost = event.data
        module = str(event.data["dispatcher"].py_func.__module__)
        ours = module.startswith("minimx")
        if ours:
            ahead.report(module.rpartition(".")[2])
        if ours and not self.shown and knobs.get("MINIMX_PROGRESS"):
            self.shown = True
            if sys.stderr.isatty():
                print(NOTICE, file=sys.stderr)

    def on_end(self, event: Event) -> None:
        """A function was compiled, or could not be."""
        if event.data is self.outermost:
            self.collect()

    def collect(self) -> None:
        """Collect garbage again; in a child of `fork` no compilation will end."""
        if self.outermost is not None:
            self.outermost = None
            gc.enable()


@cache
def watch() -> CompileNotice:
    """Listen to numba in this process and in its children, once.

    Called before the first kernel is compiled: a second process may begin as well.
    """
    ahead.begin()
    notice = CompileNotice()
    register("numba:compile", notice)  # type: ignore[no-untyped-call]
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=notice.collect)
    return notice
