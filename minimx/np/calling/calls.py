"""What functions of `mx.np` share: arguments that become arrays, operators by name."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from functools import reduce
from typing import Any

import numpy as onp

from minimx.core.arrays.array import NDArray
from minimx.core.errors import ArgumentError
from minimx.core.ops.registry import lookup
from minimx.np.arithmetic import store
from minimx.np.calling.promotion import BOOL, cast, common, is_number
from minimx.np.creation import array
from minimx.np.multiarray import as_ndarray


def call(name: str, *arrays: Any, out: Any = None, **settings: Any) -> Any:
    """Apply the operator `name` to arrays; `out` is an array to write the result to."""
    made = arrays[0]._bind(lookup(name).of(**settings), arrays)
    return made if out is None else store(made, out)


def arrays_of(who: str, values: Any) -> list[Any]:
    """Several arrays of one element type, from a list of them or the rows of one.

    NumPy's arrays, numbers and lists of numbers become arrays on the device of the
    first of ours. As in arithmetic, a number takes the type of the arrays beside it.
    """
    if isinstance(values, (NDArray, onp.ndarray)) and values.ndim:
        values = list(values)
    if not isinstance(values, (list, tuple)) or not values:
        raise ArgumentError(f"np.{who}: give a list of at least one array.")
    device = next((v.context for v in values if isinstance(v, NDArray)), None)
    found = [_as_array(value, who, device) for value in values]
    pairs = list(zip(values, found, strict=True))
    types = [array.spec.dtype for value, array in pairs if not is_number(value)]
    if not any(dtype != BOOL for dtype in types):
        types = [array.spec.dtype for array in found]
    dtype = reduce(common, types)
    return [cast(array, dtype) for array in found]


def _as_array(value: Any, who: str, device: Any) -> Any:
    """One of ours as it is; a NumPy array, a number or a list as a new array."""
    plain = isinstance(value, (onp.ndarray, list, tuple)) or is_number(value)
    return array(value, ctx=device) if plain else as_ndarray(value, who)


def constant(numbers: Any, beside: Any, dtype: Any = None) -> Any:
    """Numbers as an array on the device of another array, by default in its type."""
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


def refuse_arguments(who: str, **words: Any) -> None:
    """Refuse NumPy's arguments that have no meaning here, unless left alone."""
    for name, value in words.items():
        if value is not None:
            raise ArgumentError(
                f"np.{who}: {name}={value!r} is not available here; leave it away."
            )
