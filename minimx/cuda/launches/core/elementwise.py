"""Launches of the operators that work element by element, and of reductions."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from minimx.core.kernels.formula import Formula
from minimx.core.ops.registry import Kernel
from minimx.core.ops.spec import Spec
from minimx.cuda.kernels import fused, pointwise, scratch
from minimx.cuda.kernels.core import reduce
from minimx.cuda.kernels.pointwise import SAME
from minimx.cuda.launches import implements
from minimx.operators.arrays.mixed import by_rows


@implements("pointwise")
def formula(op: Any, *specs: Spec) -> Kernel | None:
    """Every operator that is a formula: the one that the CPU has."""
    out = op.infer(*specs)
    return pointwise.broadcast(op.formula, specs, out, *op.constants)


@implements("Activation")
def chosen(op: Any, *specs: Spec) -> Kernel | None:
    """The formula that a setting chooses."""
    aligned = op._aligned(specs) if op.name == "LeakyReLU" else specs
    return formula(op._form, *aligned)


@implements("_FusedOp")
def fused_formulas(op: Any, *specs: Spec) -> Kernel | None:
    """Several formulas in one kernel."""
    written, size = op.written, op.infer(*specs)[0].size
    return fused.launcher(written.loop, written.walks, written.sources, size)


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
