"""Knobs of a recorded training, turned without NumPy: in a page of the book.

    answer("pool", data, {"MXNET_GPU_MEM_POOL_TYPE": "Round"})

Each module `turning_…` has the numbers of one page. They come from the policies of
minimx themselves: in the reader's browser from a zip of their source files
(`site_turn.py` writes it), and while the book is built, for the frames of pages that
cannot run Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import minimx._extensions  # noqa: F401  # parts that the core asks for by name

#: The pages, each with the module that answers.
PAGES = ("pool", "planner", "engine")


def answer(page: str, data: Mapping[str, Any], turned: Mapping[str, Any]) -> Any:
    """The figures and curves of a page under other knobs, as JSON has them.

    data: what `site_recorded.py` kept of a training. turned: knobs by name. Raises
    KnobError for values that a knob does not take.
    """
    return import_module(f"turning_{page}").answer(data, turned)
