"""Kernels from formulas: compiled loops for arrays of any shape.

    kernel(Formula("a + b", ("a", "b")), shapes, dtypes, out_shape, out_dtype)

gives a callable `(a, b, out)` for arrays of these shapes. It is made in three steps.

1. `codegen.write` translates the formula to the source of a function that handles one
   row: `kernel(args, steps, n)`, with steps of 1 for operands that advance along the
   row, and 0 for those that are broadcast.

2. `address` lets numba compile it; what counts is where the machine code starts. The
   source lies in `cache_dir()`, in a file that is named after its content, so that
   numba keeps the machine code beside it and the next program need not compile.

3. `kernel` plans how arrays are cut to rows, once for each combination of shapes. For
   a (4, 3) + b (3,), `collapse` finds lengths [3, 4] and steps [[1, 1, 1], [3, 0, 3]]:
   rows of 3 elements, along which a, b and out advance by 1; 4 such rows, and from one
   to the next a and out advance by 3, b by 0. Launchers of `native.py` run the rows:

       inputs like out, or of one element; few elements    run1 … run4: one serial row
       the same, many elements                             rows: one row, cut to parts
       other broadcasts                                    rows; rows2 for few elements

   Arrays of float16 and bfloat16 are converted to float32 and back (`_widened`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from math import prod
from typing import Any

import numpy as np

from minimx.core.dtypes import NARROW, DType
from minimx.core.extensions import provided
from minimx.core.kernels import prebuilt, threads
from minimx.core.kernels.codegen import import_generated, write
from minimx.core.kernels.formula import Formula
from minimx.core.kernels.half import computing
from minimx.core.shapes import Shape

Launch = Callable[..., None]

SMALL = threads.SMALL

# -- step 2: from source to machine code -----------------------------------------------


@cache
def address(
    formula: Formula, ins: tuple[DType, ...], out: DType, constants: int = 0,
    strided: bool = False,
) -> int:  # fmt: skip
    """Where the machine code `kernel(args, steps, n)` of a formula starts.

    ins, out: element types of the operands that are arrays, and of the result;
    constants: how many of the last operands are single numbers; strided: see `write`.
    The first call may take half a second: it compiles, or loads what an earlier program
    compiled.
    """
    text = write(formula, ins, out, constants, strided)
    return int(import_generated(text).kernel.address)


# -- step 3: launching -----------------------------------------------------------------


def kernel(
    formula: Formula,
    shapes: Sequence[Shape],
    dtypes: Sequence[DType],
    out_shape: Shape,
    out_dtype: DType,
    constants: tuple[float, ...] = (),
    tuned_as: DType | None = None,
) -> Launch:
    """A callable `(*ins, out)` that applies a formula to arrays that broadcast.

    shapes, dtypes: of the inputs, which are the first operands of the formula and
    C-contiguous; they broadcast to out_shape. constants: the values of its last
    operands. tuned_as: the type by which operator tuning knows the call, if it is not
    `out_dtype`. The number of threads is that of now: `ops.forget_plans` drops kernels
    when a knob changes it.
    """
    if not NARROW.isdisjoint((*dtypes, out_dtype)):
        return _widened(formula, shapes, dtypes, out_shape, out_dtype, constants)
    common = np.result_type(*dtypes)
    singles = [np.array([value]).astype(common) for value in constants]
    ins = (*dtypes, *(common for _ in singles))
    # Of two operands either may be broadcast, so `x * 2` and `a * b` share a kernel.
    fixed = len(constants) if len(ins) > 2 else 0
    code = address(formula, ins, out_dtype, fixed)
    size = prod(out_shape)
    tuning = provided("operator tuning")
    loop = tuning.Loop(formula.text, code, ins, (out_dtype,))
    parts: int = tuning.parts(size, loop, tuned_as or out_dtype)
    if all(shape == out_shape or prod(shape) == 1 for shape in shapes):
        if parts == 1 and size < SMALL and len(ins) <= 4:
            return _small(code, shapes, out_shape, singles)
        shapes = [(size,) if shape == out_shape else (1,) for shape in shapes]
        out_shape = (size,)
    shapes = [*shapes, *((1,) for _ in singles)]
    return _gridded(code, shapes, [*ins, out_dtype], out_shape, singles, parts)


def _small(
    code: int, shapes: Sequence[Shape], out_shape: Shape, singles: list[Any]
) -> Launch:
    """Launch few elements as one row, with as little Python as possible.

    singles: an array of one number for each constant.
    """
    launchers = provided("launchers")
    run = getattr(launchers, f"run{len(shapes) + len(singles)}")
    launch = _flat(run, code, shapes, out_shape, singles)
    return prebuilt.offers(launch, partial(prebuilt.flat, code, singles))


def _flat(
    run: Launch,
    code: int,
    shapes: Sequence[Shape],
    out_shape: Shape,
    singles: list[Any],
) -> Launch:
    """A call of `run` with all arrays flattened.

    Every `if` saves a tenth of a microsecond on a frequent kind of call.
    """
    if all(len(shape) == 1 for shape in (*shapes, out_shape)):
        if not singles:
            return partial(run, code)
        if len(shapes) == len(singles) == 1:
            (one,) = singles
            return lambda a, out: run(code, a, one, out)
    if len(shapes) == 1 and not singles:
        return lambda a, out: run(code, a.ravel(), out.ravel())
    if len(shapes) == 1 and len(singles) == 1:
        (single,) = singles
        return lambda a, out: run(code, a.ravel(), single, out.ravel())
    if len(shapes) == 2 and not singles:
        return lambda a, b, out: run(code, a.ravel(), b.ravel(), out.ravel())

    def launch(*arrays: Any) -> None:
        *ins, out = [array.ravel() for array in arrays]
        run(code, *ins, *singles, out)

    return launch


def _gridded(
    code: int,
    shapes: Sequence[Shape],
    dtypes: Sequence[DType],
    out_shape: Shape,
    singles: list[Any],
    parts: int,
) -> Launch:
    """Launch row by row, on several threads if `parts` is more than 1."""
    from minimx.core.kernels import native

    grid = _grid(shapes, dtypes, out_shape)
    small = prod(out_shape) < SMALL and parts == 1
    if small and len(shapes) == 2 and not singles:
        run = native.rows2
        return lambda a, b, out: run(code, a.ravel(), b.ravel(), out.ravel(), grid)
    rows = native.rows.beside if parts > 1 else native.rows.serial
    if small:
        rows = native.rows.small
    tail = [single.ctypes.data for single in singles]

    def launch(*arrays: Any) -> None:
        *ins, out = [array.ctypes.data for array in arrays]
        rows(code, np.array([*ins, *tail, out]), grid)

    launch.keep = singles  # type: ignore[attr-defined]
    if parts == 1 and len(grid) == 2:  # one row
        return prebuilt.offers(launch, partial(prebuilt.flat, code, singles))
    return launch


def _grid(shapes: Sequence[Shape], dtypes: Sequence[DType], out_shape: Shape) -> Any:
    """The grid of a broadcast, in the layout that `native.rows` documents."""
    lengths, steps = collapse(out_shape, shapes)
    grid = np.empty((len(lengths) + 1, len(dtypes) + 1), np.intp)
    grid[0] = [0, *steps[0]]
    grid[1:, 0] = lengths
    grid[1:, 1:] = np.array(steps) * [dtype.itemsize for dtype in dtypes]
    return grid


def collapse(
    out_shape: Shape, shapes: Sequence[Shape]
) -> tuple[list[int], list[list[int]]]:
    """The fewest axes that describe a broadcast: lengths and steps, innermost first.

    Steps count elements, one per operand and one more for the output. Neighbouring axes
    become one where every operand crosses from the inner to the outer one without a
    jump; PyTorch's TensorIterator calls this coalescing dimensions.

    >>> collapse((2, 3, 4), [(2, 3, 4), (3, 4)])
    ([12, 2], [[1, 1, 1], [12, 0, 12]])
    """
    strides = [steps_of(shape, len(out_shape)) for shape in (*shapes, out_shape)]
    lengths: list[int] = []
    steps: list[list[int]] = []
    for axis in reversed(range(len(out_shape))):
        length = out_shape[axis]
        if length == 1:
            continue
        here = [stride[axis] for stride in strides]
        if lengths and here == [step * lengths[-1] for step in steps[-1]]:
            lengths[-1] *= length
        else:
            lengths.append(length)
            steps.append(here)
    return (lengths or [1]), (steps or [[1] * len(strides)])


def steps_of(shape: Shape, ndim: int) -> list[int]:
    """Strides in elements along each of `ndim` axes; 0 along axes that are broadcast.

    For a C-contiguous array of this shape, whose axes are the last of the ndim.

    >>> steps_of((3, 1, 4), 4)
    [0, 4, 0, 1]
    """
    steps, step = [], 1
    for length in reversed(shape):
        steps.append(step if length != 1 else 0)
        step *= length
    return (steps + [0] * (ndim - len(shape)))[::-1]


def _widened(
    formula: Formula,
    shapes: Sequence[Shape],
    dtypes: Sequence[DType],
    out_shape: Shape,
    out_dtype: DType,
    constants: tuple[float, ...],
) -> Launch:
    """Launch on arrays of float16 or bfloat16: computed in float32, then rounded.

    The arguments are those of `kernel`.
    """
    wide = [computing(dtype) for dtype in dtypes]
    wide_out = computing(out_dtype)
    inner = kernel(formula, shapes, wide, out_shape, wide_out, constants, out_dtype)

    def launch(*arrays: Any) -> None:
        from minimx.core.kernels.cpu.widths import convert, widened

        *ins, out = arrays
        result = np.empty(out_shape, wide_out)
        pairs = zip(ins, wide, strict=True)
        inner(*[a if a.dtype == t else widened(a) for a, t in pairs], result)
        convert(result, out)

    return launch
