"""What functions of `mx.np` share: arguments that become arrays, operators by name.

`mx.np.concatenate(([1, 2], x), axis=0)` is, but for a few checks,

    call("_npi_concatenate", *arrays_of("concatenate", ([1, 2], x)), dim=0)

`arrays_of` makes arrays of one element type of what NumPy's functions accept; `call`
applies the operator. In all functions `who` is the caller's name, for errors.
"""

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
    """Apply the operator `name` to arrays, by the interpreter of the first one.

    settings: those of its data sheet. out: an array to copy the result to, in its own
    type, which is returned then.
    """
    made = arrays[0]._bind(lookup(name).of(**settings), arrays)
    return made if out is None else store(made, out)


def arrays_of(who: str, values: Any) -> list[Any]:
    """Several arrays of one element type, from a list of them or the rows of one.

    NumPy's arrays, numbers and lists of numbers become arrays on the device of the
    first of ours. As in arithmetic, a number takes the type of the arrays beside it:
    for (int32 array, 1.5) all are int32. Raises ArgumentError for an empty list.
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
    """An argument such as axis or shape in Python's integers: 3, (0, 1) or None.

    Raises TypeError for a number with a fraction.
    """
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return tuple(operator.index(item) for item in value)
    if isinstance(value, (NDArray, onp.ndarray)) and value.ndim:
        return tuple(int(item) for item in value.tolist())
    return operator.index(value)


def as_tuple(value: Any) -> tuple[Any, ...]:
    """A tuple of the items of a list or tuple; of one thing or a text, that alone."""
    several = isinstance(value, Iterable) and not isinstance(value, (str, NDArray))
    return tuple(value) if several else (value,)


def refuse_arguments(who: str, **given: Any) -> None:
    """Refuse arguments of NumPy that have no meaning here, such as order="F".

    given: the arguments as they were given; None for those that were not. Raises
    ArgumentError.
    """
    for name, value in given.items():
        if value is not None:
            raise ArgumentError(
                f"np.{who}: {name}={value!r} is not available here; leave it away."
            )
