"""In the place of NumPy, in a page: only the names that modules mention at import.

The policies that a page runs decide on plain numbers, but modules beside them name
element types when they are imported. Whatever else is asked of NumPy here is an error
that says where one is.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

#: What modules name at import: types, and the module of random numbers.
TYPES = {
    *("bool_", "float16", "float32", "float64", "int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64", "generic", "ndarray", "random"),
}


class _Type:
    """A name of a type: it can be compared, hashed and subscripted, nothing else."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getitem__(self, item: object) -> Any:
        return self

    def __repr__(self) -> str:
        return f"<the name numpy.{self.name}, in a page without NumPy>"


class dtype(_Type):
    """An element type by its name; it has no size and converts nothing."""

    def __init__(self, of: Any) -> None:
        super().__init__(of.name if isinstance(of, _Type) else str(of))

    def __class_getitem__(cls, item: object) -> Any:
        return cls

    def __eq__(self, other: object) -> bool:
        return isinstance(other, dtype) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


def empty(shape: object, of: object) -> bytes:
    """No bytes, for a driver that only counts. Raises RuntimeError for any other."""
    if shape != 0:
        raise _missing("empty(...) for more than 0 elements")
    return b""


def _missing(name: str) -> RuntimeError:
    return RuntimeError(
        f"numpy.{name} was asked for, and there is no NumPy in this page: it runs the "
        "code that decides, on plain numbers. Run this in a notebook."
    )


def __getattr__(name: str) -> Any:
    if name in TYPES:
        return _Type(name)
    if name.startswith("__"):
        raise AttributeError(name)
    raise _missing(name)


typing = ModuleType("numpy.typing")
typing.NDArray = _Type("ndarray")  # type: ignore[attr-defined]
sys.modules[typing.__name__] = typing
