"""Copies between views, and sums of rows, as calls of machine code.

offered(name, kernel, args)  a launch of `cpu/shape.py` that knows what it copies
calls(pairs)                 (source, target): views of one shape; any strides
short_sums(launch, …)        the rows of a matrix added up in their order

`kernels/prebuilt.py` makes one table of them and of what stands beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from itertools import accumulate, chain, pairwise
from typing import Any

import numpy as np
from numba import types

from minimx.core.kernels.native import load, operand, store
from minimx.core.kernels.prebuilt import Call, addresses, offers
from minimx.fast.cpu.short_products import code_of

Launch = Callable[..., None]
Pair = tuple[Any, Any]
#: From the arrays of a launch to the views that it copies: (source, target).
Pairs = Callable[..., list[Pair]]
Axes = tuple[int, ...]
Key = tuple[Any, ...]
#: A row of fewer elements takes longer to begin than to copy.
SHORT = 16
#: Sums of more rows than this are left to their own kernel.
FEW_ROWS = 64


@cache
def _code(width: int) -> int:
    """Code that copies elements of `width` bytes, row by row.

    n: how many there are. steps: how many axes; then for each, the innermost first,
    its length, and the steps of source and target along it, in elements.
    """
    item = getattr(types, f"uint{8 * width}")

    def copy(args: Any, steps: Any, n: int) -> None:
        source, target = operand(args, 0, item), operand(args, 1, item)
        length, from_, to = steps[1], steps[2], steps[3]
        for row in range(n // length):
            start, end, rest = 0, 0, row
            for axis in range(1, steps[0]):
                place = rest % steps[3 * axis + 1]
                rest //= steps[3 * axis + 1]
                start += place * steps[3 * axis + 2]
                end += place * steps[3 * axis + 3]
            if from_ == 1 and to == 1:
                for i in range(length):
                    store(target, end + i, load(source, start + i))
            else:
                for i in range(length):
                    store(target, end + i * to, load(source, start + i * from_))

    return code_of(copy)


# -- which views are copied ------------------------------------------------------------


def transpose(axes: Axes) -> Pairs:
    """The axes of x in the order `axes`. This and the others as in `cpu/shape.py`."""
    return lambda x, out: [(x.transpose(axes), out)]


def pick(key: Key) -> Pairs:
    """x[key]."""
    return lambda x, *to: [_alike(x[(*key, ...)], to[-1])]


def place(key: Key) -> Pairs:
    """Zeros, then out[key] = part."""

    def pairs(part: Any, out: Any) -> list[Pair]:
        target = out[(*key, ...)]
        zero = _ZEROS.view(out.dtype)[:1]
        return [(zero, out), (part.reshape(target.shape), target)]

    return pairs


def concatenate(axis: int) -> Pairs:
    """Arrays one after another."""

    def pairs(*arrays: Any) -> list[Pair]:
        *xs, out = arrays
        keys = _keys(axis, [x.shape[axis] for x in xs])
        return [(x, out[key]) for x, key in zip(xs, keys, strict=True)]

    return pairs


def stack(axis: int) -> Pairs:
    """The same along a new axis."""
    before = (slice(None),) * axis
    return lambda *xs: [(x, xs[-1][(*before, k)]) for k, x in enumerate(xs[:-1])]


def split(axis: int, lengths: Sequence[int]) -> Pairs:
    """Pieces of x, of these lengths."""
    keys = _keys(axis, lengths)
    return lambda x, *outs: [
        _alike(x[key], out) for key, out in zip(keys, outs, strict=True)
    ]


def _keys(axis: int, lengths: Sequence[int]) -> list[Key]:
    """Where pieces of these lengths lie along an axis."""
    cuts = [0, *accumulate(lengths)]
    return [(*(slice(None),) * axis, slice(a, b)) for a, b in pairwise(cuts)]


def _alike(part: Any, out: Any) -> Pair:
    return part, out.reshape(part.shape)


_VIEWS: dict[str, Callable[..., Pairs]] = {
    made.__name__: made for made in (transpose, pick, place, concatenate, stack, split)
}
#: Of any element type: the source of zeros.
_ZEROS = np.zeros(2)


def offered(name: str, kernel: Callable[..., Launch], args: Sequence[Any]) -> Launch:
    """A launch of `cpu/shape.py`; those that only copy offer their calls.

    name, args: which, and what it is made with.
    """
    launch = kernel(*args)
    if name not in _VIEWS:
        return launch
    pairs = _VIEWS[name](*args)
    return offers(launch, lambda *arrays: calls(pairs(*arrays)))


def calls(pairs: Iterable[Pair]) -> list[Call]:
    """A call for each pair (source, target) of views; a single source is repeated."""
    found = []
    for source, target in pairs:
        if not target.size:
            continue
        source = np.broadcast_to(source, target.shape)
        width = min(target.itemsize, 8)
        axes = _axes(target.shape, source.strides, target.strides, target.itemsize)
        steps = (len(axes), *chain(*axes))
        n = target.size * target.itemsize // width
        found.append(Call(_code(width), addresses((source, target)), steps, n))
    return found


def _axes(shape: Axes, source: Axes, target: Axes, item: int) -> list[Axes]:
    """(length, step of source, step of target) of as few axes as there can be.

    The innermost comes first, or the longest if that is short.

    >>> _axes((4, 2, 8), (128, 64, 8), (64, 32, 4), 4)  # source: every other one
    [(64, 2, 1)]
    """
    width = min(item, 8)
    found: list[Axes] = [(item // width, 1, 1)]
    for length, *steps in zip(shape[::-1], source[::-1], target[::-1], strict=True):
        from_, to = (step // width for step in steps)
        n, *inner = found[-1]
        if n == 1:
            found[-1] = (length, from_, to)
        elif [from_, to] == [n * step for step in inner]:
            found[-1] = (n * length, *inner)
        elif length > 1:
            found.append((length, from_, to))
    if found[0][0] < SHORT:  # any order of axes will do
        found.sort(reverse=True)
    return found


def short_sums(
    launch: Launch,
    codes: tuple[int, ...],
    stages: Sequence[tuple[int, int, int, int]],
) -> Launch:
    """The launch of a small sum, which offers its calls if it adds up a few rows.

    codes: of the pointwise kernels that begin with a row, and that add the next one.
    stages: as `reduce.steps_of` gives them.
    """
    pre, n, post, _ = stages[0]
    rows = len(stages) == pre == 1 and post > 1 and n <= FEW_ROWS
    return offers(launch, partial(_rows, codes, n, post)) if rows else launch


def _rows(codes: tuple[int, ...], n: int, post: int, x: Any, out: Any) -> list[Call]:
    start, step, *_ = codes
    here, there = addresses((x, out))
    found = [Call(start, (here, there), (1, 1), post)]
    for _ in range(1, n):
        here += post * x.itemsize
        found.append(Call(step, (there, here, there), (1, 1, 1), post))
    return found
