"""One CUDA kernel for several pointwise operators: the loop of `kernels.fused_text`.

Its lines are those of the CPU's loop, so each operator rounds where it would alone. A
GPU has registers enough, so there are no pieces: a thread takes an element through all
lines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from minimx.core.dtypes import NARROW
from minimx.core.kernels import codegen
from minimx.core.kernels.half import computing
from minimx.cuda.kernels import launching, mathematics
from minimx.cuda.kernels.pointwise import (
    address_lines,
    imported,
    known,
    loaded,
    over_elements,
    stored,
    together,
    types,
)
from minimx.fast.fusion.loop_text import Loop
from minimx.fast.fusion.strides import Strides, straight

Launch = Callable[..., None]
_REALS = frozenset(("float32", "float64"))
_ROUNDED = frozenset(f"rounded_{word}" for word in _REALS)

_HEAD = '''"""One CUDA kernel for {title}; made by minimx.cuda.kernels.fused."""

from numba import cuda
from numpy import {types}

from minimx.cuda.kernels.mathematics import {functions}


@cuda.jit
def kernel({arguments}):
'''


def launcher(
    loop: Loop, strides: Sequence[Strides], sources: Sequence[int | float], size: int
) -> Launch | None:
    """A callable `(*ins, *outs)`; what its arguments are stands in `kernels.fused`.

    None for loops of functions that CUDA has not.
    """
    lines = [known(line.formula, line.ins or (line.out,)) for line in loop.lines]
    kinds = [
        np.result_type(*map(computing, line.ins or (line.out,))).kind
        for line in loop.lines
    ]
    mixed = len({kind in "iub" for kind in kinds}) > 1
    if mixed or not all(lines):
        return None
    plain = tuple(each == straight(size) for each in strides)
    axes = tuple(len(each.runs) for each in strides)
    steps: list[int] = []
    for operand, each, even in zip(loop.operands, strides, plain, strict=True):
        if not operand.number and not even:
            steps.append(each.offset)
            steps += [number for run in each.runs for number in run]
    numbers, places = [], []
    for operand, source in zip(loop.operands, sources, strict=True):
        if operand.number:
            number = np.array(source).astype(operand.dtype)
            numbers.append(number.astype(computing(operand.dtype))[()])
        else:
            places.append(int(source))
    ready: list[Any] = []

    def launch(*arrays: Any) -> None:
        if not ready:
            ready.append(_compiled(loop, plain, axes))
        flat = [array.reshape(-1) for array in arrays]
        operands = [*[flat[k] for k in places], *flat[-len(loop.outs) :]]
        path = tuple(steps) or (0,)
        launching.run(ready[0], size, *operands, size, path, *numbers)

    return launch


@cache
def _compiled(loop: Loop, plain: tuple[bool, ...], axes: tuple[int, ...]) -> Any:
    text = write(loop, plain, axes)
    return codegen.import_generated(text, mathematics, launching).kernel


def write(loop: Loop, plain: Sequence[bool], axes: Sequence[int]) -> str:
    """The file that numba compiles.

    plain: for each operand, whether it moves with the output; axes: along how many axes
    it is walked otherwise.
    """
    arrays = [o.name for o in loop.operands if not o.number]
    numbers = [o.name for o in loop.operands if o.number]
    outs = [f"y{k}" for k in range(len(loop.outs))]
    dtypes = [o.dtype for o in loop.operands] + [line.out for line in loop.lines]
    dtypes += [dtype for _, dtype in loop.outs]
    called = {f for line in loop.lines for f in codegen.functions_of(line.formula)}
    called |= {f"rounded_{line.out.name}" for line in loop.lines} & _ROUNDED
    ins = [d for line in loop.lines for d in (line.ins or (line.out,))] or dtypes
    wide = [computing(dtype) for dtype in ins]
    arguments = [*(f"{name}_" for name in (*arrays, *outs)), "n", "steps", *numbers]
    head = _HEAD.format(
        title=loop.title,
        types=types([*dtypes, *wide]),
        functions=imported(sorted(called), wide, dtypes),
        arguments=", ".join(arguments),
    )
    places: list[str] = []
    loads, base = {}, 0
    for operand, even, count in zip(loop.operands, plain, axes, strict=True):
        if operand.number:
            continue
        name, at = operand.name, "i"
        if not even:
            at = f"{name}_at"
            places += address_lines(at, "i", f"steps[{base}]", count, base + 1)
            base += 1 + 2 * count
        found = loaded(f"{name}_[{at}]", operand.dtype)
        loads[name] = found, computing(operand.dtype)
    body = []
    for line in loop.lines:
        names = dict(zip(line.formula.operands, line.sources, strict=True))
        read = [computing(dtype) for dtype in line.ins or [line.out]]
        text = stored(codegen.expression(line.formula, read, names), line.out)
        if line.out.name in _REALS:
            text = f"rounded_{line.out.name}({text})"
        body.append(f"{line.name} = {loaded(text, line.out)}  # {line.title}")
    body += [
        f"{y}_[i] = {stored(name, dtype) if dtype in NARROW else name}"
        for y, (name, dtype) in zip(outs, loop.outs, strict=True)
    ]
    if places:
        return head + over_elements(places, loads, body)
    return head + together(loads, body)
