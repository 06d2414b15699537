"""Operators that move elements: parts, joins, repetitions, looking up.

Where an axis of the data is open, a part of it is written relative to the end that it
is counted from.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from minimx.core.dtypes import INT64, resolve
from minimx.onnx.writing.values import TRANSLATIONS, Call, Value, translates

#: Past every end; ONNX cuts it off.
_FAR = (1 << 31) - 1


# -- the order and number of axes ------------------------------------------------------


@translates("transpose", "_np_moveaxis")
def _transpose(at: Call, x: Value) -> Any:
    op: Any = at.op
    return at.transposed(x, op.order(at.ndim()))


@translates("SwapAxis")
def _swap(at: Call, x: Value) -> Any:
    order = list(range(at.ndim()))
    a, b = (at.axis(at.op.settings[word]) for word in ("dim1", "dim2"))
    order[a], order[b] = order[b], order[a]
    return at.transposed(x, order)


@translates("Flatten")
def _flatten(at: Call, x: Value) -> Any:
    return at("Flatten", x, axis=1)


@translates("expand_dims")
def _expand_dims(at: Call, x: Value) -> Any:
    axis = at.op.settings["axis"]
    return at("Unsqueeze", x, at.whole(axis if axis >= 0 else axis + at.ndim() + 1))


@translates("squeeze")
def _squeeze(at: Call, x: Value) -> Any:
    axis = at.op.settings["axis"]
    axes = axis if isinstance(axis, tuple) else (axis,)
    if axis is None or at.ndim() == len(axes):
        return at.reshaped(x, at.shape(), at.out)
    return at("Squeeze", x, at.whole(*(at.axis(a) for a in axes)))


@translates("depth_to_space", "space_to_depth")
def _blocks(at: Call, x: Value) -> Any:
    kind = "DepthToSpace" if at.op.name == "depth_to_space" else "SpaceToDepth"
    return at(kind, x, blocksize=at.op.settings["block_size"])


# -- parts -----------------------------------------------------------------------------


def _sliced(at: Call, x: Value, ranges: dict[int, tuple[int, int, int]]) -> Any:
    """The part [start:stop:step] on some axes."""
    if not ranges:
        return x
    starts, stops, steps = zip(*ranges.values(), strict=True)
    axes = at.whole(*ranges)
    return at("Slice", x, at.whole(*starts), at.whole(*stops), axes, at.whole(*steps))


def _range(
    now: Any, then: Any, lengths: tuple[int, int]
) -> tuple[int, int, int] | None:
    """A range of an axis that may be longer; None for all of it.

    now, then: (start, stop, step) for the two lengths. A place that moves with the
    length is counted from the end, in negative numbers.
    """
    (start, stop, step), (later_start, later_stop, _) = now, then
    if step == 1 and (start, later_start) == (0, 0) and (stop, later_stop) == lengths:
        return None
    if start != later_start:
        start -= lengths[0]
    if stop < 0:
        stop = -_FAR
    elif stop != later_stop:
        stop = stop - lengths[0] or _FAR
    return start, stop, step


def _part(at: Call, x: Value, *rest: Value) -> Any:
    """All operators that say by `key` what they pick; asked for long axes, and longer.

    So what cuts an axis that happens to be short is written as it is meant.
    """
    op: Any = at.op
    specs, longer = at.longer(1000), at.longer(2000)
    keys = op.key(*specs), op.key(*longer)
    ranges = {
        axis: _range(now, then, (specs[0].shape[axis], longer[0].shape[axis]))
        for axis, (now, then) in enumerate(zip(*keys, strict=True))
    }
    return _sliced(at, x, {axis: r for axis, r in ranges.items() if r is not None})


for _name in ("slice", "slice_axis", "slice_like", "reverse"):
    TRANSLATIONS[_name] = _part


@translates("_basic_index")
def _basic_index(at: Call, x: Value) -> Any:
    ranges, axis = {}, 0
    for part in at.op.settings["key"]:
        if part is None:
            continue
        n = at.length(0, axis)
        start, stop, step = (part, part + 1, 1) if isinstance(part, int) else part
        if (start, stop, step) != (0, n, 1):
            ranges[axis] = (start, stop if stop >= 0 else -_FAR, step)
        axis += 1
    return at.reshaped(_sliced(at, x, ranges), None, at.out)


@translates("SliceChannel", "_split_v2")
def _split(at: Call, x: Value) -> Any:
    op: Any = at.op
    axis = at.axis(op.axis)
    lengths = op.lengths(at.length(0, axis))
    pieces = at("Split", x, at.whole(*lengths), axis=axis, outputs=len(lengths))
    if not op.squeeze_axis:
        return pieces
    if at.ndim() == 1:
        return pieces  # of shape (1,), as mx.nd has nothing without axes
    return [at("Squeeze", piece, at.whole(axis)) for piece in pieces]


# -- joins and frames ------------------------------------------------------------------


@translates("Concat", "_rnn_param_concat", "_npi_concatenate")
def _concat(at: Call, *values: Value) -> Any:
    dim = at.op.settings["dim"]
    if dim is None:
        values = tuple(at("Reshape", value, at.whole(-1)) for value in values)
    return at("Concat", *values, axis=0 if dim is None else at.axis(dim))


@translates("stack")
def _stack(at: Call, *values: Value) -> Any:
    axis = at.op.settings["axis"]
    axis = axis if axis >= 0 else axis + at.ndim() + 1
    rows = [at("Unsqueeze", value, at.whole(axis)) for value in values]
    return at("Concat", *rows, axis=axis)


@translates("Pad")
def _pad(at: Call, x: Value) -> Any:
    settings = at.op.settings
    width, mode = settings["pad_width"], settings["mode"]
    pads = at.whole(*width[::2], *width[1::2])
    return at("Pad", x, pads, settings["constant_value"], mode=mode)


# -- repetitions -----------------------------------------------------------------------


@translates("broadcast_to", "broadcast_axis", "broadcast_like", "_npi_broadcast_to")
def _stretched(at: Call, x: Value, like: Value | None = None) -> Any:
    """An open axis either is that of the data, and 1 leaves it, or it is `like`'s."""
    old, new = at.shape(), at.out
    if new is not None and old is not None:
        padded = (1,) * (len(new) - len(old)) + old
        if all(n is not None or m is None for n, m in zip(new, padded, strict=True)):
            return at("Expand", x, at.whole(*(n or 1 for n in new)))
    if like is None or at.op.settings["lhs_axes"] is not None:
        raise at.refused("stretches to an axis that is open here. Fix that axis")
    return at("Expand", x, at("Shape", like, dtype=INT64))


@translates("tile")
def _tile(at: Call, x: Value) -> Any:
    reps, ndim = at.op.settings["reps"], at.ndim()
    if len(reps) > ndim:
        x = at("Unsqueeze", x, at.whole(*range(len(reps) - ndim)))
    return at("Tile", x, at.whole(*(1,) * (ndim - len(reps)), *reps))


@translates("repeat")
def _repeat(at: Call, x: Value) -> Any:
    count, axis = at.op.settings["repeats"], at.op.settings["axis"]
    ndim = at.ndim()
    if axis is None:
        x, axis, ndim = at("Reshape", x, at.whole(-1)), 0, 1
    axis %= ndim
    reps = [count if k == axis + 1 else 1 for k in range(ndim + 1)]
    copies = at("Tile", at("Unsqueeze", x, at.whole(axis + 1)), at.whole(*reps))
    return at.reshaped(copies, at.shape(), at.out)


def _filled(value: int, at: Call, x: Value) -> Any:
    tensor = at.writer.tensor(np.full(1, value, x.dtype))
    return at(
        "ConstantOfShape", at("Shape", x, dtype=INT64), dtype=x.dtype, value=tensor
    )


for _name, _value in (("zeros_like", 0), ("ones_like", 1)):
    TRANSLATIONS[_name] = partial(_filled, _value)


@translates("shape_array")
def _shape_array(at: Call, x: Value) -> Any:
    return at("Shape", x, dtype=INT64)


@translates("size_array")
def _size_array(at: Call, x: Value) -> Any:
    return at("Reshape", at("Size", x, dtype=INT64), at.whole(1))


@translates("_contrib_arange_like")
def _arange_like(at: Call, x: Value) -> Any:
    """The numbers themselves: they follow from the shape alone."""
    axis = at.op.settings["axis"]
    lengths = [at.length(0, k) for k in range(at.ndim())]
    size = int(np.prod(lengths)) if axis is None else lengths[axis]
    each = at.op.settings["repeat"]
    numbers = np.arange(-(-size // each)).repeat(each)[:size]
    found = at.op.settings["start"] + at.op.settings["step"] * numbers
    shape = lengths if axis is None else (size,)
    return at.constant(found.astype(at.dtype).reshape(shape))


# -- looking up ------------------------------------------------------------------------


@translates("take")
def _take(at: Call, x: Value, indices: Value) -> Any:
    axis = at.axis(at.op.settings["axis"])
    mode = at.op.settings["mode"]
    length = at.length(0, axis) if mode in ("clip", "wrap") else 0
    return at("Gather", x, at.indices(indices, length, mode), axis=axis)


@translates("Embedding", "_contrib_SparseEmbedding")
def _embedding(at: Call, indices: Value, weight: Value) -> Any:
    places = at.indices(indices, at.op.settings["input_dim"])
    return at("Gather", weight, places, axis=0)


@translates("pick")
def _pick(at: Call, x: Value, index: Value) -> Any:
    axis = at.axis(at.op.settings["axis"])
    mode = at.op.settings["mode"]
    found = at.indices(index, at.length(0, axis), mode)
    if at.ndim(1) < at.ndim():
        found = at("Unsqueeze", found, at.whole(axis))
    found = at("GatherElements", x, found, axis=axis)
    if at.op.settings["keepdims"] or at.ndim() == 1:
        return found
    return at("Squeeze", found, at.whole(axis))


@translates("one_hot")
def _one_hot(at: Call, indices: Value) -> Any:
    settings = at.op.settings
    depth, dtype = settings["depth"], resolve(settings["dtype"])
    places = at.cast(indices, INT64)
    places = at.chosen(places < 0, depth, places)  # ONNX counts them from the end
    pair = at.constant(np.array([settings["off_value"], settings["on_value"]], dtype))
    return at("OneHot", places, at.whole(depth), pair, dtype=dtype)


@translates("gather_nd")
def _gather_nd(at: Call, x: Value, indices: Value) -> Any:
    order = [*range(1, at.ndim(1)), 0]
    return at("GatherND", x, at.transposed(at.cast(indices, INT64), order))
