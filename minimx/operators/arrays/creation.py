"""Data sheets of sequences, identity matrices, and shapes as arrays."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np

from minimx.core.dtypes import INT64, resolve
from minimx.core.errors import OperatorError
from minimx.core.operators.creation import Constant, Creation, Full, Ones, Zeros
from minimx.core.ops import Kernel, Op, register
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Deduced, Opens, merge

__all__ = [
    "Arange", "Constant", "Creation", "Description", "Eye", "Full", "Linspace", "Ones",
    "ShapeArray", "SizeArray", "Zeros",
]  # fmt: skip


@register("_arange")
class Arange(Creation):
    """start, start + step, ... before stop, each `repeat` times. out: one axis.

    Without stop, it counts from 0 up to start; with infer_range, in graphs, as far as
    the shape that is asked for.
    """

    start: float
    stop: float | None = None
    step: float = 1.0
    repeat: int = 1
    infer_range: bool = False
    dtype: str = "float32"

    @property
    def unresolved(self) -> bool:  # type: ignore[override]
        """Whether the number of elements is left open."""
        return self.infer_range and self.stop is None

    def deduce(self, ins: Opens, outs: Opens) -> Deduced:
        """One axis."""
        return ins, [merge(self.name, (None,), outs[0])]

    def resolve(self, out: Spec) -> Op:
        """The same with a stop that gives so many."""
        stop = self.start + out.size / self.repeat * self.step
        return type(self).of(**{**self.settings, "stop": stop, "infer_range": False})

    def bounds(self) -> tuple[float, int]:
        """The first number, and how many there are without repetitions."""
        if self.step == 0:
            raise OperatorError("arange: a step of 0 never arrives; give another.")
        start, stop = (
            (0.0, self.start) if self.stop is None else (self.start, self.stop)
        )
        return start, max(0, ceil((stop - start) / self.step))

    def infer(self, *specs: Spec) -> Spec:
        """As many as fit between start and stop."""
        return Spec.of((self.bounds()[1] * self.repeat,), resolve(self.dtype))

    def kernel(self, *specs: Spec) -> Kernel:
        """Counted in float64, then converted; integers step by integers."""
        start, count = self.bounds()
        step = self.step
        if resolve(self.dtype).kind in "iu":
            start, step = int(start), int(step)

        def launch(out: Any) -> None:
            numbers = start + np.arange(count) * step
            out[...] = np.repeat(numbers, self.repeat)

        return launch


@register("_linspace")
class Linspace(Creation):
    """`num` numbers at equal distances from start to stop.

    out (num,), of type `dtype`. endpoint=False leaves stop out: the distance is then
    (stop - start) / num. Computed in double precision, then converted.
    """

    start: float
    stop: float
    num: int
    endpoint: bool = True
    dtype: str = "float32"

    def infer(self, *specs: Spec) -> Spec:
        """`num` numbers."""
        return Spec.of((self.num,), resolve(self.dtype))

    def kernel(self, *specs: Spec) -> Kernel:
        """Computed in float64, then converted."""

        def launch(out: Any) -> None:
            out[...] = np.linspace(self.start, self.stop, self.num, self.endpoint)

        return launch


@register("_eye")
class Eye(Creation):
    """A matrix with ones on a diagonal and zeros elsewhere.

    out (N, M), or (N, N) if M is 0, of type `dtype`. k: which diagonal, above the main
    one if positive, below it if negative.
    """

    N: int
    M: int = 0
    k: int = 0
    dtype: str = "float32"

    def infer(self, *specs: Spec) -> Spec:
        """A matrix."""
        return Spec.of((self.N, self.M or self.N), resolve(self.dtype))

    def kernel(self, *specs: Spec) -> Kernel:
        """Zeros, then the diagonal."""
        rows, columns = self.infer().shape

        def launch(out: Any) -> None:
            out.fill(0)
            down = np.arange(max(0, -self.k), min(rows, columns - self.k))
            out[down, down + self.k] = 1

        return launch


class Description(Op):
    """What is known of an array without looking at its elements."""

    ignores = ("data",)
    differentiable = False

    def cost(self, *specs: Spec) -> Cost:
        """Nothing is read."""
        return Cost(0, 8)


@register("shape_array")
class ShapeArray(Description):
    """The lengths of the axes of data, as an array.

    data: any shape, which is not read; out (ndim,), int64.
    """

    def infer(self, *specs: Spec) -> Spec:
        """One number for each axis."""
        return Spec.of((specs[0].ndim,), INT64)

    def kernel(self, *specs: Spec) -> Kernel:
        """The shape is known before the elements."""
        shape = specs[0].shape

        def launch(data: Any, out: Any) -> None:
            out[...] = shape

        return launch


@register("size_array")
class SizeArray(Description):
    """The number of elements of data, as an array.

    data: any shape, which is not read; out (1,), int64.
    """

    def infer(self, *specs: Spec) -> Spec:
        """One number."""
        return Spec.of((1,), INT64)

    def kernel(self, *specs: Spec) -> Kernel:
        """The size is known before the elements."""
        size = specs[0].size
        return lambda data, out: out.fill(size)
