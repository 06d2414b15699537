"""Launches of the operators that only move elements, and of those that look them up.

Most operators that move elements have no rule of their own: `moved` gathers by a table,
which the CPU's kernel makes. Once for each plan it runs on numbers that name the
elements of the input, -1, -2, ...; what comes out says for every element of the output
which of them belongs there, or, if it is another number, what fills it. So there is no
second text of `Pad`, `depth_to_space` or `tril`, at the price of one look-up for each
element.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.dtypes import FLOAT64
from minimx.core.errors import MXNetError
from minimx.core.operators.shape import Part
from minimx.core.ops.registry import Kernel, Op
from minimx.core.ops.spec import Spec
from minimx.cuda.kernels import scratch
from minimx.cuda.kernels.arrays import coordinates, places
from minimx.cuda.kernels.core import indexing, shape
from minimx.cuda.kernels.default_launch import builtin, numeric
from minimx.cuda.launches import implements

#: Operators with one input whose kernels take any element type.
MOVED = (
    *("Pad", "_npi_pad", "depth_to_space", "space_to_depth", "diag", "_backward_diag"),
    *("_np_diag", "_np_diagflat", "_np_diagonal", "_place_diagonals", "_np_roll"),
    *("_np_moveaxis", "_npi_rot90", "_npi_tril", "_npi_triu", "_linalg_extractdiag"),
    *("_linalg_makediag", "_linalg_extracttrian", "_linalg_maketrian"),
    *("_image_crop", "_backward_image_crop", "_image_flip_left_right"),
    *("_image_flip_top_bottom", "_npi_broadcast_to"),
)
#: The same, and a second input gives only its shape.
SHAPED_LIKE = ("Crop",)


@implements(*MOVED, *SHAPED_LIKE)
def moved(op: Any, *specs: Spec) -> Kernel | None:
    """A gather by what the CPU's kernel does to the numbers of elements."""
    data, *others = specs
    out = op.infer(*specs)
    if data.dtype.isbuiltin != 1 or out.dtype != data.dtype:
        return None
    if others and op.name not in SHAPED_LIKE:
        return None
    found = table(op, specs, out)
    if found is None:
        return None
    launch = places.gathered(*found)
    return lambda *arrays: launch(arrays[0], arrays[-1])


def table(op: Op, specs: tuple[Spec, ...], out: Spec) -> tuple[Any, float] | None:
    """For each output element the input's index, or -1, and what fills it there.

    None if the operator does more than to move elements.
    """
    data, *others = specs
    names = -1.0 - np.arange(data.size, dtype=np.float64).reshape(data.shape)
    rest = [np.zeros(spec.shape, FLOAT64) for spec in others]
    found = np.empty(out.shape, np.float64)
    try:
        wide = (Spec.of(data.shape, FLOAT64), *(s.with_dtype(FLOAT64) for s in others))
        op.compute(*wide)(names, *rest, found)
    except MXNetError:
        return None
    named = (found < 0) & (found == np.trunc(found)) & (found >= -data.size)
    fills = np.unique(found[~named])
    if fills.size > 1:
        return None
    where = np.where(named, -1 - found, -1).astype(np.int64).reshape(-1)
    return where, float(fills[0]) if fills.size else 0.0


# -- moves by strides, without a table -------------------------------------------------


@implements("transpose", "SwapAxis", types=builtin)
def transpose(op: Any, data: Spec) -> Kernel | None:
    """The axes in another order."""
    return shape.transpose(data.shape, op.order(data.ndim), data.dtype)


@implements("slice", "slice_axis", "slice_like", "reverse", "_basic_index")
def part(op: Any, *specs: Spec) -> Kernel | None:
    """A part, or the elements backwards."""
    data = specs[0]
    if not builtin(data):
        return None
    key = op.key(*specs) if isinstance(op, Part) else op.key
    pick = shape.pick(data.shape, key, data.dtype)
    return lambda *arrays: pick(arrays[0], arrays[-1])


@implements("_backward_basic_index", types=builtin)
def place(op: Any, data: Spec) -> Kernel | None:
    """Zeros around the part."""
    return shape.place(op.shape, op.key, data.dtype)


@implements("tile", types=builtin)
def tile(op: Any, data: Spec) -> Kernel | None:
    """Copies side by side."""
    lengths, reps = op.padded(data)
    return shape.tile(lengths, reps, data.dtype)


@implements("repeat", types=builtin)
def repeat(op: Any, data: Spec) -> Kernel | None:
    """Every element several times."""
    lengths, axis = op.split(data)
    return shape.repeat(lengths, axis, op.repeats, data.dtype)


@implements("Concat", "_rnn_param_concat", types=builtin)
def concatenate(op: Any, *specs: Spec) -> Kernel | None:
    """Arrays one after another along an axis."""
    out, axis = op.infer(*specs), op.dim % specs[0].ndim
    lengths = [spec.shape[axis] for spec in specs]
    return shape.concatenate(out.shape, axis, lengths, out.dtype)


@implements("stack", types=builtin)
def stack(op: Any, *specs: Spec) -> Kernel | None:
    """Arrays one after another along a new axis."""
    out = op.infer(*specs)
    return shape.concatenate(out.shape, op.axis % out.ndim, [1] * len(specs), out.dtype)


@implements("SliceChannel", "_split_v2", types=builtin)
def split(op: Any, data: Spec) -> Kernel | None:
    """Pieces along an axis."""
    axis = op.axis % data.ndim
    lengths = op.lengths(data.shape[axis])
    return None if 0 in lengths else shape.split(data.shape, axis, lengths, data.dtype)


# -- looking up ------------------------------------------------------------------------


def _never_raises(op: Any) -> bool:
    """Whether the mode says where every index leads: a kernel cannot raise errors."""
    return getattr(op, "mode", "clip") in ("clip", "wrap")


@implements("take", types=builtin)
def take(op: Any, data: Spec, *indices: Spec) -> Kernel | None:
    """Whole slices."""
    if not _never_raises(op):
        return None
    return indexing.take(data.shape, op.axis % data.ndim, op.mode)


@implements("_backward_take", types=builtin)
def untake(op: Any, dout: Spec, *indices: Spec) -> Kernel | None:
    """Slices added up where they came from."""
    if not _never_raises(op) or dout.dtype.itemsize < 4:
        return None
    return indexing.untake(op.shape, op.axis, op.mode)


@implements("Embedding", types=builtin)
def embedding(op: Any, data: Spec, weight: Spec) -> Kernel | None:
    """Rows of a table."""
    rows = indexing.take(weight.shape, 0, "clip")
    return lambda data, weight, out: rows(weight, data, out)


@implements("_take_along_axis", types=builtin)
def along(op: Any, data: Spec, index: Spec) -> Kernel | None:
    """One element for each index."""
    axis = op.axis % data.ndim
    same = data.shape[:axis] == index.shape[:axis]
    same = same and data.shape[axis + 1 :] == index.shape[axis + 1 :]
    if not _never_raises(op) or not same:
        return None
    return indexing.along(data.shape, axis, index.shape[axis], op.mode)


@implements("_put_along_axis", types=builtin)
def unalong(op: Any, dout: Spec, index: Spec) -> Kernel | None:
    """One element to each index."""
    if not _never_raises(op) or dout.dtype.itemsize < 4:
        return None
    return indexing.unalong(index.shape, op.axis, op.length, op.mode)


@implements("pick", "batch_take", types=builtin)
def pick(op: Any, data: Spec, *index: Spec) -> Kernel | None:
    """One element of each row."""
    if not _never_raises(op):
        return None
    axis = 1 if op.name == "batch_take" else op.axis % data.ndim
    return indexing.along(data.shape, axis, 1, getattr(op, "mode", "clip"))


@implements("one_hot", types=builtin)
def one_hot(op: Any, indices: Spec) -> Kernel | None:
    """A 1 at every index."""
    if not builtin(op.infer(indices)) or not indices.size:
        return None
    return indexing.one_hot(op.depth, op.on_value, op.off_value)


# -- positions given by coordinates ----------------------------------------------------


@implements("gather_nd", types=builtin)
def gather_nd(op: Any, data: Spec, indices: Spec) -> Kernel | None:
    """Elements or slices."""
    return coordinates.columns(data.shape, indices.shape).fetch


@implements("scatter_nd", "_scatter_set_nd", types=builtin)
def scatter_nd(op: Any, *specs: Spec) -> Kernel | None:
    """Elements or slices to their positions."""
    there = coordinates.columns(op.shape, specs[-1].shape)
    return there.replace if op.name == "_scatter_set_nd" else there.scatter


@implements("_backward_gather_nd", types=builtin)
def ungather_nd(op: Any, dout: Spec, indices: Spec) -> Kernel | None:
    """Added up where they came from."""
    if dout.dtype.itemsize < 4:
        return None
    return coordinates.columns(op.shape, indices.shape).add


@implements("_contrib_index_copy", types=builtin)
def index_copy(op: Any, old: Spec, index: Spec, new: Spec) -> Kernel | None:
    """A copy with some rows replaced."""
    there = coordinates.columns(old.shape, (1, *index.shape))
    return lambda x, rows, new, out: there.replace(x, new, rows, out)


@implements("_advanced_index", "_backward_advanced_index", types=builtin)
def advanced(op: Any, data: Spec, *indices: Spec) -> Kernel | None:
    """The part x[key] of a key with arrays, and what was picked added up."""
    back = op.name == "_backward_advanced_index"
    if any(spec.dtype.kind == "b" for spec in indices):
        return None
    if back and data.dtype.itemsize < 4:
        return None
    out = op.infer(data, *indices).shape
    shape, part = (op.shape, data.shape) if back else (data.shape, out)
    key = coordinates.key_of(shape, op.key, [spec.shape for spec in indices])
    if key is None or (key.shape or (1,)) != (part or (1,)):
        return None
    return key.add if back else key.fetch


@implements("_sparse_retain")
def retained(op: Any, data: Spec, indices: Spec) -> Kernel | None:
    """A gather of the rows, and a scatter into zeros."""
    if not builtin(data) or not numeric(indices):
        return None
    rows = coordinates.columns(data.shape, (1, indices.size))
    shape = indices.size, *data.shape[1:]

    def run(x: Any, indices: Any, out: Any) -> None:
        with scratch.allocated((shape, data.dtype)) as (kept,):
            rows.fetch(x, indices, kept)
            rows.scatter(kept, indices, out)

    return run
