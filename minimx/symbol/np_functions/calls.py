"""Functions of `mx.sym.np` whose operator follows from their arguments.

NumPy's `delete` takes a place, a slice or an array of places; MXNet has settings for
the first two and an input for the last. So with others here.
"""

from __future__ import annotations

from typing import Any

from minimx.core.dtypes import resolve
from minimx.core.errors import ArgumentError
from minimx.symbol.functions import FUNCTIONS
from minimx.symbol.symbol import Symbol


def _type(dtype: Any) -> str | None:
    return None if dtype is None else resolve(dtype).name


def _several(found: Any) -> Any:
    return found if len(found) > 1 else [found]  # of which [0] is not a part


# -- statistics ------------------------------------------------------------------------


def _spread(name: str) -> Any:
    def function(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: int = 0,
        keepdims: bool = False,
    ) -> Any:
        settings = {"axis": axis, "dtype": _type(dtype), "ddof": ddof}
        return FUNCTIONS[f"_npi_{name}"](a, keepdims=keepdims, **settings)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`np.{name}`: how far elements lie from their mean."
    return function


std, var = _spread("std"), _spread("var")


def average(
    a: Any,
    axis: Any = None,
    weights: Any = None,
    returned: bool = False,
    out: Any = None,
) -> Any:
    """The average, of which each element has a weight."""
    symbols = (a,) if weights is None else (a, weights)
    settings = {"returned": returned, "weighted": weights is not None}
    return FUNCTIONS["_npi_average"](*symbols, axis=axis, **settings)


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each whole number occurs, or the sum of the weights where it does."""
    symbols = (x,) if weights is None else (x, weights)
    weighted = weights is not None
    return FUNCTIONS["_npi_bincount"](
        *symbols, minlength=minlength, has_weights=weighted
    )


def histogram(
    a: Any,
    bins: Any = 10,
    range: Any = None,  # noqa: A002 (NumPy's name)
    normed: Any = None,
    weights: Any = None,
    density: Any = None,
) -> Any:
    """How many elements lie in each of some bins, and the bins' borders."""
    if (normed, weights, density) != (None, None, None):
        raise ArgumentError(
            "np.histogram: normed, weights and density are not available; leave them "
            "away."
        )
    if isinstance(bins, Symbol):
        return FUNCTIONS["_histogram"](a, bins)
    if range is None:
        raise ArgumentError(
            "np.histogram: a symbol has no numbers to find the borders from; say "
            "range=(low, high)."
        )
    return FUNCTIONS["_histogram"](a, bin_cnt=bins, range=tuple(range))


def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: Any = None,
    interpolation: str = "linear",
    keepdims: bool = False,
) -> Any:
    """The number below which q percent are."""
    settings = {"interpolation": interpolation, "keepdims": keepdims}
    if isinstance(q, Symbol):
        return FUNCTIONS["_npi_percentile"](a, q, axis=axis, **settings)
    return FUNCTIONS["_npi_percentile"](a, axis=axis, q_scalar=q, **settings)


def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: Any = None,
    interpolation: str = "linear",
    keepdims: bool = False,
) -> Any:
    """The number below which the fraction q is."""
    options = (out, overwrite_input, interpolation, keepdims)
    return percentile(a, q * 100, axis, *options)


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
) -> Any:
    """The distinct elements, ascending; where they stand and how often."""
    return FUNCTIONS["_npi_unique"](
        ar,
        return_index=return_index,
        return_inverse=return_inverse,
        return_counts=return_counts,
        axis=axis,
    )


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """What each element adds to the one before, of the flat array."""
    symbols: list[Any] = [ary]
    settings: dict[str, Any] = {}
    for word, value in (("to_begin", to_begin), ("to_end", to_end)):
        given = isinstance(value, Symbol)
        settings[f"{word}_arr_given"] = given
        settings[f"{word}_scalar"] = None if given else value
        symbols += [value] if given else []
    return FUNCTIONS["_npi_ediff1d"](*symbols, **settings)


def shares_memory(a: Any, b: Any, max_work: Any = None) -> Any:
    """Whether two arrays lie in the same memory."""
    return FUNCTIONS["_npi_share_memory"](a, b)


# -- making arrays ---------------------------------------------------------------------


def full_like(
    a: Any,
    fill_value: float,
    dtype: Any = None,
    order: str = "C",
    ctx: Any = None,
    out: Any = None,
) -> Any:
    """One value everywhere, in the shape of an array."""
    value = float(fill_value)
    return FUNCTIONS["_npi_full_like"](a, fill_value=value, dtype=_type(dtype))


def zeros_like(
    a: Any, dtype: Any = None, order: str = "C", ctx: Any = None, out: Any = None
) -> Any:
    """Zeros in the shape of an array."""
    return FUNCTIONS["zeros_like"](a) if dtype is None else full_like(a, 0, dtype)


def ones_like(
    a: Any, dtype: Any = None, order: str = "C", ctx: Any = None, out: Any = None
) -> Any:
    """Ones in the shape of an array."""
    return FUNCTIONS["ones_like"](a) if dtype is None else full_like(a, 1, dtype)


def empty_like(
    prototype: Any,
    dtype: Any = None,
    order: str = "C",
    subok: bool = False,
    shape: Any = None,
) -> Any:
    """An array of the same shape and type; its elements are 0 here."""
    if subok or shape is not None:
        raise ArgumentError("np.empty_like: subok and shape are not available.")
    return zeros_like(prototype, dtype)


def copy(a: Any) -> Any:
    """The same elements in memory of their own."""
    return FUNCTIONS["_copy"](a)


def arange(
    start: float,
    stop: float | None = None,
    step: float | None = 1,
    dtype: Any = None,
    ctx: Any = None,
) -> Any:
    """Evenly spaced numbers from `start` up to, without, `stop`."""
    if stop is None:
        start, stop = 0, start
    settings = {"start": float(start), "stop": float(stop)}
    kind = _type(dtype or "float32")
    return FUNCTIONS["_arange"](step=float(step or 1), dtype=kind, **settings)


def full(
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "C",
    ctx: Any = None,
    out: Any = None,
) -> Any:
    """One value everywhere; an array stretches to the shape."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if isinstance(fill_value, Symbol):
        found = FUNCTIONS["_npi_broadcast_to"](fill_value, shape=shape)
        return found if dtype is None else FUNCTIONS["cast"](found, dtype=_type(dtype))
    default = "bool" if isinstance(fill_value, bool) else "float32"
    settings = {"shape": shape, "dtype": _type(dtype or default)}
    return FUNCTIONS["_full"](value=float(fill_value), **settings)


def eye(N: int, M: Any = None, k: int = 0, dtype: Any = None, **kwargs: Any) -> Any:  # noqa: N803
    """A matrix with ones on the k-th diagonal."""
    kind = _type(dtype or "float32")
    return FUNCTIONS["_npi_eye"](N=N, M=M, k=k, dtype=kind)


def identity(n: int, dtype: Any = None, ctx: Any = None) -> Any:
    """A square matrix with ones on the diagonal."""
    return eye(n, dtype=dtype)


def indices(dimensions: Any, dtype: Any = "int32", ctx: Any = None) -> Any:
    """The index along each axis of every place of an array."""
    return FUNCTIONS["_npi_indices"](dimensions=tuple(dimensions), dtype=_type(dtype))


def linspace(
    start: float,
    stop: float,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    ctx: Any = None,
) -> Any:
    """`num` evenly spaced numbers from `start` to `stop`."""
    made = FUNCTIONS["_numpy_linspace"](
        start=float(start),
        stop=float(stop),
        num=num,
        endpoint=endpoint,
        dtype=_type(dtype or "float32"),
    )
    gaps = num - 1 if endpoint else num
    step = (stop - start) / gaps if gaps else float("nan")
    return (made, step) if retstep else made


def logspace(
    start: float,
    stop: float,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10.0,
    dtype: Any = None,
    axis: int = 0,
    ctx: Any = None,
) -> Any:
    """Powers of `base` with evenly spaced exponents."""
    return FUNCTIONS["_npi_logspace"](
        start=start,
        stop=stop,
        num=num,
        endpoint=endpoint,
        base=base,
        dtype=_type(dtype or "float32"),
    )


def _window(name: str) -> Any:
    def function(M: int, dtype: Any = "float32", ctx: Any = None) -> Any:  # noqa: N803
        return FUNCTIONS[f"_npi_{name}"](M=M, dtype=_type(dtype))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The window `np.{name}` of M points."
    return function


hanning, hamming, blackman = map(_window, ("hanning", "hamming", "blackman"))

# -- taking apart, deleting, inserting -------------------------------------------------


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """An array cut along an axis, at given places or into equal pieces."""
    return _split("_numpy_split", ary, indices_or_sections, axis)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """As `split`, but the first pieces may be longer by one than the last."""
    return _split("_numpy_array_split", ary, indices_or_sections, axis)


def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    """An array cut into columns; vectors along their only axis."""
    return _split("_npi_hsplit", ary, indices_or_sections, 1)


def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    """An array of two axes or more cut into rows."""
    return split(ary, indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> Any:
    """An array of three axes or more cut along the third."""
    return _split("_npi_dsplit", ary, indices_or_sections, 2)


def _split(name: str, ary: Any, cuts: Any, axis: int) -> Any:
    if isinstance(cuts, int):
        settings: dict[str, Any] = {"indices": (), "sections": cuts}
    elif isinstance(cuts, (list, tuple, set)):
        settings = {"indices": (0, *cuts)}
    else:
        raise ValueError(
            "indices_or_sections must either int or tuple / list / set of ints, not "
            f"{type(cuts).__name__}"
        )
    return _several(FUNCTIONS[name](ary, axis=axis, **settings))


def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    """An array without the slices at some places along an axis; flat without one."""
    if isinstance(obj, Symbol):
        return FUNCTIONS["_npi_delete"](arr, obj, axis=axis)
    return FUNCTIONS["_npi_delete"](arr, axis=axis, **_key("delete", obj))


def _key(who: str, obj: Any) -> dict[str, Any]:
    """A place or a slice as settings."""
    if isinstance(obj, slice):
        step = 1 if obj.step is None else obj.step
        return {"start": obj.start, "stop": obj.stop, "step": step}
    if isinstance(obj, int):
        return {"int_ind": obj}
    raise TypeError(
        f"np.{who}: 'obj' can not support type {type(obj).__name__}: give a number, a "
        "slice or a symbol."
    )


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """An array with values put in before some places; flat without an axis."""
    symbols, settings = [arr], {"axis": axis}
    if isinstance(values, Symbol):
        symbols.append(values)
    else:
        settings["val"] = values
    if isinstance(obj, Symbol):
        return FUNCTIONS["_npi_insert_tensor"](*symbols, obj, **settings)
    name = "_npi_insert_slice" if isinstance(obj, slice) else "_npi_insert_scalar"
    return FUNCTIONS[name](*symbols, **settings, **_key("insert", obj))


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """An array and, after it along an axis, further values; flat without an axis."""
    return FUNCTIONS["_npi_concatenate"](arr, values, dim=axis)


def resize(a: Any, new_shape: Any) -> Any:
    """The elements in a new shape, repeated where it has room for more."""
    shape = (new_shape,) if isinstance(new_shape, int) else tuple(new_shape)
    return FUNCTIONS["_npi_resize_fallback"](a, new_shape=shape)


def fliplr(m: Any) -> Any:
    """The columns in reverse order."""
    return FUNCTIONS["reverse"](m, axis=(1,))


def flipud(m: Any) -> Any:
    """The rows in reverse order."""
    return FUNCTIONS["reverse"](m, axis=(0,))
