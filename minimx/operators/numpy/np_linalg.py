"""Data sheets of NumPy's linear algebra, which the `linalg_*` family lacks.

Matrices are the last two axes of an array, the axes before them a stack of matrices.
"""

from __future__ import annotations

from typing import Any

from minimx.core.errors import ShapeError
from minimx.core.operators.views import ExpandDims, reshaped
from minimx.core.ops import GradContext, Kernel, Value, bind, register
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Shape
from minimx.operators.arrays.linalg import Gemm2, Linalg, turned
from minimx.operators.arrays.triangles import Det, Slogdet, Solved, with_diagonal
from minimx.operators.rules import Gradients, computed_by, kernel_of


class _Numpy(Linalg):
    """An operator on stacks of matrices whose kernel is NumPy's."""

    kernel = computed_by("np_linalg.")


def _times(a: Value, b: Value, ta: bool = False, tb: bool = False) -> Value:
    return bind(Gemm2.of(transpose_a=ta, transpose_b=tb), a, b)


@register("_npi_svd")
class Svd(_Numpy):
    """A = U · diag(L) · V with orthonormal columns in U and rows in V; L descends.

    A (..., m, n); outs U (..., m, k), L (..., k), V (..., k, n) with k = min(m, n). The
    gradient is only defined where all elements of L differ.
    """

    visible = 3
    saves = ("out", "out1", "out2")

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """The thin factors."""
        (a,) = specs
        self.check(a)
        *stack, m, n = a.shape
        k = min(m, n)
        shapes: tuple[Shape, ...] = ((*stack, m, k), (*stack, k), (*stack, k, n))
        return tuple(a.with_shape(shape) for shape in shapes)

    def grad(
        self, at: GradContext, dout: Any, u: Value, values: Value, v: Value
    ) -> Gradients:
        """U · (sym(F ∘ Uᵀ·dU) · L + L · sym(F ∘ V·dVᵀ) + diag(dL)) · V, and the rest.

        F_ij = 1 / (l_j² - l_i²). The rest is the part of dU (of dV) outside the space
        that the columns of U (the rows of V) span; there is one for thin factors only.
        """
        du, dvalues, dv = dout
        row = bind(ExpandDims.of(axis=-2), values)
        column = bind(ExpandDims.of(axis=-1), values)
        gaps = (row - column) * (row + column)
        same = gaps == 0
        weights = (1 - same) / (gaps + same)
        left, right = _times(u, du, ta=True), _times(v, dv, tb=True)
        turns, twists = left * weights, right * weights
        inside = (turns + turned(turns)) * row + (twists + turned(twists)) * column
        inside = inside + with_diagonal(dvalues)
        total = _times(_times(u, inside), v)
        m, n = at.ins[0].shape[-2:]
        if m > n:
            outside = (du - _times(u, left)) / row
            total = total + _times(outside, v)
        if n > m:
            outside = (dv - _times(right, v, ta=True)) / column
            total = total + _times(u, outside)
        return (total,)


@register("_npi_solve")
class Solve(_Numpy):
    """The x with A · x = B. A (..., n, n), B (..., n, k) or (..., n); out like B.

    A singular A gives an error where the numbers are waited for, on CUDA devices
    NaN.
    """

    inputs = ("A", "B")
    saves = ("A", "out")

    @staticmethod
    def columns(a: Spec, b: Spec) -> Shape:
        """The shape of B as matrices."""
        return (*b.shape, 1) if b.ndim == a.ndim - 1 else b.shape

    def infer(self, *specs: Spec) -> Spec:
        """The spec of B; the stacks must be of one shape."""
        a, b = specs
        self.check(a, square=True)
        shape = self.columns(a, b)
        if a.dtype != b.dtype or shape[:-1] != a.shape[:-1]:
            raise ShapeError(
                f"solve: A {a} wants a B of its own type with the shape "
                f"{a.shape[:-1]} or {(*a.shape[:-1], 'k')}; it is {b}."
            )
        return b

    def kernel(self, *specs: Spec) -> Kernel:
        """LAPACK's LU solver."""
        return kernel_of("np_linalg.solve", self.columns(*specs))

    def grad(self, at: GradContext, dout: Any, a: Value, out: Value) -> Gradients:
        """DB = A⁻ᵀ · dx, dA = -dB · xᵀ."""
        left = bind(Solve.of(), turned(a), dout)
        if not at.wants[0]:
            return [None, left]
        shape, wide = at.ins[1].shape, self.columns(*at.ins)
        one, two = reshaped(left, shape, wide), reshaped(out, shape, wide)
        product = Gemm2.of(transpose_b=True, alpha=-1.0)
        return [bind(product, one, two), left]


@register("_npi_eig")
class Eig(_Numpy):
    """Eigenvalues and eigenvectors of any square matrix; no gradient, as in MXNet.

    A (..., n, n); outs values (..., n), vectors (..., n, n), one in each column. Real
    matrices with complex eigenvalues give an error where they are waited for. On CUDA
    devices this one and `eigvals` visit the host.
    """

    visible = 2
    differentiable = False

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """Vectors and matrices."""
        (a,) = specs
        self.check(a, square=True)
        return a.with_shape(a.shape[:-1]), a


@register("_npi_eigvals")
class EigVals(_Numpy):
    """The eigenvalues of any square matrix; no gradient. A (..., n, n); out (..., n).

    Real matrices with complex eigenvalues give an error where they are waited for.
    """

    differentiable = False

    def infer(self, *specs: Spec) -> Spec:
        """One for each row."""
        (a,) = specs
        self.check(a, square=True)
        return a.with_shape(a.shape[:-1])


class _Numbers(Solved):
    """One number for each matrix, which has no axes for a single matrix."""

    def numbers(self, a: Spec) -> Spec:
        """The shape of the stack."""
        return super().numbers(a).with_shape(a.shape[:-2])

    def spread(self, at: GradContext, value: Value) -> Value:
        """A number for each matrix, ready to be stretched over its elements."""
        shape = at.ins[0].shape[:-2]
        return reshaped(value, shape, (*shape, 1, 1))


@register("_npi_det")
class NumpyDet(_Numbers, Det):
    """The determinant of every matrix. A (..., n, n); out (...)."""

    saves = ("A", "out")


@register("_npi_slogdet")
class NumpySlogdet(_Numbers, Slogdet):
    """The sign of every determinant, and the logarithm of its size. A (..., n, n).

    outs (...) each; a singular matrix has the sign 0 and the logarithm -inf
    """

    visible = 2
    saves = ("A",)
