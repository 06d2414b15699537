"""Settings of operators: read as MXNet reads them, distinct as keys.

to_type("Pooling", "kernel", "(2, 2)", "Shape")    (2, 2)
exact(-0.0) == exact(0.0)                          False
"""

from __future__ import annotations

import ast
import dataclasses
import operator
from typing import Any

import numpy as np

from minimx.core.errors import OperatorError


def exact(value: Any) -> Any:
    """A key of a setting: 0.0 and -0.0, 1 and True differ, NaN is NaN."""
    if isinstance(value, tuple):
        return tuple(map(exact, value))
    if isinstance(value, float):
        return type(value), value.hex()
    if isinstance(value, np.generic):
        return type(value), value.tobytes()
    return type(value), value


def _as_tuple(value: Any) -> Any:
    """Lists as tuples, also those inside."""
    if isinstance(value, (list, tuple)):
        return tuple([_as_tuple(item) for item in value])
    return value


def to_type(op: str, name: str, value: Any, wanted: str) -> Any:
    """Convert a setting as MXNet does: numbers and tuples may come as text.

    wanted is the annotation of the data sheet's field as text ("int", "Shape | None").
    `"(3, 3)"` becomes (3, 3), `"true"` True, NumPy's numbers Python's. Raises
    OperatorError with the operator's and the setting's name if the value does not fit.
    """
    if isinstance(value, str) and wanted.startswith("bool"):
        value = value.capitalize()  # files of MXNet have `true` as well as `True`
    if isinstance(value, str) and "str" not in wanted and "DType" not in wanted:
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            raise OperatorError(
                f"{op}: {name}={value!r} is not a value of type {wanted}."
            ) from None
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, np.ndarray) and wanted.startswith("Shape"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        value = _as_tuple(value)
    if isinstance(value, np.generic):
        value = value.item()
    if value is None and ("None" in wanted or wanted == "Any"):
        return None
    try:
        if wanted.startswith("bool"):
            return bool(value)
        if wanted in ("int", "int | None") or (
            wanted.startswith("int") and not isinstance(value, tuple)
        ):
            return operator.index(value)
        if wanted.startswith("float"):
            return float(value)
        if wanted.startswith("Shape"):
            items = value if isinstance(value, tuple) else (value,)
            return tuple(operator.index(item) for item in items)
    except (TypeError, ValueError):
        raise OperatorError(
            f"{op}: {name}={value!r} is not a value of type {wanted}."
        ) from None
    return value


class FrozenSettings:
    """What sheets share that `dataclass` would compile anew for each of hundreds."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        every = dataclasses.fields(self)  # type: ignore[arg-type]
        names = [field.name for field in every if not field.kw_only]
        given = dict(zip(names, args, strict=False))
        if len(args) > len(names) or not settings.keys().isdisjoint(given):
            raise TypeError(f"{type(self).__name__}: too many settings: {args}")
        given |= settings
        for field in every:
            value = given.pop(field.name, field.default)
            if value is dataclasses.MISSING:
                raise TypeError(f"{type(self).__name__}: {field.name} is missing")
            object.__setattr__(self, field.name, value)
        if given:
            raise TypeError(f"{type(self).__name__} has no setting {min(given)!r}")
        self.__post_init__()  # type: ignore[attr-defined]

    def __setattr__(self, name: str, value: Any) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")

    def __repr__(self) -> str:
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        settings = ", ".join([f"{f.name}={getattr(self, f.name)!r}" for f in fields])
        return f"{type(self).__qualname__}({settings})"
