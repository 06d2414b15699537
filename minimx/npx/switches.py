"""Which of the two kinds of array a program uses, and how it is set.

    npx.set_np()               NumPy's, from now on, in the whole process
    with mx.util.np_shape():   arrays without axes exist, in this block
    @mx.util.use_np            in this function, or in all methods of this class

Two switches (`np_semantics.py`): `np_shape` lets arrays without axes and without
elements exist, `np_array` makes layers, losses and loaders give `mx.np` arrays. The
second needs the first.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from minimx.core import np_semantics
from minimx.core.errors import ArgumentError
from minimx.core.np_semantics import is_np_array, is_np_shape

_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])

__all__ = [
    "is_np_array", "is_np_default_dtype", "is_np_shape", "np_array", "np_shape",
    "reset_np", "set_np", "set_np_shape", "use_np", "use_np_array", "use_np_shape",
]  # fmt: skip


# -- for the process -------------------------------------------------------------------


def set_np(shape: bool = True, array: bool = True, dtype: bool = False) -> None:
    """Use NumPy's semantics from now on.

    shape, array: the two switches. dtype: MXNet 2 can make float64 the default type;
    here it is always float32.
    """
    if array and not shape:
        raise ValueError(
            "set_np: array=True needs shape=True: functions of mx.np give arrays "
            "without axes."
        )
    if dtype:
        raise ArgumentError(
            "set_np: dtype=True would make float64 the default element type; here it "
            "is float32. Give dtype='float64' where you want it."
        )
    np_semantics.set_everywhere(shape, array)


def reset_np() -> None:
    """Use the semantics of `mx.nd` again."""
    np_semantics.set_everywhere(np_shape=False, np_array=False)


def set_np_shape(active: bool) -> bool:
    """Let arrays without axes exist, or not; returns what held before."""
    before = np_semantics.set_everywhere(bool(active), np_semantics.is_np_array())
    return before.np_shape


def is_np_default_dtype() -> bool:
    """Whether the default element type is float64: never; MXNet 2 has a switch."""
    return False


# -- for a block -----------------------------------------------------------------------


class _Scope(np_semantics.Scope):
    """A `with` scope that is a decorator as well."""

    def __call__(self, function: _Decorated) -> _Decorated:
        """The function, running inside such a scope."""
        return _inside(function, self.np_shape, self.np_array)


def np_shape(active: bool = True) -> _Scope:
    """A `with` scope in which arrays without axes exist, or do not."""
    return _Scope(np_shape=active)


def np_array(active: bool = True) -> _Scope:
    """A `with` scope in which layers and loaders give `mx.np` arrays, or do not."""
    return _Scope(np_array=active)


# -- for a function or a class ---------------------------------------------------------


def _inside(function: Any, shape: bool | None, array: bool | None) -> Any:
    if not callable(function):
        raise TypeError(
            f"use_np decorates functions and classes, not a {type(function).__name__}."
        )

    @functools.wraps(function)
    def inside(*args: Any, **kwargs: Any) -> Any:
        with np_semantics.Scope(shape, array):
            return function(*args, **kwargs)

    return inside


def _decorated(thing: Any, shape: bool | None, array: bool | None) -> Any:
    """A function inside a scope; a class with all methods, inherited ones too."""
    if not inspect.isclass(thing):
        return _inside(thing, shape, array)
    for name, member in inspect.getmembers_static(thing):
        if inspect.isfunction(member):
            setattr(thing, name, _inside(member, shape, array))
        elif isinstance(member, property):
            fget, fset, fdel = (
                None if f is None else _inside(f, shape, array)
                for f in (member.fget, member.fset, member.fdel)
            )
            setattr(thing, name, property(fget, fset, fdel, member.__doc__))
    return thing


def use_np_shape(func: _Decorated) -> _Decorated:
    """Decorate a function or class: arrays without axes exist inside."""
    return _decorated(func, True, None)


def use_np_array(func: _Decorated) -> _Decorated:
    """Decorate a function or class: layers and loaders give `mx.np` arrays inside."""
    return _decorated(func, None, True)


def use_np(func: _Decorated) -> _Decorated:
    """Decorate a function or class: NumPy's semantics hold inside."""
    return _decorated(func, True, True)
