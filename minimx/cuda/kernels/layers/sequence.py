"""Sequences of different lengths on CUDA; the CPU's file of this name says the rest.

    mask(split, share, ...)       (x, lengths, out): `value` beyond each length
    last(axis, shape)             (x, lengths, out): the last element of each sequence
    unlast(axis, shape)           (dout, lengths, out): back to there
    reverse(shape)                (x, lengths, out): each sequence backwards

A thread owns elements of the answer. A length that is none of the array's reads what
the array has: nothing is read or written outside.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from minimx.core.shapes import Shape
from minimx.cuda.kernels import launching
from minimx.cuda.kernels.launching import cuda

Launch = Callable[..., None]


@launching.kernel
def _mask(
    x: Any, lengths: Any, out: Any, n: int, length: int, inner: int, share: int,
    whole: bool, value: Any,
) -> None:  # fmt: skip
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        place, group, rest = i // inner % length, i // (inner * length), i % inner
        end = float(lengths[group * (inner // share) + rest // share])
        kept = place < int(end) if whole else place < end
        out[i] = x[i] if kept else value


def mask(split: Shape, share: int, value: Any, whole: bool) -> Launch:
    """(x, lengths, out), with x taken as (groups, length, inner).

    share: so many neighbours in x belong to one sequence; whole: lengths are cut off
    to whole numbers first.
    """
    groups, length, inner = split
    n = groups * length * inner

    def launch(x: Any, lengths: Any, out: Any) -> None:
        flat = x.reshape(-1), lengths.reshape(-1), out.reshape(-1)
        number = out.dtype.type(value)
        launching.run(_mask, n, *flat, n, length, inner, share, whole, number)

    return launch


@launching.inner
def _end(length: Any, steps: int) -> int:
    """The place of the last element; as in Python, -1 is the last of all."""
    place = int(length) - 1
    return max(0, place + steps) if place < 0 else min(place, steps - 1)


@launching.kernel
def _last(
    x: Any, lengths: Any, out: Any, n: int, steps: int, batch: int, rest: int,
    first: bool,
) -> None:  # fmt: skip
    """first: time is the first axis, not the second."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        row = i // rest
        time = _end(lengths[row], steps)
        at = time * batch + row if first else row * steps + time
        out[i] = x[at * rest + i % rest]


@launching.kernel
def _unlast(
    dout: Any, lengths: Any, out: Any, n: int, steps: int, batch: int, rest: int,
    first: bool, zero: Any,
) -> None:  # fmt: skip
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        at = i // rest
        time = at // batch if first else at % steps
        row = at % batch if first else at // steps
        here = time == _end(lengths[row], steps)
        out[i] = dout[row * rest + i % rest] if here else zero


@launching.kernel
def _reverse(x: Any, lengths: Any, out: Any, n: int, batch: int, rest: int) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        time, row = i // (batch * rest), i // rest % batch
        end = min(int(lengths[row]), n // (batch * rest))
        place = end - 1 - time if time < end else time
        out[i] = x[(place * batch + row) * rest + i % rest]


def _sizes(axis: int, shape: Shape) -> tuple[int, int, int, bool]:
    """Times, sequences, elements at one time of one; whether time comes first."""
    return shape[axis], shape[1 - axis], prod(shape[2:]), axis == 0


def last(axis: int, shape: Shape) -> Launch:
    """(x, lengths, out); shape: that of x, with time along `axis`."""
    sizes = _sizes(axis, shape)

    def launch(x: Any, lengths: Any, out: Any) -> None:
        flat = x.reshape(-1), lengths.reshape(-1), out.reshape(-1)
        launching.run(_last, out.size, *flat, out.size, *sizes)

    return launch


def unlast(axis: int, shape: Shape) -> Launch:
    """(dout, lengths, out); shape: that of out."""
    sizes = _sizes(axis, shape)

    def launch(dout: Any, lengths: Any, out: Any) -> None:
        flat = dout.reshape(-1), lengths.reshape(-1), out.reshape(-1)
        zero = out.dtype.type(0)
        launching.run(_unlast, out.size, *flat, out.size, *sizes, zero)

    return launch


def reverse(shape: Shape) -> Launch:
    """(x, lengths, out), time first."""
    n, batch, rest = prod(shape), shape[1], prod(shape[2:])

    def launch(x: Any, lengths: Any, out: Any) -> None:
        flat = x.reshape(-1), lengths.reshape(-1), out.reshape(-1)
        launching.run(_reverse, n, *flat, n, batch, rest)

    return launch
