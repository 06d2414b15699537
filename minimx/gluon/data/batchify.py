"""Ways to make a batch of samples: stack them, pad them first, or treat parts apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import minimx.nd as nd
from minimx.core.arrays.array import NDArray, new
from minimx.core.device import cpu_shared
from minimx.core.errors import ArgumentError, ShapeError
from minimx.core.ops.spec import Spec
from minimx.gluon.np_arrays import as_np_if_set


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
    return as_np_if_set(nd.array(stacked, dtype=stacked.dtype))


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
    """Stack samples along a new first axis.

    use_shared_mem: into memory that processes share.
    """

    def __init__(self, use_shared_mem: bool = False) -> None:
        self._stack = default_mp_batchify_fn if use_shared_mem else default_batchify_fn

    def __call__(self, data: Sequence[Any]) -> Any:
        """The samples, stacked."""
        return self._stack(data)


class Pad:
    """Lengthen samples to the longest one along every axis, then stack them.

    val: what to fill up with. dtype: of the result; that of the samples by default.
    round_to: the new lengths are multiples of it. use_shared_mem: the batch is in
    memory that processes share.
    """

    def __init__(
        self,
        val: float | None = 0,
        dtype: Any = None,
        round_to: int | None = None,
        use_shared_mem: bool = False,
    ) -> None:
        if round_to is not None and round_to < 1:
            raise ArgumentError(f"Pad: round_to={round_to} must be 1 or more.")
        self._val = 0 if val is None else val
        self._dtype = dtype
        self._round_to = round_to or 1
        self._device = cpu_shared(0) if use_shared_mem else None

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
        longest = -(-longest // self._round_to) * self._round_to
        dtype = samples[0].dtype if self._dtype is None else self._dtype
        padded = np.full((len(samples), *longest), self._val, dtype)
        for row, sample in zip(padded, samples, strict=True):
            row[tuple(slice(length) for length in sample.shape)] = sample
        return as_np_if_set(nd.array(padded, ctx=self._device, dtype=dtype))  # type: ignore[no-any-return]


class AsList:
    """Leave the samples as they are, in a list."""

    def __call__(self, data: Sequence[Any]) -> list[Any]:
        """The samples."""
        return list(data)


class Append:
    """Each sample as an array of its own, with an axis for the batch.

    expand: insert that axis, at `batch_axis`; else leave the samples' shape.
    use_shared_mem: into memory that processes share.
    """

    def __init__(
        self, expand: bool = True, batch_axis: int = 0, use_shared_mem: bool = False
    ) -> None:
        self._axis = batch_axis if expand else None
        self._device = cpu_shared(0) if use_shared_mem else None

    def __call__(self, data: Sequence[Any]) -> list[NDArray]:
        """The samples, as a list of arrays."""
        return [self._one(sample) for sample in data]

    def _one(self, sample: Any) -> NDArray:
        if not isinstance(sample, NDArray):
            values = np.asarray(sample)
            sample = as_np_if_set(
                nd.array(values, ctx=self._device, dtype=values.dtype)
            )
        elif self._device is not None:
            sample = sample.as_in_context(self._device)
        if self._axis is None:
            return sample  # type: ignore[no-any-return]
        shape = list(sample.shape)
        shape.insert(self._axis, 1)
        return sample.reshape(tuple(shape))  # type: ignore[no-any-return]


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


#: Names of GluonNLP's and GluonCV's for the same.
List = AsList
Tuple = Group
