"""Kernels made from formulas, for CUDA: the same text as `kernels.pointwise` reads.

    kernel(formula, shapes, dtypes, out_shape, out_dtype)   a callable (*ins, out)
    broadcast(formula, specs, out), elementwise(…)          the same in fewer words
    over_strides(formula, ...)                              the same over any strides

A formula becomes a file with one CUDA kernel: thread by thread an output element, found
by its number; where operands have other shapes, the number is taken apart into an index
along every axis. Where all move together a thread fetches FETCHED elements of each
before it computes: memory answers late, and the more that is asked for, the less it
matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np

from minimx.core.dtypes import FLOAT16, NARROW, DType
from minimx.core.kernels import codegen
from minimx.core.kernels.formula import Formula
from minimx.core.kernels.half import computing
from minimx.core.kernels.pointwise import collapse
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Shape
from minimx.cuda.kernels import launching, mathematics
from minimx.cuda.kernels.launching import cuda

Launch = Callable[..., None]

#: Elements of each operand that a thread asks memory for at a time.
FETCHED = 4

#: The identity: copies, casts, and all that only moves elements.
SAME = Formula("x", ("x",))

_HEAD = '''"""{text}

{signature}; made by minimx.cuda.kernels.pointwise.
"""

from numba import cuda
from numpy import {types}

from minimx.cuda.kernels.mathematics import {functions}


@cuda.jit
def kernel({arguments}):
'''


def known(formula: Formula, dtypes: Sequence[DType]) -> bool:
    """Whether there is a kernel for a formula on these types."""
    dtypes = [computing(dtype) for dtype in dtypes]
    whole = np.result_type(*dtypes).kind in "iub"
    return not (whole and ("power(" in formula.text or "**" in formula.text))


def write(
    formula: Formula, ins: Sequence[DType], out: DType, layout: str, axes: int = 0
) -> str:
    """The file that numba compiles.

    layout: for each operand 1 if it moves with the output, 0 if it is one element, ? if
    it moves by strides along `axes` axes; for the output as well.
    """
    letters = dict(zip(formula.operands, "abcdefgh", strict=False))
    names, numbers = [*letters.values()][: len(ins)], [*letters.values()][len(ins) :]
    wide = [computing(dtype) for dtype in ins]
    body = codegen.expression(formula, wide, letters)
    head = _HEAD.format(
        text=codegen._Translator("", None, letters).value(formula.tree.body),
        signature=f"({', '.join(d.name for d in ins)}) -> {out.name}",
        types=types((*ins, *wide, out)),
        functions=imported(codegen.functions_of(formula), wide, (*ins, out)),
        arguments=", ".join(
            [*(f"{name}_" for name in names), "out_", "n", "steps", *numbers]
        ),
    )
    places = _places([*names, "out"], layout, axes)
    loads = {
        name: (loaded(f"{name}_[{_index(name, how)}]", dtype), computing(dtype))
        for name, dtype, how in zip(names, ins, layout, strict=False)
    }
    last = f"out_[{_index('out', layout[len(names)])}] = {stored(body, out)}"
    if "?" in layout:
        return head + over_elements(places, loads, [last])
    fixed = [
        f"{n} = {loads.pop(n)[0]}"
        for n, how in zip(names, layout, strict=False)
        if how == "0"
    ]
    return head + "".join(f"    {line}\n" for line in fixed) + together(loads, [last])


Loads = dict[str, tuple[str, DType]]


def over_elements(places: Sequence[str], loads: Loads, lines: Sequence[str]) -> str:
    """A loop over elements: `i` is taken apart, what it needs is loaded, then `lines`.

    loads: for each name the text that loads it, and its type.
    """
    every = [
        *places,
        *(f"{name} = {text}" for name, (text, _) in loads.items()),
        *lines,
    ]
    head = "    for i in range(cuda.grid(1), n, cuda.gridsize(1)):\n"
    return head + "".join(f"        {line}\n" for line in every)


def together(loads: Loads, lines: Sequence[str]) -> str:
    """`over_elements`, with FETCHED elements of each operand on their way at a time."""

    def loop(body: Iterable[str]) -> list[str]:
        inside = [f"for k in range({FETCHED}):", "    i = first + k * cuda.gridsize(1)"]
        return [*inside, "    if i < n:", *(f"        {line}" for line in body)]

    fetched = [
        f"{name}_fetched = cuda.local.array({FETCHED}, {codegen.numba_type(dtype)})"
        for name, (_, dtype) in loads.items()
    ]
    fetch = [f"{name}_fetched[k] = {text}" for name, (text, _) in loads.items()]
    taken = [f"{name} = {name}_fetched[k]" for name in loads]
    head = f"    for first in range(cuda.grid(1), n, {FETCHED} * cuda.gridsize(1)):\n"
    body = [*(loop(fetch) if fetch else []), *loop([*taken, *lines])]
    return (
        "".join(f"    {line}\n" for line in fetched)
        + head
        + "".join(f"        {line}\n" for line in body)
    )


def loaded(text: str, dtype: DType) -> str:
    """What memory holds, in the type that kernels compute in.

    >>> loaded("x[i]", np.dtype("float16")), loaded("x[i]", np.dtype("int8"))
    ('float32(x[i])', 'x[i]')
    """
    if dtype not in NARROW:
        return text
    return f"{'float32' if dtype == FLOAT16 else f'from_{dtype.name}'}({text})"


def stored(text: str, dtype: DType) -> str:
    """A number as memory holds it."""
    if dtype not in NARROW or dtype == FLOAT16:
        return f"{codegen.numba_type(dtype)}({text})"
    return f"to_{dtype.name}({text})"


def types(dtypes: Sequence[DType]) -> str:
    """The words after `import` that bring in element types."""
    words = {codegen.numba_type(dtype) for dtype in dtypes if dtype.isbuiltin == 1}
    words |= {"float32", "float64", "intp"}
    return ", ".join(sorted("bool_ as boolean" if w == "boolean" else w for w in words))


def imported(
    functions: Sequence[str], dtypes: Sequence[DType], memory: Sequence[DType] = ()
) -> str:
    """The words after `import` that bring in functions for operands of these types.

    memory: the types of the arrays, some of which have functions of their own.
    """
    whole = np.result_type(*dtypes).kind in "iub"
    words = [
        f"{name}_whole as {name}" if whole and name in mathematics.WHOLE else name
        for name in functions
    ]
    for dtype in dict.fromkeys(memory):
        if dtype.isbuiltin != 1:
            words += [f"from_{dtype.name}", f"to_{dtype.name}"]
    return ", ".join(words) or "select"


def address_lines(
    target: str, number: str, base: str, axes: int, first: int
) -> list[str]:
    """Lines that turn an element's number into its index in memory.

    From `steps[first]` on stand length and stride of each axis, the innermost first.

    >>> address_lines("at", "i", "0", axes=2, first=0)[2:]
    ['at += rest % steps[0] * steps[1]', 'rest //= steps[0]', 'at += rest * steps[3]']
    """
    lines = [f"{target} = {base}"] + ([f"rest = {number}"] if axes else [])
    for length in range(first, first + 2 * axes, 2):
        if length == first + 2 * (axes - 1):
            lines.append(f"{target} += rest * steps[{length + 1}]")
        else:
            lines.append(f"{target} += rest % steps[{length}] * steps[{length + 1}]")
            lines.append(f"rest //= steps[{length}]")
    return lines


def _index(name: str, how: str) -> str:
    return {"1": "i", "0": "0", "?": f"{name}_at"}[how]


def _places(names: Sequence[str], layout: str, axes: int) -> list[str]:
    """Lines that take the number `i` apart; the innermost axis comes first.

    `steps` has a start for each operand, then for each axis its length and a step for
    each.
    """
    strided = [(k, name) for k, name in enumerate(names) if layout[k] == "?"]
    if not strided:
        return []
    lines = [f"{name}_at = steps[{k}]" for k, name in strided] + ["rest = i"]
    base, width = len(names), len(names) + 1
    for axis in range(axes):
        here = base + axis * width
        last = axis == axes - 1
        lines.append("k = rest" if last else f"k = rest % steps[{here}]")
        lines += [f"{name}_at += k * steps[{here + 1 + n}]" for n, name in strided]
        if not last:
            lines.append(f"rest //= steps[{here}]")
    return lines


@cache
def compiled(
    formula: Formula, ins: tuple[DType, ...], out: DType, layout: str, axes: int
) -> Any:
    """The CUDA kernel of a formula for one layout."""
    text = write(formula, ins, out, layout, axes)
    return codegen.import_generated(text, mathematics, launching).kernel


def kernel(
    formula: Formula, shapes: Sequence[Shape], dtypes: Sequence[DType],
    out_shape: Shape, out_dtype: DType, constants: tuple[float, ...] = (),
) -> Launch | None:  # fmt: skip
    """A callable `(*ins, out)` on device arrays that broadcast; None if unknown.

    shapes, dtypes: of the inputs, which are the first operands of the formula;
    constants: the values of its last operands.
    """
    if not known(formula, (*dtypes, out_dtype)):
        return None
    ins, numbers = tuple(dtypes), _numbers(constants, dtypes)
    size = prod(out_shape)
    if all(shape == out_shape or prod(shape) == 1 for shape in shapes):
        layout = "".join("01"[shape == out_shape] for shape in shapes) + "1"
        found = compiled(formula, ins, out_dtype, layout, 0)
        return _launcher(found, size, (0,), numbers)
    lengths, steps = collapse(out_shape, shapes)
    moves = [[*line[: len(shapes)], line[-1]] for line in steps]
    starts = (0,) * (len(shapes) + 1)
    layout = "?" * len(shapes) + "1"
    return over_strides(
        formula, ins, out_dtype, layout, starts, lengths, moves, numbers
    )


def elementwise(
    formula: Formula, size: int, ins: Sequence[DType], out: DType, *constants: float
) -> Launch | None:
    """`kernel` for operands and an output of one size."""
    return kernel(formula, [(size,)] * len(ins), ins, (size,), out, constants)


def broadcast(
    formula: Formula, specs: Sequence[Spec], out: Spec, *constants: float
) -> Launch | None:
    """`kernel` for inputs and an output of these specs."""
    shapes, dtypes = [spec.shape for spec in specs], [spec.dtype for spec in specs]
    return kernel(formula, shapes, dtypes, out.shape, out.dtype, constants)


def converted(size: int, source: DType, target: DType) -> Launch | None:
    """The launch `(x, out)` that copies elements from one type to another, or None."""
    return elementwise(SAME, size, [source], target)


def over_strides(
    formula: Formula, ins: Sequence[DType], out: DType, layout: str,
    starts: Sequence[int], lengths: Sequence[int], moves: Sequence[Sequence[int]],
    numbers: tuple[Any, ...] = (),
) -> Launch:  # fmt: skip
    """A callable `(*ins, out)` in which every operand goes its own way.

    starts: for each operand and the output, the element at which it begins; lengths:
    of the axes, the innermost first; moves: for each axis the elements to advance;
    numbers: the last operands of the formula, the same for every element.
    """
    found = compiled(formula, tuple(ins), out, layout, len(lengths))
    steps = [*starts]
    for length, move in zip(lengths, moves, strict=True):
        steps += [length, *move]
    return _launcher(found, prod(lengths), tuple(steps), numbers)


@launching.kernel
def _fill(out: Any, n: int, number: Any) -> None:
    """One number everywhere."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        out[i] = number


def filler(number: Any) -> Launch:
    """A callable `(out)` that writes one number, of out's type, everywhere."""
    return lambda out: launching.over(_fill, out.size, (out,), number)


@launching.kernel
def _ramp(out: Any, n: int, start: Any, step: Any, repeat: int) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        out[i] = start + i // repeat * step


def ramp(start: Any, step: Any, repeat: int) -> Launch:
    """A callable `(out)`: start, start + step, ..., each `repeat` times."""
    return lambda out: launching.over(_ramp, out.size, (out,), start, step, repeat)


@launching.kernel
def _spaced(out: Any, n: int, start: float, step: float, last: float) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        # Rounded after the product, as on the host; the last number is exact.
        number = start + mathematics.rounded_float64(i * step)
        out[i] = last if i == n - 1 else number


def spaced(start: float, step: float, last: float) -> Launch:
    """A callable `(out)`: start, start + step, ..., last, counted in float64."""
    return lambda out: launching.over(_spaced, out.size, (out,), start, step, last)


@launching.kernel
def _diagonal(out: Any, n: int, columns: int, k: int) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        out[i] = 1 if i % columns - i // columns == k else 0


def diagonal(columns: int, k: int) -> Launch:
    """A callable `(out)`: rows with a 1 on the k-th diagonal, 0 elsewhere."""
    return lambda out: launching.over(_diagonal, out.size, (out,), columns, k)


@launching.kernel
def _listed(out: Any, n: int, numbers: Any) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        out[i] = numbers[i]


def listed(numbers: tuple[int, ...]) -> Launch:
    """A callable `(out)`: a few numbers, which travel with the launch."""
    return lambda out: launching.over(_listed, len(numbers), (out,), numbers)


def _numbers(constants: tuple[float, ...], dtypes: Sequence[DType]) -> tuple[Any, ...]:
    """The settings of a formula in the type that it computes in."""
    kind = np.result_type(*[computing(dtype) for dtype in dtypes])
    with np.errstate(all="ignore"):
        return tuple(np.array(value).astype(kind)[()] for value in constants)


def _launcher(
    found: Any, size: int, steps: tuple[int, ...], numbers: tuple[Any, ...] = ()
) -> Launch:
    return lambda *arrays: launching.over(found, size, arrays, steps, *numbers)
