"""Kernels on batches of sequences of different lengths.

Time is axis 0 and the batch axis 1, or with axis=1 the other way round. Lengths often
come as float32; without any, every sequence is as long as the array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Launch = Callable[..., None]


def _lengths(x: Any, rest: tuple[Any, ...], axis: int) -> Any:
    """How long each sequence is: the numbers given, or that of the time axis."""
    if rest:
        return rest[0].astype(np.int64)
    return np.full(x.shape[1 - axis], x.shape[axis], np.int64)


def mask(axis: int, value: float) -> Launch:
    """(x[, lengths], out): x, with `value` after the end of each sequence."""

    def launch(x: Any, *rest: Any) -> None:
        *given, out = rest
        np.copyto(out, x)
        if not given:
            return
        times = np.arange(x.shape[axis])
        ended = times[:, None] >= _lengths(x, tuple(given), axis)
        np.swapaxes(out, 0, axis)[ended] = value

    return launch


def _last(x: Any, given: tuple[Any, ...], axis: int) -> tuple[Any, Any]:
    """Where the last element of each sequence is."""
    places = (_lengths(x, given, axis) - 1, np.arange(x.shape[1 - axis]))
    return (places[0], places[1]) if axis == 0 else (places[1], places[0])


def last(axis: int) -> Launch:
    """(x[, lengths], out): the last element of each sequence."""

    def launch(x: Any, *rest: Any) -> None:
        *given, out = rest
        np.copyto(out, x[_last(x, tuple(given), axis)])

    return launch


def unlast(axis: int) -> Launch:
    """(dout[, lengths], out): zeros, and dout at the end of each sequence."""

    def launch(dout: Any, *rest: Any) -> None:
        *given, out = rest
        out.fill(0)
        out[_last(out, tuple(given), axis)] = dout

    return launch


def reverse(x: Any, *rest: Any) -> None:
    """(x[, lengths], out): each sequence backwards; what follows its end stays."""
    *given, out = rest
    times = np.arange(x.shape[0])[:, None]
    lengths = _lengths(x, tuple(given), 0)[None]
    places = np.where(times < lengths, lengths - 1 - times, times)
    np.copyto(out, x[places, np.arange(x.shape[1])])
