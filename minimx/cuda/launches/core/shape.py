"""Launches of the operators that only move elements, and of those that look them up."""

from __future__ import annotations

from math import prod
from typing import Any

from minimx.core.operators.shape import Part
from minimx.core.ops.registry import Kernel
from minimx.core.ops.spec import Spec
from minimx.cuda.kernels.arrays import coordinates
from minimx.cuda.kernels.core import indexing, shape
from minimx.cuda.launches import implements


def _plain(*specs: Spec) -> bool:
    """Whether numba knows the element types."""
    return all(spec.dtype.isbuiltin == 1 for spec in specs)


@implements("transpose", "SwapAxis")
def transpose(op: Any, *specs: Spec) -> Kernel | None:
    """The axes in another order."""
    (data,) = specs
    order = op.order(data.ndim)
    return shape.transpose(data.shape, order, data.dtype) if _plain(data) else None


@implements("slice", "slice_axis", "slice_like", "reverse", "_basic_index")
def part(op: Any, *specs: Spec) -> Kernel | None:
    """A part, or the elements backwards."""
    data = specs[0]
    if not _plain(data):
        return None
    key = op.key(*specs) if isinstance(op, Part) else op.key
    pick = shape.pick(data.shape, key, data.dtype)
    return lambda *arrays: pick(arrays[0], arrays[-1])


@implements("_backward_basic_index")
def place(op: Any, *specs: Spec) -> Kernel | None:
    """Zeros around the part."""
    (data,) = specs
    return shape.place(op.shape, op.key, data.dtype) if _plain(data) else None


@implements("tile")
def tile(op: Any, *specs: Spec) -> Kernel | None:
    """Copies side by side."""
    (data,) = specs
    lengths, reps = op.padded(data)
    return shape.tile(lengths, reps, data.dtype) if _plain(data) else None


@implements("repeat")
def repeat(op: Any, *specs: Spec) -> Kernel | None:
    """Every element several times."""
    (data,) = specs
    lengths, axis = op.split(data)
    return shape.repeat(lengths, axis, op.repeats, data.dtype) if _plain(data) else None


@implements("Concat", "_rnn_param_concat")
def concatenate(op: Any, *specs: Spec) -> Kernel | None:
    """Arrays one after another along an axis."""
    if not _plain(*specs):
        return None
    out, axis = op.infer(*specs), op.dim % specs[0].ndim
    lengths = [spec.shape[axis] for spec in specs]
    return shape.concatenate(out.shape, axis, lengths, out.dtype)


@implements("stack")
def stack(op: Any, *specs: Spec) -> Kernel | None:
    """Arrays one after another along a new axis."""
    if not _plain(*specs):
        return None
    out = op.infer(*specs)
    axis, lengths = op.axis % out.ndim, [1] * len(specs)
    return shape.concatenate(out.shape, axis, lengths, out.dtype)


@implements("SliceChannel", "_split_v2")
def split(op: Any, *specs: Spec) -> Kernel | None:
    """Pieces along an axis."""
    (data,) = specs
    axis = op.axis % data.ndim
    if not _plain(data) or 0 in op.lengths(data.shape[axis]):
        return None
    return shape.split(data.shape, axis, op.lengths(data.shape[axis]), data.dtype)


# -- looking up ------------------------------------------------------------------------


def _counts(op: Any, *specs: Spec) -> bool:
    """Whether a kernel may say where an index leads: it cannot raise errors."""
    return getattr(op, "mode", "clip") in ("clip", "wrap") and _plain(*specs)


@implements("take")
def take(op: Any, *specs: Spec) -> Kernel | None:
    """Whole slices."""
    if not _counts(op, *specs):
        return None
    return indexing.take(specs[0].shape, op.axis % specs[0].ndim, op.mode)


@implements("_backward_take")
def untake(op: Any, *specs: Spec) -> Kernel | None:
    """Slices added up where they came from."""
    if not _counts(op, *specs) or specs[0].dtype.itemsize < 4:
        return None
    return indexing.untake(op.shape, op.axis, op.mode)


@implements("Embedding")
def embedding(op: Any, *specs: Spec) -> Kernel | None:
    """Rows of a table."""
    if not _plain(*specs):
        return None
    rows = indexing.take(specs[1].shape, 0, "clip")
    return lambda data, weight, out: rows(weight, data, out)


@implements("_take_along_axis")
def along(op: Any, *specs: Spec) -> Kernel | None:
    """One element for each index."""
    data, index = specs
    axis = op.axis % data.ndim
    same = data.shape[:axis] == index.shape[:axis]
    if (
        not _counts(op, *specs)
        or not same
        or data.shape[axis + 1 :] != (index.shape[axis + 1 :])
    ):
        return None
    return indexing.along(data.shape, axis, index.shape[axis], op.mode)


@implements("_put_along_axis")
def unalong(op: Any, *specs: Spec) -> Kernel | None:
    """One element to each index."""
    data, index = specs
    if not _counts(op, *specs) or data.dtype.itemsize < 4:
        return None
    return indexing.unalong(index.shape, op.axis, op.length, op.mode)


@implements("pick", "batch_take")
def pick(op: Any, *specs: Spec) -> Kernel | None:
    """One element of each row."""
    data = specs[0]
    axis = 1 if op.name == "batch_take" else op.axis % data.ndim
    if not _counts(op, *specs):
        return None
    mode = getattr(op, "mode", "clip")
    return indexing.along(data.shape, axis, 1, mode)


@implements("one_hot")
def one_hot(op: Any, *specs: Spec) -> Kernel | None:
    """A 1 at every index."""
    if not _plain(*specs, op.infer(*specs)) or not prod(specs[0].shape):
        return None
    return indexing.one_hot(op.depth, op.on_value, op.off_value)


# -- places given by coordinates -------------------------------------------------------


@implements("gather_nd")
def gather_nd(op: Any, *specs: Spec) -> Kernel | None:
    """Elements or slices."""
    data, indices = specs
    if not _plain(*specs):
        return None
    return coordinates.columns(data.shape, indices.shape).fetch


@implements("scatter_nd", "_scatter_set_nd")
def scatter_nd(op: Any, *specs: Spec) -> Kernel | None:
    """Elements or slices to their places."""
    if not _plain(*specs):
        return None
    there = coordinates.columns(op.shape, specs[-1].shape)
    return there.replace if op.name == "_scatter_set_nd" else there.scatter


@implements("_backward_gather_nd")
def ungather_nd(op: Any, *specs: Spec) -> Kernel | None:
    """Added up where they came from."""
    data, indices = specs
    if not _plain(*specs) or data.dtype.itemsize < 4:
        return None
    return coordinates.columns(op.shape, indices.shape).add


@implements("_advanced_index", "_backward_advanced_index")
def advanced(op: Any, *specs: Spec) -> Kernel | None:
    """The part x[key] of a key with arrays, and what was picked added up."""
    data, *indices = specs
    back = op.name == "_backward_advanced_index"
    if not _plain(*specs) or any(spec.dtype.kind == "b" for spec in indices):
        return None
    if back and data.dtype.itemsize < 4:
        return None
    shape, part = (
        (op.shape, data.shape) if back else (data.shape, op.infer(*specs).shape)
    )
    key = coordinates.key_of(shape, op.key, [spec.shape for spec in indices])
    if key is None or (key.shape or (1,)) != (part or (1,)):
        return None
    return key.add if back else key.fetch
