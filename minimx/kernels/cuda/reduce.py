"""Reductions on CUDA, from the formulas of `kernels.cpu.reduce`.

Every element of the answer belongs to a team of threads: one thread where little is
reduced, a block where it is much. The threads of a block take every WIDTH-th element,
then fold their results in halves through shared memory: in one order, whatever the
device, so the answer is the same to the bit in every run.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any

import numpy as np

from minimx.drivers.cuda import current_stream
from minimx.dtypes import DType
from minimx.kernels import pointwise as common
from minimx.kernels.cpu.reduce import REDUCTIONS
from minimx.kernels.cuda import launching, mathematics
from minimx.kernels.cuda.launching import cuda
from minimx.kernels.cuda.pointwise import imported, known
from minimx.kernels.formula import Formula
from minimx.kernels.half import computing
from minimx.shapes import Shape

#: From how many elements on a block shares the work, and its threads (a power of 2).
MUCH, WIDTH = (1 << 10, 2) if launching.PLAYING else (64, 256)

_FILE = '''"""{kind} of {dtype}; made by minimx.kernels.cuda.reduce."""

from numba import cuda
from numpy import float32, float64, {words}

from minimx.kernels.cuda.mathematics import {functions}


@cuda.jit
def alone(x_, out_, n, count, steps):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
{start}
        x = {wide}(x_[at])
        a = {wide}({first})
        for r in range(1, count):
{along}
            x = {wide}(x_[here])
            a = {wide}({step})
        x = a
        out_[i] = {out}({finish})


@cuda.jit
def together(x_, out_, n, count, steps):
    part = cuda.shared.array({width}, {wide})
    t = cuda.threadIdx.x
    for i in range(cuda.blockIdx.x, n, cuda.gridDim.x):
{start}
        r = t
{along_once}
        x = {wide}(x_[here])
        a = {wide}({first})
        for r in range(t + {width}, count, {width}):
{along}
            x = {wide}(x_[here])
            a = {wide}({step})
        part[t] = a
        cuda.syncthreads()
        half = {width} // 2
        while half > 0:
            if t < half:
                a, b = part[t], part[t + half]
                part[t] = {wide}({join})
            cuda.syncthreads()
            half //= 2
        if t == 0:
            x = part[0]
            out_[i] = {out}({finish})
        cuda.syncthreads()
'''


def _walked(number: str, place: str, base: str, axes: int, first: int) -> list[str]:
    """Lines that turn a number into a place, the innermost axis first."""
    lines = [f"{place} = {base}"] + ([f"rest = {number}"] if axes else [])
    for axis in range(axes):
        here = first + 2 * axis
        if axis == axes - 1:
            lines.append(f"{place} += rest * steps[{here + 1}]")
        else:
            lines.append(f"{place} += rest % steps[{here}] * steps[{here + 1}]")
            lines.append(f"rest //= steps[{here}]")
    return lines


@cache
def _compiled(kind: str, dtype: DType, kept: int, reduced: int) -> Any:
    """The module of the two kernels for so many axes that stay and that go."""
    it, wide = REDUCTIONS[kind], computing(dtype)
    formulas = {
        "first": Formula(it.start, ("x",)),
        "step": Formula(it.step, ("a", "x")),
        "join": Formula(it.join, ("a", "b")),
        "finish": Formula(it.finish, ("x", "count")),
    }
    names = {name: name for name in ("a", "b", "x", "count")}
    texts = {
        key: common.expression(formula, [wide] * len(formula.operands), names)
        for key, formula in formulas.items()
    }
    called = {name for formula in formulas.values() for name in common.called(formula)}
    start = _walked("i", "at", "0", kept, 0)
    along = _walked("r", "here", "at", reduced, 2 * kept)

    def indented(lines: list[str], depth: int) -> str:
        return "\n".join(" " * depth + line for line in lines)

    text = _FILE.format(
        kind=kind, dtype=dtype.name, words=f"{common.word(wide)}, {common.word(dtype)}",
        functions=imported(sorted(called), [wide]), width=WIDTH,
        wide=common.word(wide), out=common.word(dtype), start=indented(start, 8),
        along=indented(along, 12), along_once=indented(along, 8), **texts,
    )  # fmt: skip
    return common.make(text, mathematics, launching)


def reduction(
    kind: str, shape: Shape, axes: Shape, dtype: DType
) -> Callable[..., None] | None:
    """A callable (x, out) that reduces `axes` of arrays of this shape and dtype.

    None where the formulas are not known on CUDA for this type.
    """
    it = REDUCTIONS[kind]
    texts = (it.start, it.step, it.join, it.finish)
    whole = Formula(" + ".join(f"({text})" for text in texts), ("x", "a", "b", "count"))
    if not prod(shape) or dtype.kind == "b" or not known(whole, [dtype]):
        return None
    kept, gone = _axes(shape, axes)
    module = _compiled(kind, dtype, len(kept), len(gone))
    count, n = prod(length for length, _ in gone), prod(length for length, _ in kept)
    steps = tuple(number for pair in (*kept, *gone) for number in pair) or (0,)

    def launch(x: Any, out: Any) -> None:
        arrays = x.reshape(-1), out.reshape(-1)
        if count >= MUCH:
            blocks = min(n, launching.MOST_BLOCKS)
            module.together[blocks, WIDTH, current_stream()](*arrays, n, count, steps)
        else:
            launching.run(module.alone, n, *arrays, n, count, steps)

    return launch


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
def _places(x: Any, out: Any, n: int, length: int, inner: int, sign: int) -> None:
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

    def launch(x: Any, out: Any) -> None:
        n = pre * post
        launching.run(_places, n, x.reshape(-1), out.reshape(-1), n, length, post, sign)

    return launch
