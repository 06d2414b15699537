"""Data sheets of NumPy's functions of diagonals and triangles."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from minimx.core.errors import ShapeError
from minimx.core.kernels import find
from minimx.core.operators.reduce import sum_to
from minimx.core.operators.shape import Move
from minimx.core.operators.views import reshaped
from minimx.core.ops import GradContext, Kernel, Value, bind, register
from minimx.core.ops.registry import with_settings
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Shape
from minimx.operators.arrays.join import BackwardDiag
from minimx.operators.numpy.np_shape import NumpyBroadcastTo
from minimx.operators.rules import Gradients, computed_by, different_axes, kernel_of


@with_settings
class _Triangle(Move):
    """One of the two triangles of the last two axes."""

    k: int = 0
    lower: ClassVar[bool] = True

    def infer(self, *specs: Spec) -> Spec:
        """The spec of data; a vector becomes equal rows of a square."""
        (data,) = specs
        if data.ndim == 0:
            raise ShapeError(f"{self.name}: an array without axes has no triangle.")
        return data.with_shape(data.shape * 2) if data.ndim == 1 else data

    kernel = computed_by("np_shape.triangle", "k", "lower")

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The same triangle; the rows that a vector became add up."""
        kept = bind(type(self).of(k=self.k), dout)
        return (sum_to(kept, at.outs[0].shape, at.ins[0].shape),)


@register("_npi_tril")
class Tril(_Triangle):
    """Zeros above the k-th diagonal of the last two axes. data (n, m); out (n, m).

    data (n,): out (n, n), whose rows are data, with zeros above the diagonal
    """


@register("_npi_triu")
class Triu(_Triangle):
    """Zeros below the k-th diagonal of the last two axes. data (n, m); out (n, m).

    data (n,): out (n, n), whose rows are data, with zeros below the diagonal
    """

    lower = False


@with_settings
class _Diagonals(Move):
    """Diagonals of two axes."""

    offset: int = 0
    axis1: int = 0
    axis2: int = 1

    def diagonal(self, data: Spec) -> Shape:
        """The shape of the diagonals: without the two axes, with their own."""
        one, two = different_axes(self, data.ndim)
        rows, columns = data.shape[one], data.shape[two]
        length = min(rows + min(self.offset, 0), columns - max(self.offset, 0))
        kept = (n for axis, n in enumerate(data.shape) if axis not in (one, two))
        return (*kept, max(0, length))

    def placed(self, at: GradContext, value: Value) -> Value:
        """The gradient of data from that of its diagonals."""
        (data,) = at.ins
        one, two = different_axes(self, data.ndim)
        back = BackwardDiag.of(k=self.offset, axis1=one, axis2=two, shape=data.shape)
        return bind(back, value)


@register("_np_diagonal")
class Diagonal(_Diagonals):
    """Diagonals of two axes, along the last axis of out. data (2, 3, 4); out (4, 2)."""

    def infer(self, *specs: Spec) -> Spec:
        """The shape of the diagonals."""
        return specs[0].with_shape(self.diagonal(specs[0]))

    def kernel(self, *specs: Spec) -> Kernel:
        """A copy of NumPy's view of the diagonal."""
        return kernel_of(
            "shape.pick_diagonal", self.offset, *different_axes(self, specs[0].ndim)
        )

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """To where the diagonal was."""
        return (self.placed(at, dout),)


@register("_np_trace")
class Trace(_Diagonals):
    """Sums over diagonals of two axes. data (2, 3, 4); out (4,)."""

    def infer(self, *specs: Spec) -> Spec:
        """The shape without the two axes."""
        return specs[0].with_shape(self.diagonal(specs[0])[:-1])

    def kernel(self, *specs: Spec) -> Kernel:
        """NumPy's sum."""
        offset, (one, two) = self.offset, different_axes(self, specs[0].ndim)

        def launch(data: Any, out: Any) -> None:
            wide = np.float64 if data.dtype.kind == "f" else data.dtype
            total = np.trace(data, offset, one, two, wide)
            np.copyto(out, total, casting="unsafe")

        return launch

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The same number all along the diagonal."""
        shape = self.diagonal(at.ins[0])
        column = reshaped(dout, shape[:-1], (*shape[:-1], 1))
        return (self.placed(at, bind(NumpyBroadcastTo.of(shape=shape), column)),)

    def cost(self, *specs: Spec) -> Cost:
        """One addition for each element of the diagonals."""
        size = int(np.prod(self.diagonal(specs[0])))
        return Cost(size, size * specs[0].dtype.itemsize)


@register("_np_diag")
class NumpyDiag(Move):
    """The k-th diagonal of a matrix, or the matrix of one. data (3, 4); out (3,).

    data (3,), k=1: out (4, 4)
    """

    k: int = 0

    def infer(self, *specs: Spec) -> Spec:
        """One axis less, or one more."""
        (data,) = specs
        if data.ndim == 1:
            side = data.size + abs(self.k)
            return data.with_shape((side, side))
        if data.ndim != 2:
            raise ShapeError(
                f"diag: data {data.shape} must be a vector or a matrix; diagonal takes "
                "arrays with more axes, diagflat any."
            )
        return Diagonal.of(offset=self.k).infer(data)

    def kernel(self, *specs: Spec) -> Kernel:
        """A copy from or to the diagonal."""
        word = "place" if specs[0].ndim == 1 else "pick"
        return kernel_of(f"shape.{word}_diagonal", self.k, 0, 1)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The other way."""
        pick = Diagonal.of(offset=self.k)
        if at.ins[0].ndim == 1:
            return (bind(pick, dout),)
        return (pick.placed(at, dout),)


@register("_np_diagflat")
class DiagFlat(Move):
    """The matrix with data on its k-th diagonal. data (2, 3); out (6, 6)."""

    k: int = 0

    def infer(self, *specs: Spec) -> Spec:
        """A square."""
        side = specs[0].size + abs(self.k)
        return specs[0].with_shape((side, side))

    def kernel(self, *specs: Spec) -> Kernel:
        """Zeros, then the diagonal."""
        place = find("shape.place_diagonal")(self.k, 0, 1)
        return lambda data, out: place(data.reshape(-1), out)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The diagonal, in the shape of data."""
        (data,) = at.ins
        flat = bind(Diagonal.of(offset=self.k), dout)
        return (reshaped(flat, (data.size,), data.shape),)
