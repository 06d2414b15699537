"""Knobs in IPython: `%env NAME=value` acts from the next cell.

IPython is never imported from here; where it does not run, there is nothing to do.
"""

from __future__ import annotations

import sys

from minimx.knobs import knobs


def install() -> bool:
    """Look at `os.environ` before every cell. False where no IPython runs.

    Calling it again changes nothing.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None:
        return False
    if before_cell not in shell.events.callbacks["pre_run_cell"]:
        shell.events.register("pre_run_cell", before_cell)
    return True


def before_cell(info: object) -> None:
    """Adopt what the cells before changed in the environment."""
    knobs.sync_from_environ()
