"""Which of MXNet's two semantics hold for a thread: those of `mx.nd`, or NumPy's.

Two switches, as in MXNet. `np_shape`: arrays without axes and arrays without elements
exist, so that a sum over everything has shape () and not (1,). `np_array`: layers,
losses and loaders make `mx.np` arrays. `mx.util` and `mx.npx` are where users turn
them; a scope turns them for its own thread, `set_np` for the process.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass


@dataclass
class NpSemantics:
    """The two switches."""

    np_shape: bool = False
    np_array: bool = False


#: The switches of threads without a scope.
everywhere = NpSemantics()


class _Mine(threading.local):
    def __init__(self) -> None:
        self.scopes: list[NpSemantics] = []


_mine = _Mine()


def current() -> NpSemantics:
    """The switches of this thread: of its innermost scope, else of the process."""
    scopes = _mine.scopes
    return scopes[-1] if scopes else everywhere


def is_np_shape() -> bool:
    """Whether arrays without axes exist for this thread.

    Examples
    --------
    >>> import minimx as mx
    >>> with mx.np_shape(True):
    ...     mx.util.is_np_shape()
    True
    """
    return current().np_shape


def is_np_array() -> bool:
    """Whether layers and loaders of this thread make `mx.np` arrays.

    Examples
    --------
    >>> import minimx as mx
    >>> with mx.util.np_array(True):
    ...     mx.util.is_np_array()
    True
    """
    return current().np_array


def set_everywhere(np_shape: bool, np_array: bool) -> NpSemantics:
    """Set the switches of the process and of the current scope: `mx.npx.set_np`.

    Returns the switches that held for this thread before.
    """
    now = current()
    before = NpSemantics(now.np_shape, now.np_array)
    for switches in (everywhere, now):
        switches.np_shape, switches.np_array = np_shape, np_array
    return before


class Scope:
    """A `with` scope of this thread; None leaves a switch as it is."""

    def __init__(
        self, np_shape: bool | None = None, np_array: bool | None = None
    ) -> None:
        self.np_shape = np_shape
        self.np_array = np_array

    def __enter__(self) -> NpSemantics:
        now = current()
        _mine.scopes.append(
            NpSemantics(
                now.np_shape if self.np_shape is None else self.np_shape,
                now.np_array if self.np_array is None else self.np_array,
            )
        )
        return _mine.scopes[-1]

    def __exit__(self, *_: object) -> None:
        _mine.scopes.pop()
