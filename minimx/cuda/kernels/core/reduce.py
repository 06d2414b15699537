"""Reductions on CUDA, from the formulas of `kernels.cpu.reduce`.

Every element of the answer belongs to a thread, or where much is reduced to a block of
threads: they take every WIDTH-th element, FETCHED of which are on their way from memory
at a time, then fold their results in halves through shared memory. Where there are too
few elements in the answer to keep a device busy, each is cut into parts that blocks of
their own reduce; a second kernel joins the parts.

How much is cut, and the order of every fold, depend on shapes only: the answer is the
same to the bit in every run, on every device.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any

import numpy as np

from minimx.core.dtypes import DType
from minimx.core.kernels import codegen
from minimx.core.kernels.cpu.reduce import REDUCTIONS, Reduction
from minimx.core.kernels.formula import Formula
from minimx.core.kernels.half import computing
from minimx.core.shapes import Shape
from minimx.cuda.kernels import launching, mathematics, packed, scratch
from minimx.cuda.kernels.default_launch import runs, wide
from minimx.cuda.kernels.launching import cuda
from minimx.cuda.kernels.pointwise import (
    address_lines,
    filler,
    imported,
    known,
    loaded,
    stored,
    types,
)

#: From how many elements on a block shares the work, and its threads (a power of 2).
MUCH, WIDTH = (1 << 10, 2) if launching.SIMULATED else (64, 256)
#: Elements that a thread asks memory for before it needs the first.
FETCHED = 8
#: A part has at least so many elements for a block, or for a thread of its own.
LEAST_OF_BLOCK, LEAST_OF_THREAD = 1 << 14, 32
#: So many blocks, or threads, are enough for every device; and parts of one element.
BLOCKS, WORKERS, MOST_PARTS = 1 << 10, 1 << 16, 1 << 10

_FILE = '''"""{title}; made by minimx.cuda.kernels.core.reduce."""

from numba import cuda
from numpy import {types}

from minimx.cuda.kernels.mathematics import {functions}


@cuda.jit
def alone(x_, out_, n, count, parts, chunk, whole, steps):
    some = cuda.local.array({fetched}, {wide})
    for work in range(cuda.grid(1), n * parts, cuda.gridsize(1)):
        i, begin = work % n, work // n * chunk
        end = min(begin + chunk, count)
{start}
        r = begin
{along_once}
        x = {x}
        a = {wide}({first})
        for ahead in range(begin + 1, end, {fetched}):
            for k in range({fetched}):
                r = ahead + k
                if r < end:
{along}
                    some[k] = {x}
            for k in range({fetched}):
                if ahead + k < end:
                    x = some[k]
                    a = {wide}({step})
        x = a
        out_[work] = {finish}


@cuda.jit
def together(x_, out_, n, count, parts, chunk, whole, steps):
    part = cuda.shared.array({width}, {wide})
    some = cuda.local.array({fetched}, {wide})
    t = cuda.threadIdx.x
    for work in range(cuda.blockIdx.x, n * parts, cuda.gridDim.x):
        i, begin = work % n, work // n * chunk
        end = min(begin + chunk, count)
        used = min(end - begin, {width})
{start}
        if t < used:
            r = begin + t
{along_first}
            x = {x}
            a = {wide}({first})
            for ahead in range(begin + t + {width}, end, {width} * {fetched}):
                for k in range({fetched}):
                    r = ahead + k * {width}
                    if r < end:
{along_deep}
                        some[k] = {x}
                for k in range({fetched}):
                    if ahead + k * {width} < end:
                        x = some[k]
                        a = {wide}({step})
            part[t] = a
        cuda.syncthreads()
        half = {width} // 2
        while half > 0:
            if t < half and t + half < used:
                a, b = part[t], part[t + half]
                part[t] = {wide}({join})
            cuda.syncthreads()
            half //= 2
        if t == 0:
            x = part[0]
            out_[work] = {finish}
        cuda.syncthreads()
'''


@cache
def _compiled(it: Reduction, dtype: DType, out: DType, kept: int, reduced: int) -> Any:
    """The module of the two kernels for so many axes that stay and that go."""
    real = computing(dtype)
    formulas = {
        "first": Formula(it.start, ("x",)),
        "step": Formula(it.step, ("a", "x")),
        "join": Formula(it.join, ("a", "b")),
        "finish": Formula(it.finish, ("x", "count")),
    }
    names = {"a": "a", "b": "b", "x": "x", "count": "whole"}
    texts = {
        key: codegen.expression(formula, [real] * len(formula.operands), names)
        for key, formula in formulas.items()
    }
    texts["finish"] = stored(texts["finish"], out)
    called = {name for f in formulas.values() for name in codegen.functions_of(f)}
    start = address_lines("at", "i", "0", kept, 0)
    along = address_lines("here", "r", "at", reduced, 2 * kept)

    def indented(lines: list[str], depth: int) -> str:
        return "\n".join(" " * depth + line for line in lines)

    text = _FILE.format(
        title=f"{it.step}, {dtype.name} to {out.name}", types=types((dtype, real, out)),
        functions=imported(sorted(called), [real], (dtype, out)), width=WIDTH,
        wide=codegen.numba_type(real), x=loaded("x_[here]", dtype),
        start=indented(start, 8), along_once=indented(along, 8),
        along=indented(along, 20), fetched=FETCHED,
        along_first=indented(along, 12), along_deep=indented(along, 24), **texts,
    )  # fmt: skip
    return codegen.import_generated(text, mathematics, launching)


def divided(n: int, count: int, side: bool) -> tuple[bool, int]:
    """Whether blocks do the work rather than threads, and in how many parts.

    n: elements of the answer, each of `count`. side: neighbours in the answer are
    neighbours in the data, so that threads side by side read side by side.

    >>> divided(n=1, count=1 << 24, side=False)
    (True, 1024)
    >>> divided(n=1000, count=256, side=True)
    (False, 8)
    """
    if count < MUCH:
        return False, 1
    by_block = not side or n < LEAST_OF_THREAD
    enough, least = (BLOCKS, LEAST_OF_BLOCK) if by_block else (WORKERS, LEAST_OF_THREAD)
    parts = max(1, min(-(-enough // n), count // least, MOST_PARTS))
    return by_block, -(-count // -(-count // parts))  # without an empty one


def reduction(
    kind: str | Reduction, shape: Shape, axes: Shape, dtype: DType,
    out: DType | None = None,
) -> Callable[..., None] | None:  # fmt: skip
    """A callable (x, out) that reduces `axes` of arrays of this shape and dtype.

    kind: the name of a reduction of the CPU's, or formulas of its own. out: the type of
    the answer, if it is another one. None where the formulas are not known on CUDA for
    this type.
    """
    it = REDUCTIONS[kind] if isinstance(kind, str) else kind
    texts = (it.start, it.step, it.join, it.finish)
    whole = Formula(" + ".join(f"({text})" for text in texts), ("x", "a", "b", "count"))
    if not prod(shape) or dtype.kind == "b" or not known(whole, [dtype]):
        return None
    kept, gone = _axes(shape, axes)
    count, n = prod(length for length, _ in gone), prod(length for length, _ in kept)
    side = bool(kept) and kept[0][1] == 1
    by_block, parts = divided(n, count, side)
    steps = tuple(number for pair in (*kept, *gone) for number in pair) or (0,)
    real, sizes = computing(dtype), (len(kept), len(gone))
    answer = dtype if out is None else out
    if parts == 1:
        module = _compiled(it, dtype, answer, *sizes)
        return lambda x, y: _launch(module, by_block, x, y, n, count, 1, count, steps)
    partial = Reduction(it.start, it.step, it.join, it.empty)
    first = _compiled(partial, dtype, real, *sizes)
    step = it.join.replace("b", "x")
    joins = Reduction("x", step, it.join, it.empty, it.finish)
    second, path = _compiled(joins, real, answer, 1, 1), (n, 1, parts, n)

    def launch(x: Any, y: Any) -> None:
        with scratch.allocated((n * parts, real)) as (partials,):
            _launch(first, by_block, x, partials, n, count, parts, count, steps)
            _launch(second, n < WORKERS, partials, y, n, parts, 1, count, path)

    return launch


def _launch(
    module: Any, by_block: bool, x: Any, out: Any, n: int, count: int, parts: int,
    whole: int, steps: tuple[int, ...],
) -> None:  # fmt: skip
    """One of the two kernels; count: elements to reduce, whole: as the answer says."""
    numbers = n, count, parts, -(-count // parts), whole, steps
    if by_block:
        blocks = min(n * parts, launching.MOST_BLOCKS)
        packed.launch(module.together, blocks, WIDTH, x, out, *numbers)
    else:
        launching.run(module.alone, n * parts, x, out, *numbers)


def _axes(shape: Shape, axes: Shape) -> tuple[list[Any], list[Any]]:
    """(length, step) of the axes that stay, and of those that go, innermost first."""
    kept: list[tuple[int, int]] = []
    gone: list[tuple[int, int]] = []
    step = 1
    for axis in reversed(range(len(shape))):
        length = shape[axis]
        group = gone if axis in axes else kept
        if group and group[-1][0] * group[-1][1] == step:
            group[-1] = group[-1][0] * length, group[-1][1]
        elif length != 1:
            group.append((length, step))
        step *= length
    return kept, gone


@launching.kernel
def _extremes(x: Any, out: Any, n: int, length: int, inner: int, sign: int) -> None:
    last = length * inner
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        from_ = i // inner * last + i % inner
        best, place = x[from_], 0
        for k in range(1, length):
            value = x[from_ + k * inner]
            better = value > best if sign > 0 else value < best
            if better or (value != value and best == best):
                best, place = value, k
        out[i] = place


def arg_extremum(
    split: tuple[int, ...], dtype: DType, sign: int
) -> Callable[..., None] | None:
    """A callable (x, out): x is taken as (pre, n, post), n is searched."""
    if np.dtype(dtype).isbuiltin != 1:
        return None
    pre, length, post = split
    settings = length, post, sign

    return lambda x, out: launching.over(_extremes, pre * post, (x, out), *settings)


@launching.kernel
def _traced(
    x: Any, out: Any, n: int, start: int, length: int, step: int, strides: Any,
    zero: Any,
) -> None:  # fmt: skip
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        at, rest, total = start, i, zero
        for k in range(0, len(strides), 2):
            at += rest % strides[k] * strides[k + 1]
            rest //= strides[k]
        for k in range(length):
            total += x[at + k * step]
        out[i] = total


def traced(
    shape: Shape, offset: int, axes: tuple[int, int], real: DType
) -> Callable[..., None]:
    """A callable (x, out): sums over the diagonals of two axes, in the type `real`."""
    steps = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    one, two = axes
    down, right = max(0, -offset), max(0, offset)
    length = max(0, min(shape[one] - down, shape[two] - right))
    line = down * steps[one] + right * steps[two], length, steps[one] + steps[two]
    kept = [axis for axis in reversed(range(len(shape))) if axis not in axes]
    strides = tuple(number for axis in kept for number in (shape[axis], steps[axis]))

    settings = *line, strides or (1, 0), real.type(0)
    return lambda x, out: launching.over(_traced, out.size, (x, out), *settings)


@launching.kernel
def _apart(
    a: Any, b: Any, out: Any, n: int, rtol: float, atol: float, equal_nan: bool
) -> None:
    """Write a 0 for two that are not close: all of them write the same."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        x, y = float(a[i]), float(b[i])
        close = x == y or (equal_nan and x != x and y != y)
        finite = mathematics.isfinite(x) and mathematics.isfinite(y)
        if finite and abs(x - y) <= atol + rtol * abs(y):
            close = True
        if not close:
            out[0] = 0


@runs("_contrib_allclose", types=wide)
def close(a: Any, b: Any, rtol: float, atol: float, equal_nan: bool, out: Any) -> None:
    """Fill out with 1 if no two elements are far from each other, else with 0."""
    filler(np.uint8(1))(out)
    settings = float(rtol), float(atol), bool(equal_nan)
    launching.over(_apart, a.size, (a, b, out), *settings)
