"""What is done before each cell in IPython: `%env NAME=value` acts from the next one.

IPython is never imported from here; where it does not run, there is nothing to do.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

#: What is done before a cell, in order.
actions: list[Callable[[], object]] = []


def install() -> bool:
    """Run `actions` before every cell from now on. False where no IPython runs.

    Calling it again changes nothing.
    """
    shell = _shell()
    if shell is None:
        return False
    if before_cell not in shell.events.callbacks["pre_run_cell"]:
        shell.events.register("pre_run_cell", before_cell)
    return True


def before_cell(info: object) -> None:
    """Do what is due, such as turning knobs that cells changed in the environment."""
    for action in actions:
        action()


def runs() -> bool:
    """Whether changes of the environment wait for the next cell."""
    shell = _shell()
    return shell is not None and before_cell in shell.events.callbacks["pre_run_cell"]


def _shell() -> Any:
    ipython = sys.modules.get("IPython")
    get = getattr(ipython, "get_ipython", None)  # it may be half imported
    return get() if get is not None else None
