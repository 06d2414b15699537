"""`x[key]` for symbols where arrays are those of `mx.np`: a part of the elements.

Elsewhere, as in MXNet, `x[k]` is an output of the symbol.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from minimx.core.ops.registry import bind, lookup

if TYPE_CHECKING:
    from minimx.symbol.symbol import Symbol

# What `_npx_reshape` makes of an axis: keep it, leave it away (its length is 1); and of
# all axes that are left: keep them.
_KEEP, _DROP, _REST = -2, -3, -4


def part(symbol: Symbol, key: Any) -> Symbol:
    """The elements that integers and slices pick; `...` may stand at the end.

    Shapes are not known, so nothing counts axes from the last one.
    """
    items = list(key) if isinstance(key, tuple) else [key]
    if items and items[-1] is Ellipsis:
        items.pop()
    if not items:
        return symbol
    starts, stops, steps, shape = zip(*map(_axis, items), strict=True)
    op = lookup("slice").of(begin=starts, end=stops, step=steps)
    found: Symbol = bind(op, symbol)
    if _DROP not in shape:
        return found
    new = lookup("_npx_reshape").of(newshape=(*shape, _REST))
    smaller: Symbol = bind(new, found)
    return smaller


def _axis(item: Any) -> tuple[Any, Any, Any, int]:
    """Start, stop and step along an axis, and what becomes of it."""
    if isinstance(item, slice):
        if item.step == 0:
            raise ValueError("slice step cannot be zero")
        return item.start, item.stop, item.step, _KEEP
    if not isinstance(item, (int, np.integer)) or isinstance(item, bool):
        raise IndexError(
            f"a symbol is indexed by integers and slices, not by {item!r}. Use take, "
            "gather_nd or boolean_mask for other keys."
        )
    place = operator.index(item)
    if place >= 0:
        return place, place + 1, 1, _DROP
    return place, place - 1, -1, _DROP  # -1 has no stop after it; go backward
