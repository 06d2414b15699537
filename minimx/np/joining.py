"""Joining arrays, taking them apart, repeating, framing, inserting and deleting."""

from __future__ import annotations

from typing import Any

import numpy as onp

from minimx.core.arrays.array import NDArray
from minimx.core.errors import ArgumentError, ShapeError
from minimx.core.shapes import normalize_axis
from minimx.np.calling.calls import (
    arrays_of,
    as_tuple,
    call,
    constant,
    refuse_arguments,
    value_beside,
    whole,
)
from minimx.np.calling.promotion import cast
from minimx.np.multiarray import as_ndarray, ndarray

# -- joining ---------------------------------------------------------------------------


def concatenate(seq: Any, axis: int | None = 0, out: Any = None) -> ndarray:
    """Arrays one after another along an axis; axis=None joins them flat.

    seq: arrays whose shapes differ along the axis only; here and in all functions that
    join, NumPy's arrays, numbers and lists of numbers may stand among them
    """
    return call("_npi_concatenate", *arrays_of("concatenate", seq), dim=axis, out=out)


concat = concatenate


def stack(arrays: Any, axis: int = 0, out: Any = None) -> ndarray:
    """Arrays of one shape one after another along a new axis."""
    return call("stack", *arrays_of("stack", arrays), axis=axis, out=out)


def vstack(arrays: Any, out: Any = None) -> ndarray:
    """Arrays below each other; vectors are rows."""
    return call("_npi_vstack", *arrays_of("vstack", arrays), out=out)


row_stack = vstack


def hstack(arrays: Any, out: Any = None) -> ndarray:
    """Arrays beside each other: along the second axis, vectors along their only one."""
    return call("_npi_hstack", *arrays_of("hstack", arrays), out=out)


def dstack(arrays: Any, out: Any = None) -> ndarray:
    """Arrays behind each other, along the third axis."""
    return call("_npi_dstack", *arrays_of("dstack", arrays), out=out)


def column_stack(tup: Any) -> ndarray:
    """Vectors and matrices as the columns of one matrix."""
    return call("_npi_column_stack", *arrays_of("column_stack", tup))


def append(arr: Any, values: Any, axis: int | None = None) -> ndarray:
    """An array and, after it along an axis, further values; flat without an axis."""
    return concatenate([arr, values], axis)


# -- taking apart ----------------------------------------------------------------------


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[ndarray]:
    """An array cut along an axis, at given places or into equal pieces.

    indices_or_sections: how many pieces, or where each piece but the first begins.
    Raises ValueError where equal pieces cannot be made.
    """
    ary = as_ndarray(ary, "split", "ary")
    axis = normalize_axis("split", axis, ary.ndim)
    length = ary.shape[axis]
    if not _is_count(indices_or_sections):
        return _cut(ary, whole(as_tuple(indices_or_sections)), axis)
    count = whole(indices_or_sections)
    if count < 1 or length % count:
        raise ShapeError(
            f"split: {count} equal pieces cannot be made of an axis of length "
            f"{length}. array_split makes pieces of nearly one length."
        )
    step = length // count
    return _cut(ary, tuple(step * k for k in range(1, count)), axis)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[ndarray]:
    """As `split`, but the first pieces may be longer by one than the last."""
    if not _is_count(indices_or_sections):
        return split(ary, indices_or_sections, axis)
    ary = as_ndarray(ary, "array_split", "ary")
    axis = normalize_axis("array_split", axis, ary.ndim)
    count = whole(indices_or_sections)
    if count < 1:
        raise ValueError(f"array_split: {count} pieces; ask for 1 or more.")
    short, longer = divmod(ary.shape[axis], count)
    lengths = [short + 1] * longer + [short] * (count - longer)
    return _cut(ary, tuple(onp.cumsum(lengths[:-1]).tolist()), axis)


def _is_count(value: Any) -> bool:
    return not isinstance(value, (list, tuple, set)) and onp.ndim(value) == 0


def _cut(ary: Any, places: tuple[int, ...], axis: int) -> list[ndarray]:
    length = ary.shape[axis]
    ends = (0, *places, length)
    if list(ends) == sorted(ends):
        found = call("_split_v2", ary, indices=ends[:-1], axis=axis)
        return list(found) if isinstance(found, (list, tuple)) else [found]
    # Places that do not ascend, or lie outside: NumPy's slices say what they mean.
    before = (slice(None),) * axis
    pairs = zip((0, *places), (*places, length), strict=True)
    return [ary[(*before, slice(a, b))] for a, b in pairs]


def hsplit(ary: Any, indices_or_sections: Any) -> list[ndarray]:
    """An array cut into columns; vectors along their only axis."""
    ary = as_ndarray(ary, "hsplit", "ary")
    if ary.ndim < 1:
        raise ValueError("hsplit: an array without axes cannot be cut.")
    return split(ary, indices_or_sections, 1 if ary.ndim > 1 else 0)


def vsplit(ary: Any, indices_or_sections: Any) -> list[ndarray]:
    """An array of two axes or more cut into rows."""
    ary = as_ndarray(ary, "vsplit", "ary")
    if ary.ndim < 2:
        raise ValueError(f"vsplit: shape {ary.shape} must have two axes or more.")
    return split(ary, indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[ndarray]:
    """An array of three axes or more cut along the third."""
    ary = as_ndarray(ary, "dsplit", "ary")
    if ary.ndim < 3:
        raise ValueError(f"dsplit: shape {ary.shape} must have three axes or more.")
    return split(ary, indices_or_sections, 2)


# -- repeating -------------------------------------------------------------------------


def tile(A: Any, reps: Any) -> ndarray:  # noqa: N803 (NumPy's name)
    """Copies of an array side by side: `reps` of them along each axis."""
    a = as_ndarray(A, "tile", "A")
    return call("tile", a, reps=whole(as_tuple(reps)), np_shape=True)


def repeat(a: Any, repeats: Any, axis: int | None = None) -> ndarray:
    """Every element several times in a row, along an axis or of the flat array.

    repeats: how often, one number or one for each element along the axis
    """
    a = as_ndarray(a, "repeat")
    if _is_count(repeats):
        return call("repeat", a, repeats=whole(repeats), axis=axis)
    if axis is None:
        a, axis = a.reshape_view(-1), 0
    places = onp.repeat(onp.arange(a.shape[axis]), whole(repeats))
    return call("take", a, constant(places, a, "int64"), axis=axis, mode="clip")


def resize(a: Any, new_shape: Any) -> ndarray:
    """The elements in a new shape; there are copies of them if it has room for more."""
    a = as_ndarray(a, "resize").reshape_view(-1)
    shape = whole(as_tuple(new_shape))
    if min(shape, default=0) < 0:
        raise ValueError(f"resize: {shape}: an axis cannot have a negative length.")
    size = int(onp.prod(shape))
    if a.size == 0 or size == 0:
        return constant(onp.zeros(shape), a)
    copies = -(-size // a.size)
    return tile(a, copies)[:size].reshape_view(shape)


# -- frames ----------------------------------------------------------------------------


def pad(x: Any, pad_width: Any, mode: str = "constant", **kwargs: Any) -> ndarray:
    """An array inside a frame.

    pad_width: how many elements before and after: (before, after) for all axes, or one
    such pair for each.
    mode: constant (with constant_values=), edge, reflect, symmetric, or maximum and
    minimum, the extremum along the axis.
    """
    x = as_ndarray(x, "pad", "x")
    value = kwargs.pop("constant_values", 0)
    even = kwargs.pop("reflect_type", "even")
    stat = kwargs.pop("stat_length", None)
    refuse_arguments("pad", stat_length=stat, **kwargs)
    if x.ndim == 0:
        return x.copy()
    flat = onp.asarray(pad_width)
    if flat.dtype.kind not in "iu":
        raise TypeError(
            f"np.pad: pad_width={pad_width!r} must be a pair (before, after), or one "
            "for each axis: ((1, 1), (0, 2))."
        )
    widths = tuple(tuple(pair) for pair in onp.broadcast_to(flat, (x.ndim, 2)).tolist())
    if mode in ("maximum", "minimum"):
        return _pad_extremum(x, widths, "max" if mode == "maximum" else "min")
    if mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError(
            f"np.pad: mode {mode!r} is not available; choose constant, edge, reflect, "
            "symmetric, maximum or minimum."
        )
    settings = {"constant_value": value, "reflect_type": even}
    return call("_npi_pad", x, pad_width=widths, mode=mode, **settings)


def _pad_extremum(x: Any, widths: Any, word: str) -> Any:
    for axis, (before, after) in enumerate(widths):
        extremum = call(word, x, axis=(axis,), keepdims=True)
        parts = []
        for width in (before, after):
            if width:
                parts.append(call("repeat", extremum, repeats=width, axis=axis))
        if before:
            parts.insert(1, x)
        else:
            parts.insert(0, x)
        x = concatenate(parts, axis) if len(parts) > 1 else x
    return x


# -- inserting and deleting ------------------------------------------------------------


def _key(obj: Any) -> Any:
    """Places as NumPy takes them; arrays of ours are waited for."""
    if isinstance(obj, NDArray):
        obj = obj.asnumpy()
    if isinstance(obj, onp.ndarray) and obj.dtype.kind == "f":
        obj = obj.astype(onp.int64)
    return obj


def _places(who: str, find: Any) -> Any:
    try:
        return find()
    except (IndexError, ValueError) as error:
        raise ShapeError(f"np.{who}: {error}.") from None


def delete(arr: Any, obj: Any, axis: int | None = None) -> ndarray:
    """An array without the slices at some places along an axis; flat without an axis.

    obj: a place, several, or a slice. As in MXNet, an array may name places that do not
    exist, negative ones among them: they are passed over.
    """
    arr = as_ndarray(arr, "delete", "arr")
    if axis is None:
        arr, axis = arr.reshape_view(-1), 0
    axis = normalize_axis("delete", axis, arr.ndim)
    every, key = onp.arange(arr.shape[axis]), _key(obj)
    if isinstance(key, onp.ndarray) and key.ndim and key.dtype != bool:
        key = key[(key >= 0) & (key < every.size)]
    kept = _places("delete", lambda: onp.delete(every, key))
    places = constant(kept, arr, "int64")
    return call("take", arr, places, axis=axis, mode="clip")


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> ndarray:
    """An array with values put in before some places along an axis; flat without one.

    obj: a place, several, or a slice; values: an array that stretches to what they ask
    for, in the element type of `arr` afterwards
    """
    arr = as_ndarray(arr, "insert", "arr")
    values = cast(value_beside(values, arr, "insert"), arr.spec.dtype)
    if axis is None:
        arr, axis = arr.reshape_view(-1), 0
    axis = normalize_axis("insert", axis, arr.ndim)
    length, key = arr.shape[axis], _key(obj)
    values = values.reshape_view((1,) * (arr.ndim - values.ndim) + values.shape)
    if not isinstance(key, slice) and onp.ndim(key) == 0:
        # A single place takes the values as they are: their first axis is `axis`.
        values = call("_np_moveaxis", values, source=(0,), destination=(axis,))
    count = _how_many(key, length)
    count = int(values.shape[axis]) if count == 1 else count
    shape = (*arr.shape[:axis], count, *arr.shape[axis + 1 :])
    values = call("_npi_broadcast_to", values, shape=shape)
    new = length + onp.arange(count)
    order = _places("insert", lambda: onp.insert(onp.arange(length), key, new))
    both = call("_npi_concatenate", arr, values, dim=axis)
    return call("take", both, constant(order, arr, "int64"), axis=axis, mode="clip")


def _how_many(key: Any, length: int) -> int:
    """How many places a key of `insert` names."""
    if isinstance(key, slice):
        return len(range(*key.indices(length)))
    key = onp.asarray(key)
    if key.ndim > 1:
        raise ArgumentError("np.insert: places are a number, a slice or a row of them.")
    return int(key.sum()) if key.dtype == bool else key.size


__all__ = [
    "append", "array_split", "column_stack", "concat", "concatenate", "delete",
    "dsplit", "dstack", "hsplit", "hstack", "insert", "pad", "repeat", "resize",
    "row_stack", "split", "stack", "tile", "vsplit", "vstack",
]  # fmt: skip
