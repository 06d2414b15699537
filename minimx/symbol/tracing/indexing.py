"""`x[key]` and `x.reshape(…)` of arrays that are written down, in MXNet's operators.

An array that computes has operators of minimx's own for them. A graph is to be read
elsewhere, too, for batches of any size: what reaches to the end of an axis is written
so, and only other lengths as numbers.
"""

from __future__ import annotations

from typing import Any

from minimx.core.arrays import indexing
from minimx.core.ops.registry import lookup
from minimx.core.shapes import Shape


def picked(array: Any, parts: list[indexing.Part]) -> Any:
    """The elements that a complete basic key picks; None if MXNet cannot say that."""
    axes = [part for part in parts if part is not None]
    bounds = [_bounds(part, size) for part, size in zip(axes, array.shape, strict=True)]
    if None in bounds:
        return None
    if any(bound != _ALL for bound in bounds):
        begin, end, step = zip(*bounds, strict=True)
        steps = {"step": step} if any(step) else {}
        op = lookup("slice").of(begin=begin, end=end, **steps)
        array = array._bind(op, [array])
    single = [axis for axis, part in enumerate(axes) if isinstance(part, int)]
    kept = [part for part in parts if not isinstance(part, int)]
    if len(single) == len(axes) and not array._has_scalars():
        single.pop()  # at least one axis, which may be a new one, too
        kept = kept[1:]
    if single:
        array = array._bind(lookup("squeeze").of(axis=tuple(single)), [array])
    for axis, part in enumerate(kept):
        if part is None:
            array = array._bind(lookup("expand_dims").of(axis=axis), [array])
    return array


_ALL = (None, None, None)
_Bound = tuple[int | None, int | None, int | None]


def _bounds(part: indexing.Part, length: int) -> _Bound | None:
    """Begin, end and step along an axis; None for no elements at all."""
    if isinstance(part, int):
        return part, part + 1, None
    assert part is not None
    start, stop, step = part
    if start == stop:
        return None
    if step < 0:
        first = None if start == length - 1 else start
        return first, None if stop < 0 else stop, step
    last = None if stop >= length else stop
    return start or None, last, None if step == 1 else step


def reshaped(array: Any, shape: Shape) -> Any:
    """An array of `mx.np` under another shape; a length may be -1."""
    return array._bind(lookup("_np_reshape").of(newshape=shape), [array])
