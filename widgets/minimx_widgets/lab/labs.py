"""The labs of a process, of which one trains at a time.

Two that trained at once would share the devices and show each other's work.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from minimx.core.errors import MXNetError

if TYPE_CHECKING:
    from minimx_widgets.lab.lab import Lab

_current: weakref.ref[Lab] | None = None


def current() -> Lab | None:
    """The lab that trains or trained last; None if there is none."""
    return None if _current is None else _current()


def require_current() -> Lab:
    """`current`. Raises `MXNetError` if no lab has trained."""
    lab = current()
    if lab is None:
        raise MXNetError(
            "Lab.current: no lab of this kernel has trained. Make one: "
            'Lab("lenet", "glyphs").'
        )
    return lab


def other_than(lab: Lab) -> Lab | None:
    """The lab that would have to make way if this one trained."""
    other = current()
    if other is None or other is lab:
        return None
    return other if other.record.running or other.comparer.under_way else None


def take_over(lab: Lab) -> None:
    """Let this lab train. Another one that trains is left where it is."""
    global _current
    other = other_than(lab)
    if other is not None:
        other.leave(lab.title)
    _current = weakref.ref(lab)
