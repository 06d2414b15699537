"""Ways to make a batch of samples: stack them, pad them first, or treat parts apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import minimx.nd as nd
from minimx.device import cpu_shared
from minimx.errors import ArgumentError, ShapeError
from minimx.gluon.flavours import flavoured
from minimx.nd.array import NDArray, new
from minimx.ops.spec import Spec


def default_batchify_fn(data: Sequence[Any]) -> Any:
    """Stack samples along a new first axis; tuples become a list of such stacks.

    Numbers and NumPy arrays keep their dtype.
    """
    first = data[0]
    if isinstance(first, NDArray):
        return nd.stack(*data)
    if isinstance(first, tuple):
        return [default_batchify_fn(part) for part in zip(*data, strict=True)]
    try:
        stacked = np.asarray(data)
    except ValueError:
        shapes = sorted({np.shape(sample) for sample in data})
        raise ShapeError(
            f"samples of different shapes cannot be stacked: {shapes[:4]}. Make them "
            "equal in a transform, or give a batchify_fn such as batchify.Pad."
        ) from None
    return flavoured(nd.array(stacked, dtype=stacked.dtype))


def default_mp_batchify_fn(data: Sequence[Any]) -> Any:
    """As `default_batchify_fn`, into memory that processes share: `cpu_shared(0)`."""
    first = data[0]
    if isinstance(first, tuple):
        return [default_mp_batchify_fn(part) for part in zip(*data, strict=True)]
    if isinstance(first, NDArray) and first.stype == "default":
        alike = all(isinstance(one, NDArray) and one.spec is first.spec for one in data)
        if alike:
            out = new(
                Spec.of((len(data), *first.shape), first.spec.dtype),
                cpu_shared(0),
                "DataLoader",
                type(first),
            )
            return nd.stack(*data, out=out)
    with cpu_shared(0):
        return default_batchify_fn(data).as_in_context(cpu_shared(0))


class Stack:
    """Stack samples along a new first axis."""

    def __call__(self, data: Sequence[Any]) -> Any:
        """The samples, stacked."""
        return default_batchify_fn(data)


class Pad:
    """Lengthen samples to the longest one along every axis, then stack them.

    val: what to fill up with. dtype: of the result; that of the samples by default.
    """

    def __init__(self, val: float = 0, dtype: Any = None) -> None:
        self._val = val
        self._dtype = dtype

    def __call__(self, data: Sequence[Any]) -> NDArray:
        """The samples, padded and stacked."""
        samples = [
            x.asnumpy() if isinstance(x, NDArray) else np.asarray(x) for x in data
        ]
        if len({sample.ndim for sample in samples}) != 1:
            raise ShapeError(
                "Pad: the samples have different numbers of axes: "
                f"{sorted({sample.ndim for sample in samples})}. Reshape them first."
            )
        longest = np.max([sample.shape for sample in samples], axis=0)
        dtype = samples[0].dtype if self._dtype is None else self._dtype
        padded = np.full((len(samples), *longest), self._val, dtype)
        for row, sample in zip(padded, samples, strict=True):
            row[tuple(slice(length) for length in sample.shape)] = sample
        return flavoured(nd.array(padded, dtype=dtype))  # type: ignore[no-any-return]


class Group:
    """One function for each part of a sample: `Group(Pad(), Stack())`."""

    def __init__(self, fn: Any, *args: Callable[[Sequence[Any]], Any]) -> None:
        self._fns = list(fn) if isinstance(fn, (list, tuple)) else [fn, *args]
        for one in self._fns:
            if not callable(one):
                raise ArgumentError(f"Group takes functions, not {one!r}.")

    def __call__(self, data: Sequence[Any]) -> tuple[Any, ...]:
        """The parts, each by its own function."""
        if len(data[0]) != len(self._fns):
            raise ArgumentError(
                f"Group has {len(self._fns)} functions, but a sample has "
                f"{len(data[0])} parts. Give one for each."
            )
        parts = zip(*data, strict=True)
        return tuple(fn(part) for fn, part in zip(self._fns, parts, strict=True))
