"""Nodes that move elements, and those that compute with shapes.

A shape of which all is known is an array like any other; of an open one a vector
remains that only `Expand` and `ConstantOfShape` understand (`ShapeOf`).
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from minimx.core.shapes import is_whole
from minimx.onnx.reading.values import Known, Read, ShapeOf, as_array, reads

_FAR = (1 << 31) - 1  # what exporters write for the end of an axis is at least that


def _constant(at: Read, array: Any) -> Known:
    found = np.asarray(array)
    return Known(at.reader.unique(at.name), as_array(at.name, found), found.shape)


# -- constants and shapes --------------------------------------------------------------


@reads("Constant")
def _given(at: Read) -> Known:
    kinds: dict[str, Any] = {"value_float": np.float32, "value_floats": np.float32}
    kinds |= {"value_int": np.int64, "value_ints": np.int64}
    for word, kind in kinds.items():
        if word in at.attributes:
            return _constant(at, np.array(at.attributes[word], kind))
    if "value" not in at.attributes:
        raise at.refused(f"holds {', '.join(at.attributes)}, which minimx cannot read")
    return _constant(at, at.attributes["value"])


@reads("Shape")
def _shape(at: Read, x: Any) -> Any:
    at.only(start=0)
    shape = at.shape()
    if "end" not in at.attributes and is_whole(shape):
        return _constant(at, np.array(shape, np.int64))
    return ShapeOf(x)


@reads("ConstantOfShape")
def _filled(at: Read, shape: Any) -> Any:
    value = at.get("value", np.zeros(1, np.float32))
    if isinstance(shape, Known):
        at.check_size(prod(at.numbers(0)) if min(at.numbers(0), default=0) >= 0 else -1)
        return _constant(at, np.full(at.numbers(0), value[0], value.dtype))
    if not isinstance(shape, ShapeOf):
        raise at.refused("has a shape that is computed from data")
    number = float(value[0])
    found = at.use("zeros_like", shape.value)
    return at.use("_plus_scalar", found, scalar=number) if number else found


@reads("Range")
def _range(at: Read, *ends: Any) -> Any:
    start, stop, step = (at.numbers(k)[0] for k in range(3))
    at.check_size(max(0, (stop - start) / step))
    return _constant(at, np.arange(start, stop, step, dtype=ends[0].array.dtype))


# -- the order and number of axes ------------------------------------------------------


@reads("Reshape")
def _reshape(at: Read, x: Any, shape: Any = None) -> Any:
    at.only(allowzero=0)
    if isinstance(shape, ShapeOf):
        return at.use("reshape_like", x, shape.value)
    if at.given(1):
        return at.use("Reshape", x, shape=tuple(at.numbers(1)) or (1,))
    return at.use("Reshape", x, shape=tuple(at.get("shape")))


@reads("Flatten")
def _flatten(at: Read, x: Any) -> Any:
    axis = at.get("axis", 1)
    axis = axis + at.ndim() if axis < 0 else axis
    if axis == 1:
        return at.use("Flatten", x)
    if axis == 0:
        return at.use("Reshape", x, shape=(1, -1))
    after = [n or 0 for n in (at.shape() or ())[axis:]]
    if not all(after):
        raise at.refused(f"has axis={axis}, and the axes behind it are open")
    return at.use("Reshape", x, shape=(-1, int(np.prod(after))))


@reads("Squeeze")
def _squeeze(at: Read, x: Any, axes: Any = None) -> Any:
    found = at.axes(1)
    return at.use("squeeze", x, axis=None if found is None else tuple(found))


@reads("Unsqueeze")
def _unsqueeze(at: Read, x: Any, axes: Any = None) -> Any:
    found = at.axes(1) or []
    rank = at.ndim() + len(found)
    for axis in sorted(axis % rank for axis in found):
        if at.shape() == () and not axis:
            continue  # an array without axes has one already here
        x = at.use("expand_dims", x, axis=axis)
    return x


# -- parts and joins -------------------------------------------------------------------


@reads("Slice")
def _slice(at: Read, x: Any, *rest: Any) -> Any:
    if at.given(1):
        starts, stops = at.numbers(1), at.numbers(2)
        axes = at.numbers(3) if at.given(3) else list(range(len(starts)))
        steps = at.numbers(4) if at.given(4) else [1] * len(starts)
    else:
        starts, stops = list(at.get("starts")), list(at.get("ends"))
        axes, steps = list(at.get("axes", range(len(starts)))), [1] * len(starts)
    if any(axis < 0 for axis in axes):
        axes = [axis % at.ndim() for axis in axes]
    width = max(axes) + 1
    begin, end, step = [None] * width, [None] * width, [None] * width
    for axis, start, stop, by in zip(axes, starts, stops, steps, strict=True):
        begin[axis] = start if abs(start) < _FAR - 1 else None
        end[axis] = stop if abs(stop) < _FAR - 1 else None
        step[axis] = by
    return at.use("slice", x, begin=tuple(begin), end=tuple(end), step=tuple(step))


@reads("Split")
def _split(at: Read, x: Any, sizes: Any = None) -> Any:
    axis = at.get("axis", 0)
    given = at.numbers(1) if at.given(1) else at.get("split")
    if given is None:
        count = len(at.outputs)
        found = at.use("SliceChannel", x, axis=axis, num_outputs=count)
    else:
        places = tuple(int(n) for n in np.cumsum([0, *given[:-1]]))
        found = at.use("_split_v2", x, axis=axis, indices=places)
    return found if isinstance(found, list) else [found]


@reads("Pad")
def _pad(at: Read, x: Any, *rest: Any) -> Any:
    widths = at.numbers(1) if at.given(1) else list(at.get("pads"))
    value = at.numbers(2)[0] if at.given(2) else at.get("value", 0.0)
    if at.given(3):
        raise at.refused("names the axes that it pads; write the widths of all axes")
    half = len(widths) // 2
    pairs = zip(widths[:half], widths[half:], strict=True)
    flat = tuple(int(n) for pair in pairs for n in pair)
    mode = at.get("mode", "constant")
    return at.use("Pad", x, mode=mode, pad_width=flat, constant_value=float(value))


# -- repetitions -----------------------------------------------------------------------


@reads("Expand")
def _expand(at: Read, x: Any, shape: Any) -> Any:
    """Stretched to a shape, in which 1 keeps an axis."""
    if isinstance(shape, ShapeOf):
        return at.use("broadcast_like", x, shape.value)
    wanted = [0 if n == 1 else n for n in at.numbers(1)]
    more = at.ndim() - len(wanted)
    for _ in range(-more):
        x = at.use("expand_dims", x, axis=0)
    return at.use("broadcast_to", x, shape=(*[0] * more, *wanted))


@reads("Tile")
def _tile(at: Read, x: Any, reps: Any) -> Any:
    return at.use("tile", x, reps=tuple(at.numbers(1)))


@reads("Resize", "Upsample")
def _resize(at: Read, x: Any, *rest: Any) -> Any:
    place = 1 if at.kind == "Upsample" else 2
    new, old = at.out or (), at.shape() or ()
    if at.given(place):
        scales = at.numbers(place)
    elif is_whole(at.out) and is_whole(at.shape()):
        scales = [(n or 0) / (m or 1) for n, m in zip(new, old, strict=True)]
    else:
        raise at.refused("makes an image of a size that is not known")
    mode = at.get("mode", "nearest")
    how = at.get("coordinate_transformation_mode", "half_pixel")
    rounded = at.get("nearest_mode", "round_prefer_floor")
    if mode == "nearest":
        scale = int(scales[-1])
        copies = (("half_pixel", "round_prefer_floor"), ("asymmetric", "floor"))
        if list(scales) != [1, 1, scale, scale] or (how, rounded) not in copies:
            raise at.refused(f"does not copy each pixel equally often ({scales})")
        return at.use("UpSampling", x, scale=scale, sample_type="nearest")
    if mode != "linear" or len(new) != 4 or None in new:
        raise at.refused("is neither nearest nor linear on images of a known size")
    if how not in ("align_corners", "half_pixel", "pytorch_half_pixel"):
        raise at.refused(f"has coordinate_transformation_mode={how!r}")
    size = {"height": new[2], "width": new[3], "align_corners": how == "align_corners"}
    return at.use("_contrib_BilinearResize2D", x, **size)


# -- looking up ------------------------------------------------------------------------


@reads("Gather")
def _gather(at: Read, x: Any, indices: Any) -> Any:
    """Negative places count from the end, as in mode 'wrap'."""
    axis = at.get("axis", 0)
    place = None if at.shape(1) != () else at.scalar(indices)
    if place is not None and not isinstance(x, Known):
        begin = int(place)
        end = begin + 1 or None
        found = at.use("slice_axis", x, axis=axis, begin=begin, end=end)
        return at.use("squeeze", found, axis=axis) if at.ndim() > 1 else found
    found = at.use("take", x, indices, axis=axis, mode="wrap")
    if at.shape(1) == () and at.ndim() > 1:
        return at.use("squeeze", found, axis=(axis % at.ndim(),))
    if at.shape(1) == () and isinstance(found, Known):
        return found._replace(shape=())
    return found


@reads("GatherElements")
def _gather_elements(at: Read, x: Any, indices: Any) -> Any:
    axis = at.get("axis", 0)
    return at.use("_take_along_axis", x, indices, axis=axis, mode="wrap")


@reads("GatherND")
def _gather_nd(at: Read, x: Any, indices: Any) -> Any:
    at.only(batch_dims=0)
    order = (at.ndim(1) - 1, *range(at.ndim(1) - 1))
    return at.use("gather_nd", x, at.use("transpose", indices, axes=order))


@reads("OneHot")
def _one_hot(at: Read, indices: Any, depth: Any, values: Any) -> Any:
    at.only(axis=-1)
    off, on = map(float, at.numbers(2))
    how: dict[str, Any] = {"on_value": on, "off_value": off}
    how["dtype"] = np.dtype(values.array.dtype).name
    return at.use("one_hot", indices, depth=int(at.numbers(1)[0]), **how)
