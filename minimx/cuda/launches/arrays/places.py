"""Launches of operators that sort, number positions, count, and replace parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.dtypes import LAYOUTS, NARROW
from minimx.core.kernels.half import computing
from minimx.core.ops.registry import Kernel
from minimx.core.ops.spec import Spec
from minimx.cuda.kernels import launching, pointwise
from minimx.cuda.kernels.arrays import exponents, places
from minimx.cuda.kernels.core import indexing
from minimx.cuda.kernels.default_launch import builtin, countable, wide
from minimx.cuda.launches import implements

# -- order and running sums ------------------------------------------------------------


@implements("sort", "argsort", "topk")
def order(op: Any, data: Spec) -> Kernel | None:
    """Merges of runs, then a gather."""
    found = op.infer(data)
    outs = found if isinstance(found, tuple) else (found,)
    if not countable(data) or any(spec.dtype in NARROW for spec in outs):
        return None
    shape, axis = op.split(data)
    if op.name == "sort":
        return indexing.sort(shape, axis, op.is_ascend)
    if op.name == "argsort":
        return indexing.argsort(shape, axis, op.is_ascend)
    k = op.k or shape[axis]
    return indexing.topk(shape, axis, k, op.is_ascend, op.ret_typ)


@implements("cumsum", "_npi_cumprod")
def running(op: Any, data: Spec) -> Kernel | None:
    """In the type of the sums, half precision in float32."""
    out = op.infer(data)
    if not countable(data, out):
        return None
    axis = op.axis if op.axis is None else op.axis % data.ndim
    sums = np.promote_types(computing(out.dtype), out.dtype)
    return places.cumsum(data.shape, axis, sums, op.name == "_npi_cumprod")


# -- positions and counts --------------------------------------------------------------


@implements("_contrib_index_array")
def indexed(op: Any, data: Spec) -> Kernel | None:
    """Divisions with rest, of the element's own number."""
    return places.indexed(data.shape, op.wanted(data))


@implements("_histogram", types=wide)
def histogram(op: Any, data: Spec, *edges: Spec) -> Kernel | None:
    """Additions of 1, in whichever order."""
    if data.dtype.kind == "b":
        return None
    if op.bin_cnt is None:
        return places.histogram
    low, high = map(float, op.range)
    return places.even_histogram(op.bin_cnt, low, high, data.dtype)


@implements("_exponents")
def exponents_of(op: Any, *specs: Spec) -> Kernel | None:
    """The bits of one array after the other."""
    layouts = [LAYOUTS[spec.dtype.name] for spec in specs]
    words = [np.dtype(f"u{spec.dtype.itemsize}") for spec in specs]
    width = op.infer(*specs).shape[1]

    def launch(*arrays: Any) -> None:
        *xs, out = arrays
        flat = out.reshape(-1)
        for k, (x, layout, word) in enumerate(zip(xs, layouts, words, strict=True)):
            bits, row = x.reshape(-1).view(word), flat[k * width : (k + 1) * width]
            exponents.count(bits, layout.fraction, (1 << layout.exponent) - 1, row)

    return launch


# -- copies with a part replaced -------------------------------------------------------


@implements("_onehot_encode", types=builtin)
def encode(op: Any, lhs: Spec, rhs: Spec) -> Kernel | None:
    """A 1 in every row."""
    ones = indexing.one_hot(rhs.shape[1], 1.0, 0.0)
    return lambda lhs, rhs, out: ones(lhs, out)


@implements("_slice_assign", "_slice_assign_scalar")
def assign(op: Any, data: Spec, *part: Spec) -> Kernel | None:
    """A copy, unless the array is written over itself, and the part."""
    if not builtin(data):
        return None
    if part:
        return places.slice_assign(data.shape, op.key(data), data.dtype)
    return places.slice_fill(data.shape, op.key(data), op.scalar, data.dtype)


# -- arrays that settings describe -----------------------------------------------------


@implements("_eye")
def eye(op: Any) -> Kernel | None:
    """Each element knows whether it is on the diagonal."""
    out = op.infer()
    return pointwise.diagonal(out.shape[1], op.k) if wide(out) else None


@implements("_linspace")
def linspace(op: Any) -> Kernel | None:
    """Multiples of one step."""
    if not wide(op.infer()):
        return None
    start, stop = float(op.start), float(op.stop)
    parts = op.num - bool(op.endpoint)
    step = (stop - start) / parts if parts else 0.0
    last = stop if op.endpoint and parts else start + (op.num - 1) * step
    return pointwise.spaced(start, step, last)


@implements("_contrib_arange_like", types=wide)
def arange_like(op: Any, data: Spec) -> Kernel | None:
    """As many as the array has elements, which are not read."""
    ramp = pointwise.ramp(float(op.start), float(op.step), op.repeat)
    return lambda data, out: ramp(out)


@implements("shape_array", "size_array")
def described(op: Any, data: Spec) -> Kernel | None:
    """What is known before the elements."""
    numbers = data.shape if op.name == "shape_array" else (data.size,)
    listed = pointwise.listed(numbers)
    return lambda data, out: listed(out)


@implements("_np_atleast_1d", "_np_atleast_2d", "_np_atleast_3d")
def at_least(op: Any, *specs: Spec) -> Kernel | None:
    """Copies; only the shapes are new."""
    count = len(specs)

    def launch(*arrays: Any) -> None:
        for x, out in zip(arrays[:count], arrays[count:], strict=True):
            launching.duplicate(x, out)

    return launch
