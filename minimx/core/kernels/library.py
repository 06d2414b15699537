"""A file of kernels that the user brings: the knob MXNET_LIBRARY_PATH.

MXNet finds its compiled library by that path. Here the file is Python, and has a table

    KERNELS = {"softmax.softmax": my_softmax}

of kernels by the names under which `find` looks for those of the CPU. What it has takes
the place of ours; everything else stays.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from functools import cache
from typing import Any

from minimx.core.errors import KnobError
from minimx.core.knobs import knobs

KNOB = "MXNET_LIBRARY_PATH"


def kernels() -> dict[str, Callable[..., Any]]:
    """The kernels of the file that the knob names, none without one."""
    path = knobs.get(KNOB)
    return read(path) if path else {}


@cache
def read(path: str) -> dict[str, Callable[..., Any]]:
    """The table of a file. Raises `KnobError` for one that has none."""
    if not os.path.isabs(path) or not os.path.isfile(path):
        raise KnobError(
            f"{KNOB}={path!r} is no file with an absolute path. Give one, such as "
            "/home/me/kernels.py, or nothing for minimx's own kernels."
        )
    spec = importlib.util.spec_from_file_location("minimx_library", path)
    if spec is None or spec.loader is None:
        raise KnobError(f"{KNOB}={path!r} is no Python file; its name must end in .py.")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        table = dict(module.KERNELS)
    except Exception as failure:  # whatever its author has written
        raise KnobError(
            f"{KNOB}={path!r} cannot be used: {type(failure).__name__}: {failure}. It "
            'needs a table KERNELS = {"file.function": function}.'
        ) from failure
    for name, kernel in table.items():
        if not callable(kernel):
            raise KnobError(f"{KNOB}={path!r}: KERNELS[{name!r}] cannot be called.")
    return table


def _changed(name: str, new: Any, old: Any) -> None:
    """Read the file now, so that a wrong one is an error at once."""
    read.cache_clear()
    if new:
        read(new)


knobs.watch(KNOB, _changed)
