"""Operations that hold others: a bulk and its operations both have rows in a record.

Sums of the time of a lane leave the holders out, and what overlaps within a
lane counts once, so that no lane is busy for longer than there is time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from minimx.profiler.shares import covered, present
from minimx_widgets.packing import Array

JOINED = "BULK"  # the kind of dependency that leads from a holder to a member


def joined(deps: Array, texts: Sequence[str]) -> Array:
    """Which rows of the table of dependencies say what is in what, (n,) of bool."""
    if not len(deps):
        return np.zeros(0, bool)
    kinds = [number for number in present(deps["kind"]) if texts[number] == JOINED]
    return np.asarray(np.isin(deps["kind"], kinds))


def holders(deps: Array, texts: Sequence[str]) -> Array:
    """The numbers of the operations that hold others."""
    return np.unique(deps["src"][joined(deps, texts)])


def holding(ops: Array, held_by: Array | Iterable[int]) -> Array:
    """Which rows of the operations hold others, (n,) of bool."""
    known = np.asarray(held_by if isinstance(held_by, np.ndarray) else list(held_by))
    if not len(known):
        return np.zeros(len(ops), bool)
    return np.asarray(np.isin(ops["op"], known))


def busy(start: Array, end: Array) -> int:
    """How long at least one of some operations ran, in any order.

    >>> busy(np.array([2, 0, 9]), np.array([7, 5, 10]))
    8
    """
    order = np.argsort(start, kind="stable")
    return int(covered(start[order], end[order]).sum())
