"""Functions of `mx.sym.np` whose operator follows from their arguments.

NumPy's `delete` takes a place, a slice or an array of places; MXNet has settings for
the first two and an input for the last. So with others here.
"""

from __future__ import annotations

from typing import Any

from minimx.core.dtypes import resolve
from minimx.core.errors import ArgumentError
from minimx.nd.signatures import functions as _functions
from minimx.symbol.functions import FUNCTIONS
from minimx.symbol.symbol import Symbol

_HOME = "minimx.symbol.np"  # where the functions of the tables are found


def _type(dtype: Any) -> str | None:
    return None if dtype is None else resolve(dtype).name


def _several(found: Any) -> Any:
    return found if len(found) > 1 else [found]  # of which [0] is not a part


def _apply(
    operator: str, *symbols: Any, out: Any = None, ctx: Any = None, **settings: Any
) -> Any:
    """A node of an operator. out, ctx: a graph learns them when it is bound."""
    if "dtype" in settings:
        settings["dtype"] = _type(settings["dtype"])
    return FUNCTIONS[operator](*symbols, **settings)


def _percentile(
    name: str, a: Any, q: Any, *, out: Any, overwrite_input: Any, **over: Any
) -> Any:
    share = q * 100 if name == "quantile" else q
    if isinstance(q, Symbol):
        return FUNCTIONS["_npi_percentile"](a, share, **over)
    return FUNCTIONS["_npi_percentile"](a, q_scalar=share, **over)


def _like(name: str, a: Any, dtype: Any, fill_value: Any = None, **_: Any) -> Any:
    if name != "full_like":
        if dtype is None:
            return FUNCTIONS[name](a)
        fill_value = name == "ones_like"
    value = float(fill_value)
    return FUNCTIONS["_npi_full_like"](a, fill_value=value, dtype=_type(dtype))


def _space(operator: str, dtype: Any, axis: int, ctx: Any, **settings: Any) -> Any:
    return FUNCTIONS[operator](**settings, dtype=_type(dtype or "float32"))


_OF_ONE = """
    std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False): _npi_std
        `np.std`: how far elements lie from their mean.

    var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False): _npi_var
        `np.var`: how far elements lie from their mean.

    unique(
        ar, return_index=False, return_inverse=False, return_counts=False,
        axis=None): _npi_unique
        The distinct elements, ascending; their indices and how often they come.

    copy(a): _copy
        The same elements in memory of their own.
"""
_OF_NONE = """
    hanning(M, dtype="float32", ctx=None): _npi_hanning
        The window `np.hanning` of M points.

    hamming(M, dtype="float32", ctx=None): _npi_hamming
        The window `np.hamming` of M points.

    blackman(M, dtype="float32", ctx=None): _npi_blackman
        The window `np.blackman` of M points.
"""
_SHARES = """
    percentile(
        a, q, axis=None, out=None, overwrite_input=None, interpolation="linear",
        keepdims=False)
        The number below which q percent are.

    quantile(
        a, q, axis=None, out=None, overwrite_input=None, interpolation="linear",
        keepdims=False)
        The number below which the fraction q is.
"""
_LIKE = """
    full_like(a, fill_value, dtype=None, order="C", ctx=None, out=None)
        One value everywhere, in the shape of an array.

    zeros_like(a, dtype=None, order="C", ctx=None, out=None)
        Zeros in the shape of an array.

    ones_like(a, dtype=None, order="C", ctx=None, out=None)
        Ones in the shape of an array.
"""
_SPACES = """
    logspace(
        start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0,
        ctx=None): _npi_logspace
        Powers of `base` with evenly spaced exponents.
"""
for _body, _table, _inputs in (
    (_apply, _OF_ONE, 1), (_apply, _OF_NONE, 0), (_percentile, _SHARES, 2),
    (_like, _LIKE, 1), (_space, _SPACES, 0),
):  # fmt: skip
    globals().update(_functions(_body, _HOME, _table, _inputs))

# -- statistics ------------------------------------------------------------------------


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


# -- creating arrays -------------------------------------------------------------------


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
    return _like("zeros_like", prototype, dtype)


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
