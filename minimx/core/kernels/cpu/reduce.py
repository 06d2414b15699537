"""Reductions: sums, products, extrema, norms, and the position of an extremum.

Every reduction is three formulas: how one element begins, how another joins, how two
partial results are put together. One driver serves them all by calling the pointwise
kernels of these formulas on whole rows; a row adds up in up to 1024 lanes side by side,
which are then folded in halves.

Long axes are cut into blocks that depend on shapes only, never on the number of
threads: results are the same to the bit on every machine size, and rounding errors grow
with the depth of the tree rather than with the number of elements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

import numpy as np

from minimx.core.dtypes import FLOAT32, NARROW, DType
from minimx.core.extensions import provided
from minimx.core.kernels import find, pointwise, threads
from minimx.core.kernels.cpu.widths import convert
from minimx.core.kernels.formula import Formula
from minimx.core.kernels.native import call, spill
from minimx.core.kernels.parts import dealt
from minimx.core.shapes import Shape

LANES = 1024  # elements of a row that are summed side by side
BLOCK_OF_ROW = 1 << 16  # elements of one row that a task reduces
BLOCK_OF_ROWS = 256  # rows that a task adds up
SHORT = 32  # elements of a row that is reduced side by side with others


@dataclass(frozen=True)
class Reduction:
    """The formulas of a reduction. x: an element; a, b: partial results."""

    start: str  # what the first element becomes
    step: str  # how an element joins a partial result
    join: str  # how two partial results are put together
    empty: float  # the answer where there is nothing to reduce
    finish: str = "x"  # what happens to the result; `count` is how many there were


REDUCTIONS: dict[str, Reduction] = {
    "sum": Reduction("x", "a + x", "a + b", 0),
    "mean": Reduction("x", "a + x", "a + b", 0, "div(x, count)"),
    "prod": Reduction("x", "a * x", "a * b", 1),
    "nansum": Reduction("where(x == x, x, 0)", "where(x == x, a + x, a)", "a + b", 0),
    "nanprod": Reduction("where(x == x, x, 1)", "where(x == x, a * x, a)", "a * b", 1),
    "max": Reduction("x", "maximum(a, x)", "maximum(a, b)", -np.inf),
    "min": Reduction("x", "minimum(a, x)", "minimum(a, b)", np.inf),
    "norm1": Reduction("abs(x)", "a + abs(x)", "a + b", 0),
    "norm2": Reduction("x * x", "a + x * x", "a + b", 0, "sqrt(x)"),
    "count_nonzero": Reduction("x != 0", "a + (x != 0)", "a + b", 0),
}


@threads.jit(inner=True)
def _reduce_rows(
    start: int, step: int, join: int, x: int, n: int, rows: int, lanes: int, out: int,
    item: int,
) -> None:  # fmt: skip
    """Reduce `rows` rows of `n` elements at `x`, through memory at `lanes`.

    A row of more than `SHORT` elements comes alone. The order in which elements are put
    together depends on `n` only.
    """
    one, two = spill((1, 1)), spill((1, 1, 1))
    width = min(n, LANES)
    if n == 1:
        lanes = out
    if n > SHORT:
        call(start, spill((x, lanes)), one, width)
    else:  # all rows side by side in each lane
        for lane in range(n):
            from_to = spill((x + lane * item, lanes + lane * rows * item))
            call(start, from_to, spill((n, 1)), rows)
    done = width
    while done < n:
        more = min(width, n - done)
        call(step, spill((lanes, x + done * item, lanes)), two, more)
        done += more
    while width > 1:
        half = (width + 1) // 2
        target = out if half == 1 else lanes
        ends = spill((lanes, lanes + half * rows * item, target))
        call(join, ends, two, (width - half) * rows)
        width = half


@threads.jit(parallel=True)
def stage(
    part: Any, start: int, step: int, join: int, x: int, out: int, item: int,
    pre: int, n: int, post: int, block: int,
) -> None:  # fmt: skip
    """Reduce the middle axis of (pre, n, post) to blocks: (pre, n / block, post).

    start, step, join: addresses of pointwise kernels; x, out: addresses of arrays of
    elements of `item` bytes.
    """
    blocks = (n + block - 1) // block
    tiles = (post + LANES - 1) // LANES
    lanes = np.empty(LANES * item, np.uint8)
    two = spill((1, 1, 1))
    many = LANES // n if post == 1 and n <= SHORT else 1  # rows of a task
    for task in dealt((pre * blocks + many - 1) // many * tiles, part):
        line, tile = task // tiles * many, task % tiles
        first = line % blocks * block
        rows = min(block, n - first)
        left = tile * LANES
        here = x + ((line // blocks * n + first) * post + left) * item
        target = out + (line * post + left) * item
        if post == 1:
            lane, count = np.intp(lanes.ctypes.data), min(many, pre * blocks - line)
            _reduce_rows(start, step, join, here, rows, count, lane, target, item)
        else:
            width = min(LANES, post - left)
            call(start, spill((here, target)), two, width)
            for _ in range(1, rows):
                here += post * item
                call(step, spill((target, here, target)), two, width)


# -- planning --------------------------------------------------------------------------


def steps_of(shape: Shape, axes: Shape) -> list[tuple[int, int, int, int]]:
    """The stages (pre, n, post, block) that reduce `axes`, the last axes first.

    >>> steps_of((8, 3, 5, 5), (0, 2, 3))
    [(24, 25, 1, 65536), (1, 8, 3, 256)]
    """
    groups: list[tuple[int, bool]] = []
    for axis, length in enumerate(shape):
        reduced = axis in axes
        if groups and (groups[-1][1] == reduced or length == 1):
            groups[-1] = (groups[-1][0] * length, groups[-1][1])
        else:
            groups.append((length, reduced))
    stages = []
    for place in reversed(range(len(groups))):
        n, reduced = groups[place]
        if not reduced:
            continue
        pre = prod(length for length, _ in groups[:place])
        post = prod(length for length, kept in groups[place + 1 :] if not kept)
        block = BLOCK_OF_ROW if post == 1 else BLOCK_OF_ROWS
        while n > block:
            stages.append((pre, n, post, block))
            n = -(-n // block)
        stages.append((pre, n, post, block))
    return stages or [(prod(shape), 1, 1, BLOCK_OF_ROW)]


def _code(text: str, names: tuple[str, ...], dtype: DType) -> int:
    first, ins = len(names) == 1, (dtype,) * len(names)
    return pointwise.address(Formula(text, names), ins, dtype, strided=first)


@cache
def _codes(kind: str, dtype: DType) -> tuple[tuple[int, int, int], ...]:
    """The kernels of the first stage and those of the later ones."""
    it = REDUCTIONS[kind]
    join = _code(it.join, ("a", "b"), dtype)
    first = _code(it.start, ("x",), dtype), _code(it.step, ("a", "x"), dtype), join
    return first, (_code("x", ("x",), dtype), join, join)


def reduction(
    kind: str, shape: Shape, axes: Shape, dtype: DType
) -> Callable[..., None]:
    """A callable (x, out) that reduces `axes` of arrays of this shape and dtype.

    kind: a row of `REDUCTIONS`, such as 'sum' or 'max'. out: the shape without the
    axes, or with axes of length 1 there. Sums are taken in an order that depends on the
    shape only, so they are the same on any number of threads.
    """
    if dtype in NARROW:
        return widened(kind, shape, axes, FLOAT32)
    it, size = REDUCTIONS[kind], prod(shape)
    if size == 0:
        return lambda x, out: out.fill(it.empty)
    stages = steps_of(shape, axes)
    first, later = _codes(kind, dtype)
    finish = _finish(it, shape, axes, dtype)
    tuning = provided("operator tuning")
    loop = tuning.Loop(it.step, first[1], (dtype, dtype), (dtype,), reduces=True)
    item, parts = dtype.itemsize, int(tuning.parts(size, loop, dtype))
    run = stage.beside if parts > 1 else stage.serial
    if size < pointwise.SMALL and parts == 1:
        run = stage.small

    def launch(x: Any, out: Any) -> None:
        here, codes = x, first
        for number, (pre, n, post, block) in enumerate(stages, 1):
            length = pre * -(-n // block) * post
            there = out if number == len(stages) else np.empty(length, dtype)
            run(*codes, here.ctypes.data, there.ctypes.data, item, pre, n, post, block)
            here, codes = there, later
        if finish is not None:
            finish(out, out)

    if run is stage.small and finish is None:  # so small that graphs may join it
        launch = find("short_copies.short_sums")(launch, first, stages)
    return launch


def _finish(it: Reduction, shape: Shape, axes: Shape, dtype: DType) -> Any:
    if it.finish == "x":
        return None
    flat = (prod(n for axis, n in enumerate(shape) if axis not in axes),)
    formula, counted = Formula(it.finish, ("x", "count")), prod(shape) // flat[0]
    inner = pointwise.kernel(formula, [flat], [dtype], flat, dtype, (counted,))
    return lambda x, out: inner(x.ravel(), out.ravel())


def widened(kind: str, shape: Shape, axes: Shape, wide: DType) -> Callable[..., None]:
    """Reduce in a wider element type and round once, at the end.

    kind: as for `reduction`; axes: those that vanish. For float16 and bfloat16,
    whose sums would stop growing.
    """
    inner = reduction(kind, shape, axes, wide)

    def launch(x: Any, out: Any) -> None:
        result = np.empty(out.shape, wide)
        inner(x.astype(wide), result)
        convert(result, out)

    return launch


# -- positions of extrema --------------------------------------------------------------


@threads.jit(parallel=True)
def _positions(part: Any, x: Any, out: Any, sign: int) -> None:
    """X (pre, n, post), out (pre, post): where the largest of the middle axis is.

    The first one wins, and NaN over numbers. sign -1 looks for the smallest.
    """
    pre, n, post = x.shape
    for p in dealt(pre, part):
        for q in range(post):
            best, place = x[p, 0, q], 0
            for i in range(1, n):
                value = x[p, i, q]
                better = value > best if sign > 0 else value < best
                if better or (value != value and best == best):
                    best, place = value, i
            out[p, q] = place


def arg_extremum(
    split: tuple[int, ...], dtype: DType, sign: int
) -> Callable[..., None]:
    """A callable (x, out): x is taken as (pre, n, post), n is searched.

    x and out are of one dtype.
    """
    pre, _, post = split
    run: Any = _positions.small if prod(split) < pointwise.SMALL else _positions

    def launch(x: Any, out: Any) -> None:
        wide = x.astype(np.float32) if dtype in NARROW else x
        places = out.reshape(pre, post) if dtype == FLOAT32 else np.empty((pre, post))
        run(wide.reshape(split), places, sign)
        if dtype != FLOAT32:
            np.copyto(out, places.reshape(out.shape), casting="unsafe")

    return launch
