"""Copies for the rearrangements of `mx.np`; NumPy's loops release the GIL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minimx.core.shapes import Shape

Launch = Callable[..., None]


def roll(pairs: Sequence[tuple[int, int]]) -> Launch:
    """(x, out): x with its elements shifted; the axis -1 stands for the flat array."""
    if pairs[0][0] < 0:
        shift = pairs[0][1]
        return lambda x, out: np.copyto(out, np.roll(x, shift))
    axes, shifts = zip(*pairs, strict=True)
    return lambda x, out: np.copyto(out, np.roll(x, shifts, axes))


def join(seen: Sequence[Shape], axis: int) -> Launch:
    """(*xs, out): arrays in the shapes `seen`, one after another along an axis."""

    def launch(*arrays: Any) -> None:
        *xs, out = arrays
        parts = [x.reshape(shape) for x, shape in zip(xs, seen, strict=True)]
        np.concatenate(parts, axis, out=out)

    return launch


def pad(widths: Sequence[tuple[int, int]], mode: str, value: float) -> Launch:
    """(x, out): x inside a frame."""
    extra: dict[str, Any] = {"constant_values": value} if mode == "constant" else {}

    def launch(x: Any, out: Any) -> None:
        np.copyto(out, np.pad(x, widths, mode=mode, **extra))  # type: ignore[call-overload]

    return launch


def unpad(widths: Sequence[tuple[int, int]], mode: str, shape: Shape) -> Launch:
    """(dout, dx): each element of dx is the sum of what repeats it in the frame."""
    inside = tuple(slice(a, a + n) for (a, _), n in zip(widths, shape, strict=True))
    if mode == "constant":
        return lambda dout, dx: np.copyto(dx, dout[inside])

    def launch(dout: Any, dx: Any) -> None:
        numbers = np.arange(dx.size).reshape(shape)
        source = np.pad(numbers, widths, mode=mode)  # type: ignore[call-overload]
        total = np.bincount(source.reshape(-1), dout.reshape(-1), dx.size)
        np.copyto(dx, total.reshape(shape), casting="unsafe")

    return launch


def triangle(k: int, lower: bool) -> Launch:
    """(x, out): x with zeros above the k-th diagonal (below it, for the upper one)."""

    def launch(x: Any, out: Any) -> None:
        rows, columns = out.shape[-2:]
        kept = np.tri(rows, columns, k if lower else k - 1, dtype=bool)
        np.copyto(out, x)
        out[..., ~kept if lower else kept] = 0

    return launch
