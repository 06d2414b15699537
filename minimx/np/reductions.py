"""Many elements become one: `sum`, `mean`, `max`, `argmax`, `any`, `cumsum`.

axis: None for all axes, one axis, or several. keepdims: leave length 1 in their place.
out: an array to write to. `initial` and `where`, which NumPy has, are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as onp

from minimx.core.dtypes import INT64, resolve
from minimx.core.errors import ShapeError, Unavailable
from minimx.core.ops.registry import lookup
from minimx.nd.signatures import functions
from minimx.np.arithmetic import store
from minimx.np.calling.promotion import BOOL, cast, real
from minimx.np.multiarray import as_ndarray, ndarray

Axis = int | tuple[int, ...] | None


def _refuse(who: str, initial: Any, where: Any) -> None:
    if initial is not None or where is not None:
        what = "where" if initial is None else "initial"
        raise Unavailable(
            f"np.{who}: {what}= is not supported. Choose the elements with a mask "
            "first, or put the number in afterwards."
        )


def _axis(axis: Any) -> Any:
    if isinstance(axis, list):
        return tuple(axis)
    return axis.item() if isinstance(axis, onp.integer) else axis


def _reduced(
    who: str, a: Any, axis: Any, keepdims: bool, out: Any, **more: Any
) -> ndarray:
    axis = _axis(axis)
    if axis == ():
        return store(a.copy(), out)
    op = lookup(who).of(axis=axis, keepdims=bool(keepdims), **more)
    return store(a._bind(op, (a,)), out)


def _typed(a: Any, dtype: Any) -> ndarray:
    """The array in the type to add up in; bool counts in int64, fractions add up."""
    if dtype is not None:
        wanted = resolve(dtype)
        if wanted.kind in "iu" and a.spec.dtype.kind == "f":
            return a
        wider = wanted.kind != "f" or a.spec.dtype.kind != "f"
        wider = wider or wanted.itemsize > a.spec.dtype.itemsize
        return cast(a, wanted) if wider else a
    return cast(a, INT64) if a.spec.dtype == BOOL else a


def _answer(value: Any, dtype: Any, out: Any) -> ndarray:
    """The result in the type that was asked for."""
    return store(value if dtype is None else cast(value, resolve(dtype)), out)


def _total(
    who: str,
    a: Any,
    axis: Any,
    dtype: Any,
    out: Any,
    keepdims: bool,
    initial: Any = None,
    where: Any = None,
) -> ndarray:
    """A sum or a product, computed and given in the type that was asked for."""
    _refuse(who, initial, where)
    a = _typed(as_ndarray(a, who), dtype)
    return _answer(_reduced(who, a, axis, keepdims, None, np_shape=True), dtype, out)


_TOTALS = """
    sum(
        a, axis: Axis = None, dtype=None, out=None, keepdims=False, initial=None,
        where=None)
        Add up the elements. dtype: the type to compute and answer in.

        initial and where are NumPy's; they raise Unavailable.

    prod(
        a, axis: Axis = None, dtype=None, out=None, keepdims=False, initial=None,
        where=None)
        Multiply the elements. dtype: the type to compute and answer in.

        initial and where are NumPy's; they raise Unavailable.

    nansum(a, axis: Axis = None, dtype=None, out=None, keepdims=False)
        Add up the elements that are numbers; dtype as for `sum`.

    nanprod(a, axis: Axis = None, dtype=None, out=None, keepdims=False)
        Multiply the elements that are numbers; dtype as for `sum`.
"""


def _extreme(
    who: str, a: Any, axis: Any, out: Any, keepdims: bool, initial: Any, where: Any
) -> ndarray:
    _refuse(who, initial, where)
    return _reduced(who, as_ndarray(a, who), axis, keepdims, out, np_shape=True)


_EXTREMES = """
    max(a, axis: Axis = None, out=None, keepdims=False, initial=None, where=None)
        The largest element. initial and where are NumPy's; they raise Unavailable.

    min(a, axis: Axis = None, out=None, keepdims=False, initial=None, where=None)
        The smallest element. initial and where are NumPy's; they raise Unavailable.
"""


def _truth(name: str, a: Any, axis: Any, out: Any, keepdims: bool) -> ndarray:
    a = as_ndarray(a, name.removeprefix("_np_"))
    if axis == ():
        return store(a != 0, out)
    return _reduced(name, a, axis, keepdims, out)


_TRUTHS = """
    any(a, axis: Axis = None, out=None, keepdims=False): _np_any
        Whether any element is not 0.

    all(a, axis: Axis = None, out=None, keepdims=False): _np_all
        Whether no element is 0.
"""


def _index(name: str, a: Any, axis: Any, out: Any, keepdims: bool) -> ndarray:
    a = as_ndarray(a, name.removeprefix("_npi_"))
    if a.ndim == 0 and axis in (0, -1):
        axis = None
    return _reduced(name, a, axis, keepdims, out)


_INDICES = """
    argmax(a, axis: int | None = None, out=None, keepdims=False): _npi_argmax
        The index of the largest element, int64; the first one wins.

    argmin(a, axis: int | None = None, out=None, keepdims=False): _npi_argmin
        The index of the smallest element, int64; the first one wins.
"""


def _running(name: str, a: Any, axis: Any, dtype: Any, out: Any) -> ndarray:
    a = _typed(as_ndarray(a, name.rpartition("_")[2]), None)
    named = None if dtype is None else resolve(dtype).name
    op = lookup(name).of(axis=_axis(axis), dtype=named)
    return store(a._bind(op, (a,)), out)


_RUNNING = """
    cumsum(a, axis: int | None = None, dtype=None, out=None): _np_cumsum
        The sum so far, along an axis or of all elements in a row.

    cumprod(a, axis: int | None = None, dtype=None, out=None): _npi_cumprod
        The product so far, along an axis or of all elements in a row.
"""


def _among_numbers(name: str, a: Any, axis: Any, *more: Any) -> ndarray:
    """As the function without `nan`, with an element that never wins for each NaN."""
    never = -onp.inf if name.endswith("max") else onp.inf
    plain = ROWS[name.removeprefix("nan")]
    found: ndarray = plain(_filled(a, name, never), axis, *more)
    return found


def _filled(a: Any, who: str, number: float) -> ndarray:
    a = as_ndarray(a, who)
    if a.spec.dtype.kind != "f":
        return a
    op = lookup("_npi_nan_to_num").of(nan=number, posinf=onp.inf, neginf=-onp.inf)
    return a._bind(op, (a,))


_AMONG_NUMBERS = """
    nanmax(a, axis: Axis = None, out=None, keepdims=False)
        The largest of the elements that are numbers.

    nanmin(a, axis: Axis = None, out=None, keepdims=False)
        The smallest of the elements that are numbers.

    nanargmax(a, axis: int | None = None)
        The index of the largest of the elements that are numbers.

    nanargmin(a, axis: int | None = None)
        The index of the smallest of the elements that are numbers.
"""


def _deviation(
    name: str, a: Any, axis: Any, dtype: Any, out: Any, ddof: int, keepdims: bool
) -> ndarray:
    spread = (var if name == "std" else nanvar)(a, axis, dtype, None, ddof, keepdims)
    return store(spread._bind(lookup("sqrt").of(), (spread,)), out)


_DEVIATIONS = """
    std(a, axis: Axis = None, dtype=None, out=None, ddof: int = 0, keepdims=False)
        The square root of the variance; arguments as for `var`.

    nanstd(a, axis: Axis = None, dtype=None, out=None, ddof: int = 0, keepdims=False)
        The standard deviation of the elements that are numbers.
"""
_AXES = """
    axis: None for all axes, one, or several. keepdims: leave them with length 1. out:
    an array to write to.
"""
_ONE_AXIS = "axis: None for the elements of the flat array, or one axis."
ROWS: dict[str, Callable[..., Any]] = {}
for _body, _table, _contract in (
    (_total, _TOTALS, _AXES), (_extreme, _EXTREMES, _AXES), (_truth, _TRUTHS, _AXES),
    (_index, _INDICES, _ONE_AXIS), (_running, _RUNNING, _ONE_AXIS),
    (_among_numbers, _AMONG_NUMBERS, ""), (_deviation, _DEVIATIONS, _AXES),
):  # fmt: skip
    ROWS |= functions(_body, __name__, _table, 7, "ndarray", _contract)
ROWS |= {"amax": ROWS["max"], "amin": ROWS["min"]}
globals().update(ROWS)
if TYPE_CHECKING:  # as `python -m minimx.np.stubs` says
    from minimx.np.reductions_rows import *  # noqa: F403
    from minimx.np.reductions_rows import max, min, nansum, sum  # noqa: A004


def mean(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
) -> ndarray:
    """The average of the elements; of integers in float32 unless dtype says else."""
    a = as_ndarray(a, "mean")
    if dtype is not None and "f" not in (resolve(dtype).kind, a.spec.dtype.kind):
        total = sum(a, axis, dtype, keepdims=keepdims)  # which may overflow, as NumPy's
        return _answer(total / _count(a, _axis(axis)), dtype, out)
    a = _typed(a, None if dtype is None else real(resolve(dtype)))
    a = cast(a, real(a.spec.dtype))
    found = _reduced("mean", a, axis, keepdims, None, np_shape=True)
    return _answer(found, dtype, out)


def _count(a: Any, axis: Any) -> int:
    if axis is None:
        return int(a.size)
    axes = (axis,) if isinstance(axis, int) else axis
    count = 1
    for one in axes:
        count *= a.shape[one]
    return count


def var(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    ddof: int = 0,
    keepdims: bool = False,
) -> ndarray:
    """The mean squared distance from the mean, divided by (count - ddof).

    dtype: the type of the answer; of integers it is float32 by default.
    """
    a = as_ndarray(a, "var")
    axis = _axis(axis)
    wanted = real(a.spec.dtype) if dtype is None else resolve(dtype)
    a = cast(a, real(a.spec.dtype if dtype is None else wanted))
    apart = a - _reduced("mean", a, axis, True, None, np_shape=True)
    found = _reduced("mean", apart * apart, axis, keepdims, None, np_shape=True)
    if ddof:
        count = _count(a, axis)
        scale = count / (count - ddof) if count > ddof else float("nan")
        found = found * scale
    return store(cast(found, wanted), out)


def ptp(a: Any, axis: Axis = None, out: Any = None, keepdims: bool = False) -> ndarray:
    """From the smallest to the largest element."""
    high, low = max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims)
    return store(high - low, out)


def average(
    a: Any,
    axis: Axis = None,
    weights: Any = None,
    returned: bool = False,
    out: Any = None,
) -> Any:
    """The average, of which each element has a weight.

    weights: of the shape of a, or one number for each place along the one axis.
    returned: give the sum of the weights as well, as a pair.
    """
    a = as_ndarray(a, "average")
    a = cast(a, real(a.spec.dtype))
    axis = _axis(axis)
    if weights is None:
        found = mean(a, axis)
        total = found * 0 + float(_count(a, axis))
    else:
        weights = _weights(a, axis, as_ndarray(weights, "average", "weights"))
        total = sum(weights, axis)
        found = sum(a * weights, axis) / total
    if returned:
        return [store(found, out), total]
    return store(found, out)


def _weights(a: Any, axis: Any, weights: Any) -> ndarray:
    weights = cast(weights, a.spec.dtype)
    if weights.shape == a.shape:
        return weights
    if not isinstance(axis, int) or weights.shape != (a.shape[axis],):
        raise ShapeError(
            f"average: weights {weights.shape} fit neither the shape {a.shape} nor "
            f"the axis {axis}. Give one weight for each element, or for each place "
            "along one axis."
        )
    place = axis % a.ndim
    shape = [1] * a.ndim
    shape[place] = a.shape[place]
    return weights.reshape_view(shape).broadcast_to(a.shape)


def nanmean(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
) -> ndarray:
    """The average of the elements that are numbers."""
    a = _typed(as_ndarray(a, "nanmean"), dtype)
    a = cast(a, real(a.spec.dtype))
    numbers = cast(a == a, a.spec.dtype)
    return store(
        nansum(a, axis, keepdims=keepdims) / sum(numbers, axis, keepdims=keepdims), out
    )


def nanvar(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    ddof: int = 0,
    keepdims: bool = False,
) -> ndarray:
    """The variance of the elements that are numbers."""
    a = _typed(as_ndarray(a, "nanvar"), dtype)
    a = cast(a, real(a.spec.dtype))
    count = sum(cast(a == a, a.spec.dtype), axis, keepdims=keepdims)
    apart = a - nanmean(a, axis, keepdims=True)
    return store(nansum(apart * apart, axis, keepdims=keepdims) / (count - ddof), out)


def count_nonzero(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """How many elements are not 0, int64; of the whole array a plain int.

    Waits for the numbers if it is one.
    """
    found = sum(as_ndarray(a, "count_nonzero") != 0, axis, keepdims=keepdims)
    return found if found.ndim or axis is not None else found.item()


__all__ = ["average", "count_nonzero", "mean", "nanmean", "nanvar", "ptp", "var", *ROWS]
