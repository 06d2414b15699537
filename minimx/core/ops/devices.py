"""Operators whose kernels are not the same on every kind of device.

On a GPU some of them multiply matrices on units that take float16 (tensor cores). Two
knobs decide: whether those units may be used at all, and whether numbers of float32 may
be rounded so that they can be.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from minimx.core.dtypes import FLOAT32, DType
from minimx.core.knobs import knobs
from minimx.core.ops.spec import Cost

#: The knobs that decide about matrix units.
KNOBS = ("MXNET_CUDA_ALLOW_TENSOR_CORE", "MXNET_CUDA_TENSOR_OP_MATH_ALLOW_CONVERSION")


class ByDevice:
    """An operator with a copy that makes its plans for GPUs.

    The copy is for plans only: calls, tapes and graphs keep the operator itself.
    """

    #: For which kind of device it makes plans.
    kind: ClassVar[str] = "cpu"

    def for_device(self, kind: str) -> Self:
        """What makes the plans for a kind of device; all but "gpu" are as "cpu"."""
        kind = kind if kind == "gpu" else "cpu"
        if kind == self.kind:
            return self
        other: Any = self.__dict__.get("_other")
        if other is None:
            other = self.__dict__["_other"] = copy(self)
            other.__dict__.update(plans={}, kind=kind)
        return other  # type: ignore[no-any-return]


class Multiplies(ByDevice):
    """An operator that spends its time multiplying matrices: tensor cores can help."""

    multiplies: ClassVar[bool] = True


def on_tensor_cores(dtype: DType) -> bool:
    """Whether a GPU multiplies matrices of this type on its matrix units."""
    allowed, converts = map(knobs.get, KNOBS)
    fits = dtype.name == "float16" or (converts and dtype == FLOAT32)
    return bool(allowed and fits)


def as_multiplied(
    dtype: DType, cost: Cost, make: Callable[[], Any], reads: int
) -> tuple[Cost, Callable[[], Any]]:
    """The cost of a product on a GPU, and what makes its kernel.

    reads: how many of its arrays are inputs, the first ones. make: makes the kernel
    without matrix units. With them, arrays of float32 are rounded to float16 first;
    sums are in float32 either way.
    """
    if not on_tensor_cores(dtype):
        return cost, make
    cost = replace(cost, tensor_cores=True)
    return cost, make if dtype != FLOAT32 else lambda: _rounding(make(), reads)


def _rounding(kernel: Callable[..., None], reads: int) -> Callable[..., None]:
    """A kernel whose inputs of float32 are rounded to float16 first."""

    def run(*arrays: Any) -> None:
        kernel(*map(_rounded, arrays[:reads]), *arrays[reads:])

    return run


def _rounded(x: Any) -> Any:
    if x is None or x.dtype != np.float32:
        return x
    with np.errstate(over="ignore"):
        return x.astype(np.float16).astype(np.float32)
