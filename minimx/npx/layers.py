"""Functions of `npx` that are made of several operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import minimx.np as np
from minimx.core.errors import ArgumentError
from minimx.core.ops.registry import lookup
from minimx.nd.signatures import functions
from minimx.np.calling.promotion import BOOL, cast
from minimx.np.multiarray import as_ndarray, ndarray, unshared
from minimx.npx.operators import function

__all__ = ["constraint_check", "index_add", "index_update", "nonzero", "reshape"]


def _softmax(
    name: str,
    data: Any,
    length: Any,
    axis: int,
    temperature: float | None,
    use_length: bool,
    dtype: Any,
    out: Any,
) -> ndarray:
    """A softmax over the first `length` elements of each row, or over all."""
    if isinstance(length, int):  # MXNet 2's second argument is the axis
        length, axis = None, length
    call: Any = function(name)
    data = as_ndarray(data, name, "data")
    settings = {"axis": axis, "temperature": temperature, "dtype": dtype, "out": out}
    if length is None:
        return call(data, **settings)
    return call(data, length, use_length=True, **settings)


def _masked(
    name: str, data: Any, mask: Any, axis: int, temperature: float, normalize: Any
) -> ndarray:
    data, mask = as_ndarray(data, name, "data"), as_ndarray(mask, name, "mask")
    mask = cast(mask, BOOL)
    hidden = np.where(mask, data, -1e4 if data.dtype == "float16" else -1e18)
    out = ROWS[name.removeprefix("masked_")](hidden, None, axis, temperature)
    return np.where(mask, out, 0 if name == "masked_softmax" else -np.inf)


_SOFTMAX = """
    softmax(
        data, length=None, axis: int = -1, temperature: float | None = None,
        use_length=False, dtype=None, out=None)
        Positive numbers that add up to 1 along an axis, from any numbers.

        length: how many elements of each row count; the others get 0.

    log_softmax(
        data, length=None, axis: int = -1, temperature: float | None = None,
        use_length=False, dtype=None, out=None)
        The logarithm of `softmax`, exact where that is close to 0.
"""
_MASKED = """
    masked_softmax(
        data, mask, axis: int = -1, temperature: float = 1.0,
        normalize: bool | None = True)
        A softmax over the elements that a mask lets through; the others get 0.

        mask: bool, of a shape that stretches to that of data.

    masked_log_softmax(
        data, mask, axis: int = -1, temperature: float = 1.0,
        normalize: bool | None = True)
        The logarithm of `masked_softmax`; minus infinity where the mask hides.
"""
ROWS = functions(_softmax, __name__, _SOFTMAX, inputs=7, returns="ndarray")
ROWS |= functions(_masked, __name__, _MASKED, inputs=5, returns="ndarray")
globals().update(ROWS)
if TYPE_CHECKING:  # as `python -m minimx.np.stubs` says
    from minimx.npx.layers_rows import *  # noqa: F403


def reshape(a: Any, newshape: Any, reverse: bool = False, order: str = "C") -> ndarray:
    """The elements in another shape, with codes.

    -1 is whatever is left, -2 keeps an axis, -3 drops one of length 1, -4 keeps all
    further axes, -5 joins two, -6 splits one into the two lengths that follow.
    """
    if order != "C":
        raise ArgumentError(f"npx.reshape: order={order!r}: only 'C' is available.")
    a = as_ndarray(a, "reshape")
    codes = (newshape,) if isinstance(newshape, int) else tuple(newshape)
    op = lookup("_npx_reshape").of(newshape=codes, reverse=bool(reverse))
    return unshared(op, a)


def nonzero(a: Any) -> ndarray:
    """The places of the elements that are not 0: (how many, axes), int64.

    An array without axes is taken for one of length 1.
    """
    a = as_ndarray(a, "nonzero")
    numbers = a.asnumpy()
    return np.array(
        _argwhere(numbers if numbers.ndim else numbers.reshape(1)),
        dtype="int64",
        ctx=a.context,
    )


def _argwhere(numbers: Any) -> Any:
    import numpy

    return numpy.argwhere(numbers)


def constraint_check(data: Any, msg: str = "Constraint violated!") -> ndarray:
    """True as an array without axes if all elements are; else ValueError(msg)."""
    found = np.all(as_ndarray(data, "constraint_check", "data"))
    if not found:
        raise ValueError(msg)
    return found


def _places(a: Any, ind: Any, val: Any, who: str) -> tuple[ndarray, ndarray, ndarray]:
    """The indices as columns, and the values for each of them."""
    a, ind = as_ndarray(a, who), as_ndarray(ind, who, "ind")
    val = val if isinstance(val, ndarray) else np.array(val, ctx=a.context)
    shape = (*ind.shape[1:], *a.shape[ind.shape[0] :])
    return a, ind, np.broadcast_to(cast(val, a.spec.dtype), shape)


def index_add(a: Any, ind: Any, val: Any) -> ndarray:
    """The array with values added at places; a place named twice gets both.

    a (d0, ..., dn), ind (k, m): column j is a place in the first k axes; val: a shape
    that stretches to (m, dk, ..., dn)
    """
    a, ind, val = _places(a, ind, val, "index_add")
    op = lookup("_backward_gather_nd").of(shape=a.shape)
    return a + a._bind(op, (val, ind))


def index_update(a: Any, ind: Any, val: Any) -> ndarray:
    """The array with values in place of others; arguments as for `index_add`."""
    a, ind, val = _places(a, ind, val, "index_update")
    put = lookup("scatter_nd").of(shape=a.shape)
    covered = a._bind(put, (np.ones_like(val), ind))
    return np.where(covered != 0, a._bind(put, (val, ind)), a)
