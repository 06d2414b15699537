"""Sequences of different lengths on CUDA; the CPU's file of this name says the rest.

    mask(x, lengths, out, ...)        `value` beyond each length
    last(x, lengths, axis, out)       the last element of each sequence
    unlast(dout, lengths, axis, out)  back to there
    reverse(x, lengths, out)          each sequence backwards

A thread owns elements of the answer. A length that is none of the array's reads what
the array has: nothing is read or written outside.
"""

from __future__ import annotations

from math import prod
from typing import Any

from minimx.core.shapes import Shape
from minimx.cuda.kernels import launching
from minimx.cuda.kernels.default_launch import real_first, runs
from minimx.cuda.kernels.launching import cuda


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


def mask(x: Any, lengths: Any, out: Any, split: Shape, share: int, value: Any) -> None:
    """`value` beyond the lengths, with x taken as (groups, length, inner).

    share: so many neighbours in x belong to one sequence. Lengths are cut off to whole
    numbers first.
    """
    settings = *split[1:], share, True, out.dtype.type(value)
    launching.over(_mask, out.size, (x, lengths, out), *settings)


@runs("_hide_beyond", types=real_first)
def _hide(x: Any, lengths: Any, axis: int, value: Any, out: Any) -> None:
    """`value` beyond the lengths along an axis, one for each vector."""
    axis %= len(x.shape)
    settings = int(x.shape[axis]), prod(x.shape[axis + 1 :]), 1, False
    launching.over(_mask, out.size, (x, lengths, out), *settings, out.dtype.type(value))


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


def last(x: Any, lengths: Any, axis: int, out: Any) -> None:
    """The last element of each sequence; time is along `axis` of x."""
    launching.over(_last, out.size, (x, lengths, out), *_sizes(axis, x.shape))


def unlast(dout: Any, lengths: Any, axis: int, out: Any) -> None:
    """The gradient of `last`: zeros but at the last elements."""
    settings = *_sizes(axis, out.shape), out.dtype.type(0)
    launching.over(_unlast, out.size, (dout, lengths, out), *settings)


def reverse(x: Any, lengths: Any, out: Any) -> None:
    """Each sequence backwards, time first."""
    sizes = int(x.shape[1]), prod(x.shape[2:])
    launching.over(_reverse, out.size, (x, lengths, out), *sizes)
