"""Repeated, padded and diagonal elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minimx.core.kernels.cpu.shape import Launch
from minimx.core.shapes import Shape


def tile(shape: Shape, reps: Shape) -> Launch:
    """(x, out): x, `reps[k]` times along axis k; both as long as out has axes."""
    apart = [n for pair in zip(reps, shape, strict=True) for n in pair]
    once = [n for length in shape for n in (1, length)]
    return lambda x, out: np.copyto(out.reshape(apart), x.reshape(once))


def repeat(shape: Shape, axis: int, times: int) -> Launch:
    """(x, out): every element `times` times in a row along an axis."""
    apart = (*shape[: axis + 1], times, *shape[axis + 1 :])
    once = (*shape[: axis + 1], 1, *shape[axis + 1 :])
    return lambda x, out: np.copyto(out.reshape(apart), x.reshape(once))


def pick_diagonal(k: int, axis1: int, axis2: int) -> Launch:
    """(x, out): a diagonal of two axes; it runs along the last axis of out."""
    return lambda x, out: np.copyto(out, np.diagonal(x, k, axis1, axis2))


def place_diagonal(k: int, axis1: int, axis2: int) -> Launch:
    """(x, out): zeros with x on a diagonal of two axes of out."""

    def launch(x: Any, out: Any) -> None:
        out.fill(0)
        matrices = np.moveaxis(out, (axis1, axis2), (-2, -1))
        rows = np.arange(x.shape[-1]) + max(-k, 0)
        matrices[..., rows, rows + k] = x

    return launch


def pad(widths: Sequence[tuple[int, int]], mode: str, value: float) -> Launch:
    """(x, out): x inside a frame of a constant, of its edge, or of its reflection."""

    def launch(x: Any, out: Any) -> None:
        if mode == "constant":
            out.fill(value)
        inside = tuple(
            slice(a, a + n) for (a, _), n in zip(widths, x.shape, strict=True)
        )
        out[inside] = x
        if mode != "constant":
            for axis, length in enumerate(x.shape):
                _frame(np.moveaxis(out, axis, 0), widths[axis], length, mode)

    return launch


def _sources(width: tuple[int, int], n: int, mode: str) -> list[tuple[int, int]]:
    """For each row of the frame: (its place, the place of the row that it repeats)."""
    before, after = width
    first, last = before, before + n - 1
    if mode == "edge":
        left = [(first - k, first) for k in range(1, before + 1)]
        right = [(last + k, last) for k in range(1, after + 1)]
    else:
        left = [(first - k, first + k) for k in range(1, before + 1)]
        right = [(last + k, last - k) for k in range(1, after + 1)]
    return left + right


def _frame(out: Any, width: tuple[int, int], n: int, mode: str) -> None:
    for target, source in _sources(width, n, mode):
        out[target] = out[source]


def unpad(widths: Sequence[tuple[int, int]], mode: str) -> Launch:
    """(dout, dx): the gradient of `pad`; what was repeated adds up."""

    def launch(dout: Any, dx: Any) -> None:
        inside = tuple(
            slice(a, a + n) for (a, _), n in zip(widths, dx.shape, strict=True)
        )
        if mode == "constant":
            dx[...] = dout[inside]
            return
        folded = dout.copy()
        for axis in reversed(range(dx.ndim)):
            rows = np.moveaxis(folded, axis, 0)
            for target, source in _sources(widths[axis], dx.shape[axis], mode):
                rows[source] += rows[target]
        dx[...] = folded[inside]

    return launch
