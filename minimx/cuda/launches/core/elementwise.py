"""Launches of the operators that work element by element, and of reductions."""

from __future__ import annotations

from contextlib import ExitStack
from math import prod
from typing import Any

import numpy as np

from minimx.core.dtypes import FLOAT64, NARROW
from minimx.core.kernels.cpu.reduce import Reduction
from minimx.core.kernels.formula import Formula
from minimx.core.ops.registry import Kernel
from minimx.core.ops.spec import Spec
from minimx.core.shapes import normalize_axes
from minimx.cuda.kernels import fused, pointwise, scratch
from minimx.cuda.kernels.arrays import integers
from minimx.cuda.kernels.core import reduce
from minimx.cuda.kernels.core.shape import strides
from minimx.cuda.kernels.default_launch import countable
from minimx.cuda.kernels.numpy import np_statistics
from minimx.cuda.kernels.pointwise import SAME
from minimx.cuda.launches import implements
from minimx.operators.arrays.mixed import by_rows
from minimx.operators.rules import different_axes


@implements("pointwise")
def formula(op: Any, *specs: Spec) -> Kernel | None:
    """Every operator that is a formula: the one that the CPU has."""
    out = op.infer(*specs)
    return pointwise.broadcast(op.formula, specs, out, *op.constants)


@implements("Activation")
def chosen(op: Any, *specs: Spec) -> Kernel | None:
    """The formula that a setting chooses."""
    aligned = op._aligned(specs) if op.name == "LeakyReLU" else specs
    return formula(op.form, *aligned)


@implements("_FusedOp")
def fused_formulas(op: Any, *specs: Spec) -> Kernel | None:
    """Several formulas in one kernel."""
    written, size = op.written, op.infer(*specs)[0].size
    return fused.launcher(written.loop, written.strides, written.sources, size)


@implements("_copy", "cast", "amp_cast", "_identity_with_attr_like_rhs")
@implements("_amp_scaled_loss")
def cast(op: Any, data: Spec, *others: Spec) -> Kernel | None:
    """The same numbers, in the type of the output.

    The gradient of `_amp_scaled_loss` has no launch: a recorded one would keep its
    scale.
    """
    out = op.infer(data, *others)
    launch = pointwise.converted(out.size, data.dtype, out.dtype)
    if launch is None or not others:
        return launch
    return lambda *arrays: launch(arrays[0], arrays[-1])


@implements(
    "_zeros", "_ones", "_full", "zeros_like", "ones_like", "_zeros_without_dtype"
)
def filled(op: Any, *specs: Spec) -> Kernel | None:
    """One number everywhere."""
    out = op.infer(*specs)
    number = int(op.name in ("_ones", "ones_like"))
    value = op.value if op.name == "_full" else number
    if out.dtype.isbuiltin != 1:
        return None
    fill = pointwise.filler(np.array(value).astype(out.dtype)[()])
    return lambda *arrays: fill(arrays[-1])


@implements("_arange")
def counted(op: Any, *specs: Spec) -> Kernel | None:
    """Numbers at equal distances."""
    dtype, (start, _) = op.infer().dtype, op.bounds()
    if dtype.kind not in "fiu" or dtype.itemsize < 4:
        return None
    number = int if dtype.kind in "iu" else float
    return pointwise.ramp(number(start), number(op.step), op.repeat)


@implements("broadcast_to", "broadcast_axis", "broadcast_like")
def stretched(op: Any, *specs: Spec) -> Kernel | None:
    """The identity, broadcast."""
    data, wanted = specs[0], op.wanted(*specs)
    launch = pointwise.kernel(SAME, [data.shape], [data.dtype], wanted, data.dtype)
    return launch and (lambda *arrays: launch(arrays[0], arrays[-1]))


@implements("where")
def where(op: Any, condition: Spec, x: Spec, y: Spec) -> Kernel | None:
    """Both are read, one is written."""
    out = op.infer(condition, x, y)
    aligned = condition.with_shape(by_rows(condition.shape, out.shape))
    return pointwise.broadcast(op.formula, (aligned, x, y), out)


@implements("add_n")
def add_n(op: Any, *specs: Spec) -> Kernel | None:
    """As many at once as one formula takes, then further ones on top."""
    size, dtype, at_once = specs[0].size, specs[0].dtype, op.AT_ONCE

    def sum_of(count: int) -> Any:
        names = tuple("abcdefg"[:count])
        form = Formula(" + ".join(names), names)
        return pointwise.elementwise(form, size, [dtype] * count, dtype)

    if sum_of(1) is None:
        return None

    def launch(*arrays: Any) -> None:
        *xs, out = arrays
        sum_of(min(len(xs), at_once))(*xs[:at_once], out)
        for first in range(at_once, len(xs), at_once - 1):
            more = xs[first : first + at_once - 1]
            sum_of(1 + len(more))(out, *more, out)

    return launch


@implements("sum", "mean", "prod", "nansum", "nanprod", "max", "min", "_sum_to")
def reduction(op: Any, data: Spec) -> Kernel | None:
    """The same formulas as on the CPU, by one thread or by a block."""
    kind = "sum" if op.name == "_sum_to" else op.kind
    return reduce.reduction(kind, data.shape, op.axes(data), data.dtype)


@implements("norm")
def norm(op: Any, data: Spec) -> Kernel | None:
    """A sum of squares or of sizes; in another type, of converted data."""
    dtype = op.computed_in(data)
    if dtype.kind != "f" or dtype.itemsize < 4:
        return None
    launch = reduce.reduction(f"norm{op.ord}", data.shape, op.axes(data), dtype)
    if dtype == data.dtype or launch is None:
        return launch
    widen: Any = pointwise.converted(data.size, data.dtype, dtype)

    def run(x: Any, out: Any) -> None:
        with scratch.allocated((data.size, dtype)) as (wide,):
            widen(x, wide)
            launch(wide, out)

    return run if widen is not None else None


@implements("argmax", "argmin", "argmax_channel", "_npi_argmax", "_npi_argmin")
def extremum(op: Any, data: Spec) -> Kernel | None:
    """The index of the first extremum; NaN is the largest and the smallest."""
    split = (1, data.size, 1)
    if op.axis is not None:
        axis, shape = op.axis % data.ndim, data.shape
        split = (prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :]))
    sign = -1 if op.name in ("argmin", "_npi_argmin") else 1
    return reduce.arg_extremum(split, data.dtype, sign)


# -- by NumPy's rules ------------------------------------------------------------------


@implements(*(f"_npi_{name}" for name in integers.FUNCTIONS))
def whole(op: Any, *specs: Spec) -> Kernel | None:
    """Bits, shifts and divisors; in int64, which holds all types but the widest."""
    out = op.infer(*specs)
    if out.dtype.kind == "u" and out.dtype.itemsize == 8:
        return None
    bits = 1 if out.dtype.kind == "b" else 8 * out.dtype.itemsize
    name = op.name.removeprefix("_npi_")
    return integers.looped(name, [s.shape for s in specs], out.shape, bits)


@implements("_npi_around")
def around(op: Any, data: Spec) -> Kernel | None:
    """Rounded as a whole number of tenths, hundredths, or tens."""
    decimals = op.decimals
    text = "rint(x * s) / s" if decimals > 0 else "rint(x / s) * s"
    if data.dtype.kind != "f":
        if decimals < 0:
            return None
        text = "x"
    form = Formula(text, ("x", "s"))
    return pointwise.broadcast(form, (data,), data, 10.0 ** abs(decimals))


@implements("_npi_nan_to_num")
def nan_to_num(op: Any, data: Spec) -> Kernel | None:
    """One of three numbers, or the number itself."""
    if data.dtype.kind in "iub":
        return pointwise.broadcast(SAME, (data,), data)
    if data.dtype.isbuiltin != 1:
        return None
    limits = np.finfo(data.dtype)
    high = float(limits.max) if op.posinf is None else op.posinf
    low = float(limits.min) if op.neginf is None else op.neginf
    text = "where(x == x, where(isinf(x), where(x > 0, high, low), x), nan)"
    form = Formula(text, ("x", "nan", "high", "low"))
    return pointwise.broadcast(form, (data,), data, op.nan, high, low)


@implements("_npi_where")
def np_where(op: Any, *specs: Spec) -> Kernel | None:
    """Both are read, one is written."""
    form = Formula("where(c != 0, x, y)", ("c", "x", "y"))
    return pointwise.broadcast(form, specs, op.infer(*specs))


@implements("_np_any", "_np_all")
def quantifier(op: Any, data: Spec) -> Kernel | None:
    """Reductions of 1 and 0."""
    function = "maximum" if op.name == "_np_any" else "minimum"
    step, join = f"{function}(a, where(x != 0, 1, 0))", f"{function}(a, b)"
    form = Reduction("where(x != 0, 1, 0)", step, join, 0)
    truth = data.dtype.kind == "b"
    dtype = np.dtype(np.uint8) if truth else data.dtype
    out = op.infer(data).dtype
    launch = reduce.reduction(form, data.shape, op.axes(data), dtype, out)
    if launch is None or not truth:
        return launch
    return lambda x, out: launch(x.view(np.uint8), out)


@implements("_np_trace", types=countable)
def trace(op: Any, data: Spec) -> Kernel | None:
    """Sums of reals in float64."""
    sums = FLOAT64 if data.dtype.kind == "f" else data.dtype
    return reduce.traced(data.shape, op.offset, different_axes(op, data.ndim), sums)


@implements("_npi_diff", types=countable)
def diff(op: Any, data: Spec) -> Kernel | None:
    """One difference after the other, the ones between in memory of their own."""
    if op.n == 0:
        return pointwise.broadcast(SAME, (data,), data)
    axis, shapes = op.axis % data.ndim, [data.shape]
    for _ in range(op.n):
        last = shapes[-1]
        shapes.append((*last[:axis], last[axis] - 1, *last[axis + 1 :]))
    launches = [_step(shape, axis, data.dtype) for shape in shapes[:-1]]

    def launch(x: Any, out: Any) -> None:
        with ExitStack() as buffers:
            for step, shape in zip(launches[:-1], shapes[1:], strict=False):
                (buffer,) = buffers.enter_context(
                    scratch.allocated((shape, data.dtype))
                )
                step(x, x, buffer)
                x = buffer
            launches[-1](x, x, out)

    return launch


def _step(shape: Any, axis: int, dtype: Any) -> Any:
    """(x, x, out): each element less the one before."""
    steps = strides(shape)
    less = (*shape[:axis], shape[axis] - 1, *shape[axis + 1 :])
    order = range(len(shape) - 1, -1, -1)
    moves = [[steps[k], steps[k], step] for k, step in enumerate(strides(less))]
    return pointwise.over_strides(
        Formula("a - b", ("a", "b")), (dtype, dtype), dtype, "???", (steps[axis], 0, 0),
        [less[k] for k in order], [moves[k] for k in order],
    )  # fmt: skip


@implements("_npi_percentile")
def percentile(op: Any, *specs: Spec) -> Kernel | None:
    """The axes that are ranked go last; then a sort."""
    data, out = specs[0], op.infer(*specs)
    kinds = {spec.dtype for spec in (*specs, out)}
    if NARROW & kinds or data.dtype.kind == "b":
        return None
    axes = normalize_axes("percentile", op.axis, data.ndim)
    settings = op.interpolation, data.dtype, op.q_scalar
    return np_statistics.percentile(data.shape, axes, *settings)


@implements("khatri_rao", types=countable)
def khatri_rao(op: Any, *specs: Spec) -> Kernel | None:
    """Products of a matrix with what the ones before gave."""
    dtype, columns = specs[0].dtype, specs[0].shape[1]
    rows = [1]
    for spec in specs:
        rows.append(rows[-1] * spec.shape[0])
    product = Formula("a * b", ("a", "b"))
    steps = [
        pointwise.over_strides(
            product, (dtype, dtype), dtype, "???", (0, 0, 0),
            [columns, spec.shape[0], before],
            [[1, 1, 1], [0, columns, columns], [columns, 0, columns * spec.shape[0]]],
        )
        for spec, before in zip(specs[1:], rows[1:], strict=False)
    ]  # fmt: skip
    copy = pointwise.broadcast(SAME, specs[:1], specs[0])

    def launch(*arrays: Any) -> None:
        so_far, *others, out = arrays
        if not others and copy is not None:
            copy(so_far, out)
        with ExitStack() as buffers:
            for k, (step, x) in enumerate(zip(steps, others, strict=True)):
                buffer = out
                if k < len(others) - 1:
                    allocated = scratch.allocated(((rows[k + 2], columns), dtype))
                    (buffer,) = buffers.enter_context(allocated)
                step(so_far, x, buffer)
                so_far = buffer

    return launch
