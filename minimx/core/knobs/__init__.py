"""Every environment variable as one typed, documented, live knob.

    from minimx.core.knobs import knobs

    knobs.MXNET_ENGINE_TYPE                         # read
    knobs.set(MXNET_ENGINE_TYPE="NaiveEngine")      # turn, all or nothing
    with knobs(MXNET_GPU_MEM_POOL_TYPE="Round"):    # turn for the length of a block
        ...
    knobs.describe("MXNET_GPU_MEM_POOL_RESERVE")    # what it means
    knobs.watch("MXNET_ENGINE_TYPE", callback)      # be notified

A turned knob reaches the part of the system that it moves in three steps: `set` checks
all values, stores them, and calls the functions that `watch` the knob. The last lines
of `minimx.core.storage` are such calls of `watch`; the book draws what follows from one
change, call by call (`book/ways/knob.md`). Parts that read a knob rarely just read it.

Start values come from `os.environ` when this package is imported. A script that writes
there later turns the knob at once, a cell of IPython from the next cell on; a turned
knob is written back there, so that child processes inherit it. A knob is one
declaration (`declarations/`). This package imports nothing that a knob moves: those
parts import it.
"""

from __future__ import annotations

import os
from typing import Any

from minimx.core.extensions import provided
from minimx.core.knobs import assigned
from minimx.core.knobs import ipython as _ipython
from minimx.core.knobs.declarations import DECLARATIONS
from minimx.core.knobs.knob import Knob, KnobWarning, PlannedKnobWarning
from minimx.core.knobs.registry import Knobs

__all__ = [
    "PRESETS", "Knob", "KnobWarning", "Knobs", "PlannedKnobWarning", "Preset",
    "knobs", "sync_from_environ",
]  # fmt: skip

knobs = Knobs(DECLARATIONS)
sync_from_environ = knobs.sync_from_environ
_ipython.actions.append(sync_from_environ)


def _environ_changed(name: str) -> None:
    if not _ipython.runs():  # there, changes act from the next cell
        knobs.assigned(name)


assigned.install(_environ_changed)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=knobs.after_fork)


def __getattr__(name: str) -> Any:
    if name in ("PRESETS", "Preset"):
        return getattr(provided("knob presets"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
