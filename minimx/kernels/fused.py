"""One loop for several pointwise operators: read once, compute all, write once.

    text = write(loop)                  the file that numba compiles
    launch = launcher(loop, ...)        a callable (*ins, *outs)

The line of an operator in the loop is the formula of its own kernel, rounded to its own
type: what a fused loop gives is equal to the bit to what its operators give one after
the other. Where a row of an operand is not walked element by element, the text says so;
shapes are not in it, so that one compiled loop serves all of them.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from minimx.dtypes import NARROW, DType
from minimx.kernels import pointwise, threads
from minimx.kernels.formula import Formula
from minimx.kernels.half import computing
from minimx.knobs import knobs
from minimx.shapes import Shape

Launch = Callable[..., None]

# -- how an operand is walked ----------------------------------------------------------


class Walk(NamedTuple):
    """How a loop over all elements moves through an operand.

    runs: (length, step) for each axis along which it moves evenly, innermost first; a
    step counts elements. offset: the element at which it starts.
    """

    runs: tuple[tuple[int, int], ...]
    offset: int = 0

    @property
    def cuts(self) -> tuple[int, ...]:
        """After how many elements a run is over, for all but the last."""
        lengths = [length for length, _ in self.runs]
        return tuple(prod(lengths[:k]) for k in range(1, len(lengths)))


def walk(shape: Shape, steps: Sequence[int], offset: int = 0) -> Walk:
    """The walk over an array of this shape whose axes have these steps.

    >>> walk((2, 3, 4), (12, 4, 1))
    Walk(runs=((24, 1),), offset=0)
    >>> walk((2, 3, 4), (0, 4, 1)).runs
    ((12, 1), (2, 0))
    """
    runs: list[tuple[int, int]] = []
    for length, step in zip(reversed(shape), reversed(steps), strict=True):
        if length == 1:
            continue
        if runs and step == runs[-1][0] * runs[-1][1]:
            runs[-1] = (runs[-1][0] * length, runs[-1][1])
        else:
            runs.append((length, step))
    return Walk(tuple(runs) or ((1, 1),), offset)


def stretched(shape: Shape, out: Shape) -> Walk:
    """The walk over an array that is stretched to the shape of the output."""
    return walk(out, pointwise.steps_of(shape, len(out)))


def together(walks: Sequence[Walk]) -> tuple[int, ...] | None:
    """The cuts of all walks, smallest first; None if no grid of rows has them all.

    >>> together([stretched((4,), (6, 4)), stretched((3, 1), (3, 8))])
    (4, 8)
    >>> together([stretched((6,), (4, 6)), stretched((3, 1), (3, 8))]) is None
    True
    """
    cuts = sorted({cut for each in walks for cut in each.cuts})
    whole = all(
        large % small == 0 for small, large in zip(cuts, cuts[1:], strict=False)
    )
    return tuple(cuts) if whole else None


def _along(runs: tuple[tuple[int, int], ...], start: int) -> int:
    """The step of a walk on the axis that begins after `start` elements."""
    before = 1
    for length, step in runs:
        if start < before * length:
            return step * (start // before)
        before *= length
    return 0  # an axis of length 1


def row_step(each: Walk) -> int:
    """How many elements a walk advances along a row."""
    return each.runs[0][1]


# -- the loop --------------------------------------------------------------------------


class Operand(NamedTuple):
    """What a loop reads: its name in the text, its type, its step along a row.

    step: 1, 0, or None for any other. number: one number in every launch, a setting.
    """

    name: str
    dtype: DType
    step: int | None
    number: bool = False


class Line(NamedTuple):
    """One operator of a loop: name = formula(sources), rounded to a type.

    ins: the types of the sources; title: what the operator is called.
    """

    name: str
    formula: Formula
    sources: tuple[str, ...]
    ins: tuple[DType, ...]
    out: DType
    title: str


class Loop(NamedTuple):
    """Everything that the text of a loop depends on."""

    operands: tuple[Operand, ...]
    lines: tuple[Line, ...]
    outs: tuple[tuple[str, DType], ...]

    @property
    def title(self) -> str:
        """The operators, in order."""
        return ", ".join(line.title for line in self.lines)


_HEAD = '''"""One loop for {title}.

({ins}) -> {outs}; made by minimx.kernels.fused.
"""

from numba import cfunc, {types}

{imports}


@cfunc(KERNEL, cache=True, error_model="numpy")
def kernel(args, steps, n):
'''


def write(loop: Loop) -> str:
    """The file that numba compiles."""
    pointers: list[str] = []
    before: list[str] = []
    inside: list[str] = []
    for k, (name, dtype, step, _) in enumerate(loop.operands):
        pointers.append(f"    {name}_ = operand(args, {k}, {_memory(dtype)})")
        place = {1: "i", 0: "0"}.get(step, f"i * steps[{k}]")  # type: ignore[arg-type]
        read = _converted("from", dtype, f"load({name}_, {place})")
        (before if step == 0 else inside).append(f"{name} = {read}")
    first = len(loop.operands)
    for k, (_, dtype) in enumerate(loop.outs):
        pointers.append(f"    y{k}_ = operand(args, {first + k}, {_memory(dtype)})")
    inside += [f"{_spelled(line)}  # {line.title}" for line in loop.lines]
    for k, (name, dtype) in enumerate(loop.outs):
        inside.append(f"store(y{k}_, i, {_converted('to', dtype, name)})")
    body = [*pointers, *(f"    {line}" for line in before), "    for i in range(n):"]
    body += [f"        {line}" for line in inside]
    return _head(loop, "\n".join(body)) + "\n".join(body) + "\n"


def _spelled(line: Line) -> str:
    names = dict(zip(line.formula.operands, line.sources, strict=True))
    ins = [computing(dtype) for dtype in line.ins]
    text = pointwise.expression(line.formula, ins or [computing(line.out)], names)
    text = f"{pointwise.word(computing(line.out))}({text})"
    return f"{line.name} = {_converted('round', line.out, text)}"


def _memory(dtype: DType) -> str:
    """The type of the elements in memory, as numba calls it."""
    return "uint16" if dtype in NARROW else pointwise.word(dtype)


def _converted(how: str, dtype: DType, text: str) -> str:
    return f"{how}_{dtype.name}({text})" if dtype in NARROW else text


def _head(loop: Loop, body: str) -> str:
    dtypes = {operand.dtype for operand in loop.operands}
    dtypes |= {dtype for _, dtype in loop.outs}
    dtypes |= {dtype for line in loop.lines for dtype in (*line.ins, line.out)}
    words = {_memory(dtype) for dtype in dtypes}
    words |= {pointwise.word(computing(dtype)) for dtype in dtypes}
    words |= {word for word in ("float32", "float64", "intp") if f"{word}(" in body}
    functions = {name for line in loop.lines for name in pointwise.called(line.formula)}
    halves = [f"{how}_{d.name}" for d in NARROW for how in ("from", "to", "round")]
    imports = [
        ("halfwords", sorted(name for name in halves if f"{name}(" in body)),
        ("mathematics", sorted(functions)),
        ("native", ["KERNEL", "load", "operand", "store"]),
    ]
    return _HEAD.format(
        title=loop.title,
        ins=", ".join(operand.dtype.name for operand in loop.operands),
        outs=", ".join(dtype.name for _, dtype in loop.outs),
        types=", ".join(sorted(words)),
        imports="\n".join(
            f"from minimx.kernels.{room} import {', '.join(names)}"
            for room, names in imports
            if names
        ),
    )


@cache
def address(text: str) -> int:
    """Where the machine code of a loop starts; compiled if no program has done so."""
    from minimx.kernels import halfwords

    more = [halfwords] if "kernels.halfwords" in text else []
    return int(pointwise.make(text, *more).kernel.address)


# -- launching -------------------------------------------------------------------------


def launcher(
    loop: Loop, walks: Sequence[Walk], sources: Sequence[int | float], size: int
) -> Launch:
    """A callable `(*ins, *outs)` that runs a loop over `size` elements.

    walks, sources: for each operand how it is walked, and which of the inputs it is; of
    an operand that is a number, that number. Compiles at the first call.
    """
    grid = _grid(loop, walks, size)
    fixed: list[Any] = []
    slots: list[tuple[int, int]] = []  # for each operand: the input, a first byte
    for operand, each, source in zip(loop.operands, walks, sources, strict=True):
        if operand.number:
            fixed.append(np.array([source]).astype(operand.dtype))
        else:
            slots.append((int(source), each.offset * operand.dtype.itemsize))
    tail = [single.ctypes.data for single in fixed]
    outs = len(loop.outs)
    ready = _Ready(loop)

    def launch(*arrays: Any) -> None:
        code = ready.code or ready.compiled()
        places = [array.ctypes.data for array in arrays]
        args = [places[k] + first for k, first in slots]
        parts = threads.parts(size)
        run = _runner(size, parts)
        run(code, np.array([*args, *tail, *places[-outs:]]), grid, parts)

    launch.keep = fixed  # type: ignore[attr-defined]
    return launch


def _runner(size: int, parts: int) -> Any:
    from minimx.kernels import native

    if parts > 1:
        return native.rows.threaded
    return native.rows.small if size < pointwise.SMALL else native.rows.serial


def _grid(loop: Loop, walks: Sequence[Walk], size: int) -> Any:
    """How to walk through all operands at once; the layout is that of `native.rows`."""
    cuts = together(walks)
    assert cuts is not None, "operands without a common grid are not fused"
    bounds = [1, *cuts, size]
    outs = [Walk(((size, 1),))] * len(loop.outs)
    everything = [*walks, *outs]
    sizes = [_bytes(o.dtype) for o in loop.operands] + [_bytes(d) for _, d in loop.outs]
    grid = np.zeros((len(bounds), len(everything) + 1), np.intp)
    grid[0, 1:] = [row_step(each) for each in everything]
    for axis, start in enumerate(bounds[:-1], start=1):
        grid[axis, 0] = bounds[axis] // start
        steps = [_along(each.runs, start) for each in everything]
        grid[axis, 1:] = np.array(steps) * sizes
    return grid


def _bytes(dtype: DType) -> int:
    return int(dtype.itemsize)


# -- compiling, and telling about it ---------------------------------------------------

#: From so many kernels on, a program probably meets ever new ones.
MANY = 10_000

_telling = threading.Lock()
_texts: set[str] = set()


class _Ready:
    """The machine code of a loop, once it was asked for."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.code = 0

    def compiled(self) -> int:
        """Compile now, or find what was compiled before."""
        text = write(self.loop)
        start = time.perf_counter()
        code = address(text)
        took = time.perf_counter() - start
        with _telling:
            if not self.code:
                self.code = code
                _tell(text, took)
        return code


def _tell(text: str, took: float) -> None:
    """What MXNET_FUSION_VERBOSE, MXNET_RTC_VERBOSE and MXNET_RTC_SIZE_WARNING ask."""
    verbose = knobs.get("MXNET_RTC_VERBOSE")
    if verbose or knobs.get("MXNET_FUSION_VERBOSE"):
        print(text)
    if verbose:
        print(f"compiled in {took * 1e3:.1f} ms")
    before = len(_texts)
    _texts.add(text)
    if before < MANY <= len(_texts) and knobs.get("MXNET_RTC_SIZE_WARNING"):
        warnings.warn(
            f"{MANY} kernels have been generated. Each combination of operators, types "
            "and layouts needs one of its own; keep to fewer of them, or set "
            "MXNET_USE_FUSION=0. MXNET_RTC_SIZE_WARNING=0 silences this.",
            stacklevel=2,
        )
