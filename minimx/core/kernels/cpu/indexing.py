"""Gathering by index, and its gradient: adding up what was gathered from one place.

Indices often come as float32, MXNet's habit; they are cut off to integers first.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from minimx.core.dtypes import NARROW
from minimx.core.errors import OperatorError
from minimx.core.kernels import pointwise, threads
from minimx.core.kernels.half import computing
from minimx.core.kernels.parts import dealt
from minimx.core.shapes import Shape, split_at

Launch = Callable[..., None]

COLUMNS = 256  # how many elements of a row one task adds up


def _positions(indices: Any, length: int, mode: str, name: str) -> Any:
    """Indices as int64 between 0 and length - 1: clipped, wrapped round, or refused."""
    found = indices.astype(np.int64)
    if mode == "clip":
        np.maximum(found, 0, out=found)
        return np.minimum(found, length - 1, out=found)
    if mode == "wrap":
        return np.mod(found, length, out=found)
    first = -length if mode == "numpy" else 0
    bad = found[(found < first) | (found >= length)]
    if bad.size:
        raise OperatorError(
            f"{name}: index {bad[0]} does not exist on an axis of length {length}. "
            "mode='clip' moves such indices to the ends, 'wrap' counts round."
        )
    return found


def take(axis: int, length: int, mode: str) -> Launch:
    """A launch of (x, indices, out): whole slices of x along an axis, in that order.

    length: of that axis. mode: "clip" moves indices outside of it to the ends, "wrap"
    counts round; "numpy" counts negative ones from the end and refuses others, as
    "raise" does, with OperatorError.
    """

    def launch(x: Any, indices: Any, out: Any) -> None:
        positions = _positions(indices, length, mode, "take")
        np.take(x, positions, axis, out=out, mode="wrap")

    return launch


@threads.jit(parallel=True)
def _add_slices(part: Any, dout: Any, positions: Any, out: Any) -> None:
    """Dout (pre, many, inner), positions (many,), out (pre, n, inner).

    Threads share the columns, not the slices: a sum is added up in one order.
    """
    pre, many, inner = dout.shape
    tiles = (inner + COLUMNS - 1) // COLUMNS
    for job in dealt(pre * tiles, part):
        p, left = job // tiles, job % tiles * COLUMNS
        right = min(inner, left + COLUMNS)
        for row in range(out.shape[1]):
            for k in range(left, right):
                out[p, row, k] = 0
        for i in range(many):
            row = positions[i]
            for k in range(left, right):
                out[p, row, k] += dout[p, i, k]


def untake(shape: Shape, axis: int, mode: str) -> Launch:
    """A launch of (dout, indices, out): the gradient of `take` for x of this shape.

    Slices that were taken several times add up, always in one order, whatever the
    number of threads; 16-bit types add up in float32.
    """
    split = split_at(shape, axis)
    run: Any = _add_slices
    if prod(shape) < pointwise.SMALL:
        run = _add_slices.small

    def launch(dout: Any, indices: Any, out: Any) -> None:
        length, flat = shape[axis], indices.reshape(-1)
        positions = _positions(flat, length, mode, "take") % length
        wide = computing(dout.dtype)
        total = out if wide == dout.dtype else np.empty(shape, wide)
        rows = dout.astype(wide, copy=False).reshape(split[0], positions.size, split[2])
        run(rows, positions, total.reshape(split))
        if total is not out:
            out[...] = total

    return launch


@threads.jit(parallel=True)
def _fetch(part: Any, x: Any, positions: Any, out: Any) -> None:
    """Data x (pre, length, post), positions and out (pre, many, post)."""
    pre, many, post = positions.shape
    for p in dealt(pre, part):
        for k in range(many):
            for j in range(post):
                out[p, k, j] = x[p, positions[p, k, j], j]


@threads.jit(parallel=True)
def _add_along(part: Any, dout: Any, positions: Any, out: Any) -> None:
    """Its transpose: out (pre, length, post), zero where nothing comes."""
    pre, many, post = positions.shape
    for p in dealt(pre, part):
        out[p] = 0
        for k in range(many):
            for j in range(post):
                out[p, positions[p, k, j], j] += dout[p, k, j]


def along(axis: int, length: int, mode: str) -> Launch:
    """A launch of (x, indices, out): one element of x for each index, along an axis.

    indices has the shape of x but for that axis; axes of length 1 stretch. mode: as for
    `take`.
    """

    def launch(x: Any, indices: Any, out: Any) -> None:
        positions = _positions(indices, length, mode, "pick")
        flat, inner = split_at(x.shape, axis), split_at(positions.shape, axis)
        stretched = (flat[0], flat[2]) != (inner[0], inner[2])
        if stretched or not x.size:
            np.copyto(out, np.take_along_axis(x, positions, axis))
            return
        word = f"u{x.itemsize}"  # elements are moved as they are, of any type
        moved, to = x.view(word).reshape(flat), out.view(word).reshape(inner)
        run = _fetch.small if x.size < pointwise.SMALL else _fetch
        run(moved, positions.reshape(inner), to)

    return launch


def unalong(axis: int, length: int, mode: str) -> Launch:
    """A launch of (dout, indices, out): the gradient of `along`.

    dout and indices have one shape; out the same, but `length` long on the axis. Where
    an index occurs several times, its gradients are added.
    """

    def launch(dout: Any, indices: Any, out: Any) -> None:
        positions = _positions(indices, length, mode, "pick")
        inner = split_at(positions.shape, axis)
        if out.dtype not in NARROW and out.size:
            run = _add_along.small if out.size < pointwise.SMALL else _add_along
            total = out.reshape(split_at(out.shape, axis))
            run(dout.reshape(inner), positions.reshape(inner), total)
            return
        out.fill(0)
        # One layer of indices after another: within a layer no two are the same place.
        for k in range(positions.shape[axis]):
            layer = (slice(None),) * axis + (slice(k, k + 1),)
            here = np.take_along_axis(out, positions[layer], axis) + dout[layer]
            np.put_along_axis(out, positions[layer], here, axis)

    return launch


def one_hot(depth: int, on: float, off: float) -> Launch:
    """A launch of (indices, out): `on` at each index, `off` elsewhere.

    indices (...,), out (..., depth); an index outside of [0, depth) gives `off` only.
    """

    def launch(indices: Any, out: Any) -> None:
        positions = indices.astype(np.int64).reshape(-1)
        rows = np.flatnonzero((positions >= 0) & (positions < depth))
        out.fill(off)
        if not out.size:
            return
        out.reshape(-1, depth)[rows, positions[rows]] = on

    return launch


# -- the keys of x[key] ----------------------------------------------------------------


#: What patterns spell out: 1 == True, and a pattern must tell them apart.
_WORDS = {"...": Ellipsis, "true": True, "false": False}


def numpy_key(pattern: tuple[Any, ...], indices: tuple[Any, ...]) -> tuple[Any, ...]:
    """A key for NumPy; each "array" in the pattern becomes the next of the indices.

    A tuple in the pattern is a slice (start, stop, step); indices that are no integers
    are converted to int64, as MXNet's default element type is float32.
    """
    rest = iter(indices)
    key: list[Any] = []
    for item in pattern:
        if item == "array":
            found = next(rest)
            key.append(found if found.dtype.kind in "iub" else found.astype(np.int64))
        elif item in _WORDS:
            key.append(_WORDS[item])
        else:
            key.append(slice(*item) if isinstance(item, tuple) else item)
    return tuple(key)


def advanced(pattern: tuple[Any, ...]) -> Launch:
    """A launch of (x, *indices, out): x[key] for a key with arrays."""

    def launch(x: Any, *rest: Any) -> None:
        out = rest[-1]
        np.copyto(out, x[numpy_key(pattern, rest[:-1])].reshape(out.shape))

    return launch


def unadvanced(pattern: tuple[Any, ...]) -> Launch:
    """A launch of (dout, *indices, out): the gradient of `advanced`; repeats add up."""

    def launch(dout: Any, *rest: Any) -> None:
        out = rest[-1]
        out.fill(0)
        np.add.at(out, numpy_key(pattern, rest[:-1]), dout)

    return launch
