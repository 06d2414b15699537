"""Settings of operators: read as MXNet reads them, distinct as keys.

to_type("Pooling", "kernel", "(2, 2)", "Shape")    (2, 2)
exact(-0.0) == exact(0.0)                          False
"""

from __future__ import annotations

import ast
import dataclasses
import operator
import warnings
from functools import cache
from typing import Any

import numpy as np

from minimx.core.errors import OperatorError, did_you_mean

#: The settings of a class; to ask `dataclasses` takes 4 µs for eight of them.
fields_of: Any = cache(dataclasses.fields)
#: What converting a value may raise; text from a file may exhaust Python's parser.
_BAD = (TypeError, ValueError, SyntaxError, ArithmeticError, RuntimeError, MemoryError)
_KINDS: dict[str, Any] = {"str": (str, type, np.dtype), "tuple": tuple}
#: Settings that say of how many arrays or layers an operator consists, and how many
#: one call may have: for each there are names, shapes and a launch in Python.
COUNTS = ("num_weights", "num_arrays", "num_tensors", "num_outputs", "num_layers")
MOST = 1 << 16


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
    try:
        found = _converted(value, wanted)
        hash(found)  # operators are found by their settings
    except _BAD:
        raise OperatorError(
            f"{op}: {name}={shown(value)} is not a value of type {wanted}."
        ) from None
    if name in COUNTS and isinstance(found, int) and found > MOST:
        raise OperatorError(
            f"{op}: {name}={found} is not plausible; one call handles at most {MOST:,}."
        )
    return found


def _converted(value: Any, wanted: str) -> Any:
    """The value as one of the wanted type; raises one of `_BAD`."""
    if isinstance(value, str) and wanted.startswith("bool"):
        value = value.capitalize()  # files of MXNet have `true` as well as `True`
    if isinstance(value, str) and "str" not in wanted and "DType" not in wanted:
        value = ast.literal_eval(value)
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        value = _as_tuple(value)
    if value is None and ("None" in wanted or wanted == "Any"):
        return None
    if wanted.startswith("float"):
        return float(value)
    _check_whole(value)
    if wanted.startswith("bool"):
        return bool(value)
    if wanted.startswith("int"):
        return operator.index(value)
    if wanted.startswith("Shape"):
        items = value if isinstance(value, tuple) else (value,)
        return tuple(operator.index(item) for item in items)
    for word, kinds in _KINDS.items():
        if wanted.startswith(word) and not isinstance(value, kinds):
            raise TypeError
    return value


def _check_whole(value: Any) -> None:
    """Refuse whole numbers that 64 bits do not hold, also inside of tuples."""
    for item in value if isinstance(value, tuple) else (value,):
        if isinstance(item, tuple):
            _check_whole(item)
        elif isinstance(item, int) and not -(1 << 63) <= item < 1 << 63:
            raise OverflowError


def shown(value: Any) -> str:
    """A value for an error, which is not longer than a line."""
    try:
        text = repr(value)
    except ValueError:  # Python does not write numbers of thousands of digits
        text = f"a number of {value.bit_length()} bits"
    return text if len(text) <= 80 else f"{text[:77]}..."


class FrozenSettings:
    """The methods of a frozen dataclass, written once.

    `dataclass` would compile them anew for each of hundreds of sheets.
    """

    def __init__(self, *args: Any, **settings: Any) -> None:
        every = fields_of(type(self))
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


# -- all settings of a call ------------------------------------------------------------

#: Settings that no caller gives: the modes that hold at the moment of a call.
IMPLICIT_SETTINGS = ("training", "np_shape")


def converted(sheet: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of a call, each converted to the type of its field.

    sheet: the class of the operator. Raises OperatorError for a setting that the sheet
    does not have, that does not fit, or that is missing.
    """
    fields = {field.name: field for field in fields_of(sheet)}
    found = {}
    for name, value in settings.items():
        if name not in fields:
            offered = [word for word in fields if word not in IMPLICIT_SETTINGS]
            _refuse(sheet, name, offered)
            continue
        kind: Any = fields[name].type  # a class where annotations are not text
        wanted = kind.__name__ if isinstance(kind, type) else str(kind)
        found[name] = to_type(sheet.name, name, value, wanted)
    missing = [
        name
        for name, field in fields.items()
        if name not in found
        and field.default is dataclasses.MISSING
        and field.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise OperatorError(
            f"{sheet.name} needs {', '.join(missing)}; give a value for each."
        )
    return found


def _refuse(sheet: Any, name: str, offered: list[str]) -> None:
    """Refuse a setting; as in MXNet, an operator that has none ignores it."""
    if not offered and not sheet.variadic:
        warnings.warn(
            f"{sheet.name} has no settings, so {name!r} changes nothing.", stacklevel=2
        )
        return
    hint = did_you_mean(name, offered)
    known = ", ".join(offered) or "none"
    raise OperatorError(f"{sheet.name} has no setting {name!r}; it has: {known}.{hint}")
