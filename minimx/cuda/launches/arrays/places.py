"""Launches of operators that number places, count, and write into a part of a copy."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.dtypes import LAYOUTS, NARROW
from minimx.core.ops.registry import Kernel
from minimx.core.ops.spec import Spec
from minimx.cuda.kernels import launching, pointwise
from minimx.cuda.kernels.arrays import coordinates, exponents, places
from minimx.cuda.kernels.core import indexing
from minimx.cuda.launches import implements


def _wide(*specs: Spec) -> bool:
    """Whether these are numbers that a kernel can compute with as they are."""
    return not any(s.dtype in NARROW or s.dtype.isbuiltin != 1 for s in specs)


@implements("_ravel_multi_index", "_unravel_index", "_np_unravel_index")
def number(op: Any, *specs: Spec) -> Kernel | None:
    """Sums of products, and divisions with rest."""
    if not _wide(*specs):
        return None
    if op.name == "_ravel_multi_index":
        return places.ravel(op.shape)
    return places.unravel(op.shape)


@implements("_contrib_index_array")
def indexed(op: Any, *specs: Spec) -> Kernel | None:
    """Divisions with rest, of the element's own number."""
    (data,) = specs
    return places.indexed(data.shape, op.wanted(data))


@implements("_histogram")
def histogram(op: Any, *specs: Spec) -> Kernel | None:
    """Additions of 1, in whichever order."""
    data = specs[0]
    if not _wide(*specs) or data.dtype.kind == "b":
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


@implements("_onehot_encode")
def encode(op: Any, *specs: Spec) -> Kernel | None:
    """A 1 in every row."""
    if not all(spec.dtype.isbuiltin == 1 for spec in specs):
        return None
    ones = indexing.one_hot(specs[1].shape[1], 1.0, 0.0)
    return lambda lhs, rhs, out: ones(lhs, out)


@implements("fill_element_0index")
def fill_element(op: Any, *specs: Spec) -> Kernel | None:
    """One element of each row."""
    known = all(spec.dtype.isbuiltin == 1 for spec in specs)
    return places.fill_element if known else None


@implements("_slice_assign", "_slice_assign_scalar")
def assign(op: Any, *specs: Spec) -> Kernel | None:
    """A copy, if the array is not written in its place, and the part."""
    data = specs[0]
    if data.dtype.isbuiltin != 1:
        return None
    if op.name == "_slice_assign":
        return places.slice_assign(data.shape, op.key(data), data.dtype)
    return places.slice_fill(data.shape, op.key(data), op.scalar, data.dtype)


@implements("_contrib_index_copy")
def index_copy(op: Any, *specs: Spec) -> Kernel | None:
    """Rows to their places."""
    old, index, _ = specs
    if not all(spec.dtype.isbuiltin == 1 for spec in specs):
        return None
    there = coordinates.columns(old.shape, (1, *index.shape))
    return lambda x, rows, new, out: there.replace(x, new, rows, out)


# -- arrays that settings describe -----------------------------------------------------


@implements("_eye")
def eye(op: Any, *specs: Spec) -> Kernel | None:
    """Each element knows whether it is on the diagonal."""
    out = op.infer()
    return pointwise.diagonal(out.shape[1], op.k) if _wide(out) else None


@implements("_linspace")
def linspace(op: Any, *specs: Spec) -> Kernel | None:
    """Multiples of one step."""
    if not _wide(op.infer()):
        return None
    start, stop = float(op.start), float(op.stop)
    parts = op.num - bool(op.endpoint)
    step = (stop - start) / parts if parts else 0.0
    last = stop if op.endpoint and parts else start + (op.num - 1) * step
    return pointwise.spaced(start, step, last)


@implements("_contrib_arange_like")
def arange_like(op: Any, *specs: Spec) -> Kernel | None:
    """As many as the array has elements, which are not read."""
    if not _wide(*specs):
        return None
    ramp = pointwise.ramp(float(op.start), float(op.step), op.repeat)
    return lambda data, out: ramp(out)


@implements("shape_array", "size_array")
def described(op: Any, *specs: Spec) -> Kernel | None:
    """What is known before the elements."""
    (data,) = specs
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
