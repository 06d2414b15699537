"""What functions of `mx.np` share: arguments that become arrays, operators by name."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as onp

from minimx.errors import ArgumentError
from minimx.nd.array import NDArray
from minimx.np.arithmetic import store
from minimx.np.creation import array
from minimx.np.multiarray import as_ndarray
from minimx.np.promotion import cast, common
from minimx.ops.registry import lookup


def call(name: str, *arrays: Any, out: Any = None, **settings: Any) -> Any:
    """Apply the operator `name` to arrays; `out` is an array to write the result to."""
    made = arrays[0]._bind(lookup(name).of(**settings), arrays)
    return made if out is None else store(made, out)


def arrays_of(who: str, values: Any) -> list[Any]:
    """Several arrays of one element type, from a list of them or the rows of one."""
    if isinstance(values, NDArray):
        return [as_ndarray(row, who) for row in values]
    if not isinstance(values, (list, tuple)) or not values:
        raise ArgumentError(f"np.{who}: give a list of at least one array.")
    found = [as_ndarray(value, who) for value in values]
    dtype = found[0].spec.dtype
    for other in found[1:]:
        dtype = common(dtype, other.spec.dtype)
    return [cast(value, dtype) for value in found]


def constant(numbers: Any, beside: Any, dtype: Any = None) -> Any:
    """Numbers as an array on the device of another array, in its type unless told."""
    kind = beside.spec.dtype if dtype is None else dtype
    return array(onp.asarray(numbers), dtype=kind, ctx=beside.context)


def value_beside(value: Any, beside: Any, who: str, name: str = "values") -> Any:
    """An array, or a number or list as one on the device of another array."""
    if isinstance(value, NDArray):
        return as_ndarray(value, who, name)
    return constant(value, beside)


def whole(value: Any) -> Any:
    """Whole numbers and tuples of them as Python's: 3, (0, 1), None."""
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return tuple(operator.index(item) for item in value)
    if isinstance(value, (NDArray, onp.ndarray)) and value.ndim:
        return tuple(int(item) for item in value.tolist())
    return operator.index(value)


def as_tuple(value: Any) -> tuple[Any, ...]:
    """One thing or several, as a tuple."""
    several = isinstance(value, Iterable) and not isinstance(value, (str, NDArray))
    return tuple(value) if several else (value,)


def refuse_words(who: str, **words: Any) -> None:
    """Refuse NumPy's arguments that have no meaning here, unless left alone."""
    for name, value in words.items():
        if value is not None:
            raise ArgumentError(
                f"np.{who}: {name}={value!r} is not available here; leave it away."
            )
