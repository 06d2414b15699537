"""The course shows minimx's own kernels and graphs, also where oneDNN is installed.

oneDNN computes convolutions by other algorithms and takes whole regions of a graph, so
plans, peaks and times would be others than those in the text, and exercises with limits
would have no solution.
"""

from __future__ import annotations

from typing import Final

from minimx.core.knobs import knobs
from minimx.fast.onednn import library

KNOB: Final = "MXNET_ONEDNN_ENABLED"
SENTENCE: Final = (
    "oneDNN is installed, and off in this notebook (MXNET_ONEDNN_ENABLED=0): the "
    "numbers of the course are those of minimx's own kernels."
)


def own_kernels() -> None:
    """Turn oneDNN off, if it is there and the user has not set the knob."""
    if library.listed() and not knobs.is_set(KNOB):
        knobs.set(**{KNOB: 0})


def note() -> str:
    """A sentence for learners who have oneDNN and do not use it; else ""."""
    return SENTENCE if library.listed() and not knobs.get(KNOB) else ""
