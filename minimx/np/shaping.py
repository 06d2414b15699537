"""The same elements in another shape or order of axes."""

from __future__ import annotations

from typing import Any

import numpy as onp

from minimx.core.arrays.array import NDArray
from minimx.core.errors import ShapeError
from minimx.core.ops.registry import lookup
from minimx.core.shapes import normalize_axis
from minimx.np.arithmetic import full_like
from minimx.np.calling.promotion import BOOL, cast, common, is_number
from minimx.np.creation import array, asarray
from minimx.np.multiarray import as_ndarray, ndarray, unshared


def reshape(a: Any, newshape: Any, order: str = "C") -> ndarray:
    """The elements in another shape; one length may be -1."""
    return as_ndarray(a, "reshape").reshape(newshape, order=order)


def ravel(x: Any, order: str = "C") -> ndarray:
    """The elements in one axis."""
    return as_ndarray(x, "ravel", "x").reshape(-1, order=order)


def transpose(a: Any, axes: Any = None) -> ndarray:
    """The axes in another order; reversed if none is given."""
    a = as_ndarray(a, "transpose")
    axes = tuple(axes or range(a.ndim)[::-1])
    order = tuple(normalize_axis("transpose", int(axis), a.ndim) for axis in axes)
    if sorted(order) != list(range(a.ndim)):
        raise ShapeError(
            f"transpose: axes {axes} must name each of the {a.ndim} axes once."
        )
    if order == tuple(range(a.ndim)):
        return a.reshape(a.shape)
    return a._bind(lookup("transpose").of(axes=order), (a,))


permute_dims = transpose


def swapaxes(a: Any, axis1: int, axis2: int) -> ndarray:
    """Exchange two axes."""
    a = as_ndarray(a, "swapaxes")
    return a._bind(lookup("SwapAxis").of(dim1=axis1, dim2=axis2), (a,))


def squeeze(x: Any, axis: Any = None) -> ndarray:
    """Drop axes of length 1: those named, or all."""
    x = as_ndarray(x, "squeeze", "x")
    if axis == () or (x.ndim == 0 and axis in (0, -1)):
        return x.reshape(x.shape)
    return unshared(lookup("squeeze").of(axis=axis, np_shape=True), x)


def expand_dims(a: Any, axis: Any) -> ndarray:
    """Insert axes of length 1 at the places of the result that `axis` names."""
    a = as_ndarray(a, "expand_dims")
    if isinstance(axis, int):
        return unshared(lookup("expand_dims").of(axis=axis), a)
    ndim = a.ndim + len(axis)
    places = {normalize_axis("expand_dims", one, ndim) for one in axis}
    lengths = iter(a.shape)
    return a.reshape([1 if k in places else next(lengths) for k in range(ndim)])


def broadcast_to(array: Any, shape: Any) -> ndarray:
    """The elements repeated along new axes and axes of length 1 (a copy)."""
    a = asarray(array) if is_number(array) else array
    a = as_ndarray(a, "broadcast_to", "array")
    wanted = (int(shape),) if not hasattr(shape, "__len__") else tuple(shape)
    if a.shape == wanted:
        return a.reshape(wanted)
    return a._bind(lookup("_npi_broadcast_to").of(shape=wanted), (a,))


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Elements of x where the condition holds, of y elsewhere; all stretch alike.

    With the condition alone: the places where it holds, as `nonzero` gives them.
    """
    if x is None and y is None:
        return as_ndarray(condition, "where", "condition").nonzero()
    arrays = [v for v in (condition, x, y) if isinstance(v, NDArray)]
    if not arrays:
        return onp.where(condition, x, y)
    condition, x, y = (
        array(v, ctx=arrays[0].context) if isinstance(v, onp.ndarray) else v
        for v in (condition, x, y)
    )
    if not isinstance(condition, NDArray):
        flag = full_like(arrays[0].astype(BOOL), bool(condition))
        condition = flag
    if is_number(x) and is_number(y):
        x, y = _number_beside(condition, x), _number_beside(condition, y)
    elif is_number(x):
        x = full_like(y, x)
    elif is_number(y):
        y = full_like(x, y)
    x, y = as_ndarray(x, "where", "x"), as_ndarray(y, "where", "y")
    dtype = common(x.spec.dtype, y.spec.dtype)
    x, y = cast(x, dtype), cast(y, dtype)
    condition = as_ndarray(condition, "where", "condition")
    return condition._bind(lookup("_npi_where").of(), (condition, x, y))


def _number_beside(array: Any, number: Any) -> Any:
    """A number as a float32 array without axes on the device of another array."""
    return full_like(cast(array, onp.dtype("float32")), number)


def shape(a: Any) -> tuple[int, ...]:
    """The length of each axis."""
    return tuple(a.shape) if hasattr(a, "shape") else tuple(onp.shape(a))


def ndim(a: Any) -> int:
    """The number of axes."""
    return len(shape(a))


def size(a: Any, axis: int | None = None) -> int:
    """The number of elements, or the length of one axis."""
    lengths = shape(a)
    return int(onp.prod(lengths, dtype=int)) if axis is None else lengths[axis]


def may_share_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    """Whether two arrays are parts of one block of memory."""
    return shares_memory(a, b)


def shares_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    """Whether some memory belongs to both arrays."""
    a, b = as_ndarray(a, "shares_memory"), as_ndarray(b, "shares_memory", "b")
    if a.chunk is not b.chunk:
        return False
    ends = a.offset + a.spec.nbytes, b.offset + b.spec.nbytes
    return bool(max(a.offset, b.offset) < min(ends))


def tril(m: Any, k: int = 0) -> ndarray:
    """The matrix with zeros above its k-th diagonal."""
    return _triangle(as_ndarray(m, "tril", "m"), onp.tri, k, lower=True)


def triu(m: Any, k: int = 0) -> ndarray:
    """The matrix with zeros below its k-th diagonal."""
    return _triangle(as_ndarray(m, "triu", "m"), onp.tri, k - 1, lower=False)


def _triangle(m: Any, tri: Any, k: int, lower: bool) -> ndarray:
    rows, columns = m.shape[-2:] if m.ndim > 1 else (m.shape[-1],) * 2
    mask = tri(rows, columns, k, dtype=bool)
    inside = array(mask if lower else ~mask, ctx=m.context)
    return where(inside, m, 0)


def meshgrid(
    *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> list[ndarray]:
    """A grid for each of several axes: the coordinate of every place.

    indexing: 'xy' swaps the first two axes of the result, 'ij' does not. sparse: leave
    length 1 where nothing changes. copy: NumPy's; there are always copies here.
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing={indexing!r}: choose 'xy' or 'ij'.")
    n = len(xi)
    arrays = [
        as_ndarray(x, "meshgrid", "xi").reshape_view(
            (1,) * k + (-1,) + (1,) * (n - 1 - k)
        )
        for k, x in enumerate(xi)
    ]
    if not sparse:
        full = tuple(a.shape[k] for k, a in enumerate(arrays))
        arrays = [broadcast_to(a, full) for a in arrays]
    if indexing == "xy" and n > 1:
        arrays = [swapaxes(a, 0, 1) for a in arrays]
    return arrays


def atleast_1d(*arys: Any) -> Any:
    """Each array with one axis at least."""
    return _atleast(arys, lambda a: a.reshape(1))


def atleast_2d(*arys: Any) -> Any:
    """Each array with two axes at least; a vector becomes a row."""
    return _atleast(arys, lambda a: a.reshape(1, -1), 2)


def atleast_3d(*arys: Any) -> Any:
    """Each array with three axes at least; a matrix gets one at its end."""

    def widened(a: Any) -> Any:
        return a.reshape(*a.shape, 1) if a.ndim == 2 else a.reshape(1, -1, 1)

    return _atleast(arys, widened, 3)


def _atleast(arrays: Any, widen: Any, least: int = 1) -> Any:
    found = [
        a.reshape(a.shape) if a.ndim >= least else widen(a)
        for a in (as_ndarray(x, "atleast_nd", "arys") for x in arrays)
    ]
    return found[0] if len(found) == 1 else found


__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_to", "expand_dims",
    "may_share_memory", "meshgrid", "ndim", "permute_dims", "ravel",
    "reshape", "shape", "shares_memory", "size", "squeeze", "swapaxes", "transpose",
    "tril", "triu", "where",
]  # fmt: skip
