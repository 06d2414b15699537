"""Creating arrays: `array`, `zeros`, `full`, `arange`, `linspace`, `eye` and others.

The element type is float32 unless it is given, or an array is given that has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as onp

from minimx.core.arrays.array import NDArray, checked_dtype, new
from minimx.core.arrays.launch import invoke
from minimx.core.arrays.transfer import from_numpy_copy
from minimx.core.device import Device, DeviceLike, as_device, current_device
from minimx.core.dtypes import SUPPORTED, DType, numbers, resolve
from minimx.core.errors import ArgumentError, DTypeError, OperatorError, Unavailable
from minimx.core.events import owner
from minimx.core.ops.registry import lookup
from minimx.core.ops.settings import shown, to_type
from minimx.core.ops.spec import Spec
from minimx.core.storage import pool_for
from minimx.nd.signatures import functions
from minimx.np.arithmetic import store
from minimx.np.calling.promotion import is_number
from minimx.np.multiarray import as_ndarray, as_np, ndarray

ShapeLike = int | Sequence[int]
Where = DeviceLike | None


def _place(ctx: Where, device: Where = None) -> Device:
    return as_device(ctx or device or current_device())


def _shape(shape: Any) -> tuple[int, ...]:
    try:
        several = hasattr(shape, "__len__") and not isinstance(shape, str)
        found = tuple(map(int, shape)) if several else (int(shape),)
        if not any(n < 0 for n in found):
            return found
    except (TypeError, ValueError, OverflowError):
        pass
    raise ArgumentError(
        f"shape {shown(shape)}: give lengths of axes, none of them negative."
    )


def _c_order(order: str) -> None:
    if order != "C":
        raise Unavailable(
            f"order={order!r}: arrays here are stored row by row, order='C'."
        )


def created(
    name: str, ctx: Where, device: Where, out: Any = None, **settings: Any
) -> ndarray:
    """What an operator without inputs makes, on the device of `out` if there is one."""
    where = _place(ctx, device) if out is None else out.context
    return store(invoke(lookup(name).of(**settings), (), None, where, ndarray), out)


def array(
    object: Any,  # noqa: A002 (NumPy's name)
    dtype: Any = None,
    ctx: Where = None,
    *,
    device: Where = None,
) -> ndarray:
    """An array with the numbers of anything that NumPy understands; always a copy.

    dtype: of the result; by default that of an array source, else float32.

    >>> from minimx import np
    >>> np.array([[1, 2], [3, 4]])
    array([[1., 2.],
           [3., 4.]])
    """
    where = _place(ctx, device)
    if isinstance(object, ndarray):
        created = object.astype(object.dtype if dtype is None else dtype)
        return created if created.context is where else created.as_in_context(where)  # type: ignore[return-value]
    if isinstance(object, NDArray):
        raise ValueError(
            "np.array: the source is an mx.nd array. x.as_np_ndarray() gives it in "
            "an array of mx.np without a copy."
        )
    return from_numpy_copy(_numbers(object, dtype), where, ndarray)  # type: ignore[return-value]


def _numbers(source: Any, dtype: Any) -> Any:
    """A source as a NumPy array of a type that we have."""
    if dtype is not None:
        wanted: DType = resolve(dtype)
    elif isinstance(source, (onp.ndarray, onp.generic)):
        wanted = source.dtype if source.dtype in SUPPORTED else resolve("float32")
    else:
        wanted = resolve("float32")
    if isinstance(source, (list, tuple)):
        source = _without_arrays(source)
    try:
        return numbers(source, wanted)
    except (TypeError, ValueError, OverflowError) as reason:
        raise DTypeError(
            f"np.array: the {type(source).__name__} given is no array of numbers: "
            f"{reason}. Give numbers, nested in lists of equal lengths."
        ) from None


def _without_arrays(source: Any) -> Any:
    """Nested lists with NumPy arrays in the place of ours."""
    if isinstance(source, NDArray):
        return source.asnumpy()
    if isinstance(source, (list, tuple)):
        return [_without_arrays(item) for item in source]
    return source


def asarray(
    obj: Any, dtype: Any = None, ctx: Where = None, device: Where = None
) -> ndarray:
    """The array itself if it is one of that type and place, else a new one."""
    where = ctx or device
    if isinstance(obj, ndarray) and (dtype is None or obj.dtype == resolve(dtype)):
        return obj if where is None else as_np(obj.as_in_context(as_device(where)))
    return array(obj, dtype, where)


def _constant(
    operator: str, shape: Any, dtype: Any, order: str, ctx: Where, device: Where
) -> ndarray:
    """An array of the one value that the operator writes; without one, as it comes."""
    _c_order(order)
    found, kind = _shape(shape), checked_dtype(dtype)
    if operator == "empty":
        return as_np(new(Spec.of(found, kind), _place(ctx, device), "empty", ndarray))
    return created(operator, ctx, device, shape=found, dtype=kind.name)


def _constant_like(
    operator: str,
    a: Any,
    dtype: Any,
    order: str,
    ctx: Where,
    out: Any,
    device: Where,
) -> ndarray:
    who = f"{operator[1:]}_like"
    shape, name, where = _like(a, who, dtype, order, ctx or device)
    return created(operator, where, None, out, shape=shape, dtype=name)


def _by_numpy(
    name: str, dtype: Any, ctx: Where, device: Where, **settings: Any
) -> ndarray:
    """A copy of what NumPy's function makes."""
    given = {word: _without_arrays(value) for word, value in settings.items()}
    try:
        pool_for(_place(ctx, device)).expect(8 * _SIZES[name](**given), owner(name))
        numbers = getattr(onp, name)(**given)
    except (ArithmeticError, LookupError, TypeError, ValueError) as reason:
        raise ArgumentError(f"np.{name}: {reason}, for {shown(given)}.") from reason
    return array(numbers, checked_dtype(dtype), ctx, device=device)


#: How many numbers each of NumPy's functions makes.
_SIZES: dict[str, Any] = {
    "logspace": lambda num, **_: num,
    "tri": lambda N, M, **_: N * (N if M is None else M),
    "indices": lambda dimensions, **_: len(dimensions) * prod(dimensions),
}


_CONSTANT = """
    zeros(
        shape: ShapeLike = (), dtype=None, order: str = "C", ctx=None, *,
        device=None): _zeros
        An array of zeros.

    ones(
        shape: ShapeLike = (), dtype=None, order: str = "C", ctx=None, *,
        device=None): _ones
        An array of ones.

    empty(
        shape: ShapeLike, dtype=None, order: str = "C", ctx=None, *, device=None)
        An array whose contents are whatever was in memory.
"""
_LIKE = """
    zeros_like(
        a, dtype=None, order: str = "C", ctx=None, out=None, *,
        device=None): _zeros
        Zeros in the shape and type of an array.

    ones_like(
        a, dtype=None, order: str = "C", ctx=None, out=None, *,
        device=None): _ones
        Ones in the shape and type of an array.
"""
_NUMPYS = """
    logspace(
        start: float, stop: float, num: int = 50, endpoint=True, base: float = 10.0,
        dtype=None, axis: int = 0, ctx=None, *, device=None)
        `num` numbers from base**start to base**stop at equal ratios.

    tri(
        N: int, M: int | None = None, k: int = 0, dtype=None, ctx=None, *,
        device=None)
        A matrix (N, M) with ones on and below the k-th diagonal.

    indices(dimensions, dtype="int32", ctx=None, *, device=None)
        The coordinates of every place of a grid: (number of axes, *dimensions).
"""
_CONTRACT = """
    shape: one length or several; ArgumentError for a negative one. float32 by default.
    Unavailable for an order but "C".
"""
ROWS = functions(_constant, __name__, _CONSTANT, 0, "ndarray", _CONTRACT)
ROWS |= functions(_constant_like, __name__, _LIKE, returns="ndarray")
ROWS |= functions(_by_numpy, __name__, _NUMPYS, returns="ndarray")
globals().update(ROWS)
if TYPE_CHECKING:  # as `python -m minimx.np.stubs` says
    from minimx.np.creation_rows import *  # noqa: F403
    from minimx.np.creation_rows import empty, zeros


def full(
    shape: ShapeLike,
    fill_value: Any,
    order: str = "C",
    ctx: Where = None,
    dtype: Any = None,
    out: Any = None,
    *,
    device: Where = None,
) -> ndarray:
    """An array of one value, a number or an array that stretches to the shape."""
    _c_order(order)
    if isinstance(fill_value, NDArray):
        filled = as_np(fill_value).broadcast_to(_shape(shape))
        return store(filled if dtype is None else filled.astype(dtype), out)
    if dtype is None and isinstance(fill_value, (bool, onp.bool_)):
        dtype = "bool"
    name = checked_dtype(dtype).name
    settings = {
        "shape": _shape(shape),
        "dtype": name,
        "value": to_type("full", "value", fill_value, "float"),
    }
    return created("_full", ctx, device, out, **settings)


def _like(a: Any, who: str, dtype: Any, order: str, ctx: Where) -> tuple[Any, str, Any]:
    _c_order(order)
    a = as_ndarray(a, who)
    name = a.dtype.name if dtype is None else resolve(dtype).name
    return a.shape, name, as_device(ctx) if ctx is not None else a.context


def empty_like(
    prototype: Any,
    dtype: Any = None,
    order: str = "C",
    subok: bool = False,
    shape: Any = None,
    *,
    device: Where = None,
) -> ndarray:
    """An array in the shape and type of another one, without contents."""
    found, name, where = _like(prototype, "empty_like", dtype, order, device)
    return empty(found if shape is None else shape, name, ctx=where)


def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "C",
    ctx: Where = None,
    out: Any = None,
    *,
    device: Where = None,
) -> ndarray:
    """One value in the shape and type of an array."""
    shape, name, where = _like(a, "full_like", dtype, order, ctx or device)
    return full(shape, fill_value, ctx=where, dtype=name, out=out)


def arange(
    start: float,
    stop: float | None = None,
    step: float | None = 1,
    dtype: Any = None,
    ctx: Where = None,
    *,
    device: Where = None,
) -> ndarray:
    """Evenly spaced numbers from `start` up to, without, `stop`."""
    if step == 0:
        raise ZeroDivisionError("arange: a step of 0 never arrives; give another.")
    if stop is None:
        start, stop = 0, start
    name = checked_dtype(dtype).name
    settings = {"start": start, "stop": stop, "step": 1 if step is None else step}
    return created("_arange", ctx, device, dtype=name, **settings)


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    ctx: Where = None,
    *,
    device: Where = None,
) -> Any:
    """`num` numbers at equal distances from `start` to `stop`.

    retstep: give the distance as well, as a pair.
    """
    if num < 0:
        raise ValueError(f"linspace: num={num} must not be negative.")
    if not (is_number(start) and is_number(stop)) or axis != 0:
        numbers = onp.linspace(
            _without_arrays(start), _without_arrays(stop), num, endpoint, axis=axis
        )
        return array(numbers, checked_dtype(dtype), ctx, device=device)
    settings = {"start": start, "stop": stop, "num": num, "endpoint": endpoint}
    name = checked_dtype(dtype).name
    found = created("_linspace", ctx, device, dtype=name, **settings)
    if not retstep:
        return found
    gaps = num - 1 if endpoint else num
    return found, (stop - start) / gaps if gaps > 0 else float("nan")


def eye(
    N: int,  # noqa: N803 (NumPy's names)
    M: int | None = None,  # noqa: N803
    k: int = 0,
    dtype: Any = None,
    ctx: Where = None,
    *,
    device: Where = None,
) -> ndarray:
    """A matrix (N, M) with ones on the k-th diagonal."""
    rows, columns = int(N), int(N if M is None else M)
    if rows < 0 or columns < 0:
        raise OperatorError(f"eye: a matrix ({rows}, {columns}) cannot be made.")
    name = checked_dtype(dtype).name
    if rows == 0 or columns == 0:
        return zeros((rows, columns), dtype, ctx=ctx, device=device)
    return created("_eye", ctx, device, N=rows, M=columns, k=k, dtype=name)


def identity(
    n: int, dtype: Any = None, ctx: Where = None, device: Where = None
) -> ndarray:
    """A square matrix with ones on its diagonal."""
    return eye(n, n, 0, dtype, ctx, device=device)


def copy(a: Any) -> ndarray:
    """A copy of an array."""
    return as_ndarray(a, "copy").copy()


def genfromtxt(
    fname: Any,
    dtype: Any = float,
    comments: str = "#",
    delimiter: Any = None,
    skip_header: int = 0,
    skip_footer: int = 0,
    **further: Any,
) -> ndarray:
    """Numbers from a text file, float64 unless a type is given; read by NumPy.

    fname: the file's name, the file, or its lines. further: see `numpy.genfromtxt`.
    """
    words: Any = {"comments": comments, "delimiter": delimiter, **further}
    words |= {"skip_header": skip_header, "skip_footer": skip_footer}
    read = onp.genfromtxt(fname, dtype=dtype, **words)
    return array(read, read.dtype)


__all__ = [
    "arange", "array", "asarray", "copy", "empty_like", "eye", "full",
    "full_like", "genfromtxt", "identity", "linspace", *ROWS,
]  # fmt: skip
