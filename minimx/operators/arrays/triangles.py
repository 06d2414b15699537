"""Data sheets of determinants, inverses, and of diagonals and triangles as vectors.

Matrices are the last two axes of an array, the axes before them a stack of matrices.
"""

from __future__ import annotations

from math import isqrt
from typing import Any

from minimx.core.dtypes import FLOAT32, FLOAT64
from minimx.core.errors import DTypeError, ShapeError
from minimx.core.operators.pointwise import same_dtype
from minimx.core.operators.shape import Move
from minimx.core.operators.views import reshaped
from minimx.core.ops import GradContext, Op, Value, bind, register
from minimx.core.ops.casting import SINGLE
from minimx.core.ops.registry import with_settings
from minimx.core.ops.spec import Cost, Spec
from minimx.operators.arrays.shape import SwapAxis
from minimx.operators.rules import Gradients, computed_by


def _stack(op: Op, spec: Spec) -> None:
    """Refuse what is no stack of square matrices of real numbers."""
    if spec.dtype not in (FLOAT32, FLOAT64):
        raise DTypeError(
            f"{op.name} computes in float32 or float64, the input is "
            f"{spec.dtype.name}. Convert it with .astype('float32')."
        )
    if spec.ndim < 2 or spec.shape[-1] != spec.shape[-2]:
        raise ShapeError(
            f"{op.name}: {spec.shape} is no stack of square matrices; its last two "
            "axes must be equally long."
        )


class Solved(Op):
    """An operator whose work is an LU factorisation of square matrices."""

    casting = SINGLE
    inputs = ("A",)

    def numbers(self, a: Spec) -> Spec:
        """One number for each matrix."""
        _stack(self, a)
        return a.with_shape(a.shape[:-2] or (1,))

    def infer(self, *specs: Spec) -> Spec | tuple[Spec, ...]:
        """One number for each matrix."""
        return self.numbers(specs[0])

    def spread(self, at: GradContext, value: Value) -> Value:
        """A number for each matrix, ready to be stretched over its elements."""
        shape = at.ins[0].shape
        return reshaped(value, shape[:-2] or (1,), (*shape[:-2], 1, 1))

    kernel = computed_by("linalg.")

    def cost(self, *specs: Spec) -> Cost:
        """About n³ operations for each matrix."""
        (a,) = specs
        return Cost(a.size * a.shape[-1], 2 * a.nbytes)


def _turned(value: Value) -> Value:
    return bind(SwapAxis.of(dim1=-1, dim2=-2), value)


@register("_linalg_inverse", "linalg_inverse", "_npi_inv")
class Inverse(Solved):
    """The inverse of every matrix. A, out (..., n, n).

    A singular matrix has none: an error, raised where the numbers are waited for;
    on CUDA devices NaN.
    """

    saves = ("out",)

    def infer(self, *specs: Spec) -> Spec:
        """The spec of A."""
        _stack(self, specs[0])
        return specs[0]

    def grad(self, at: GradContext, dout: Any, out: Value) -> Gradients:
        """-B⁻ᵀ · dB · B⁻ᵀ, with B the inverse."""
        product = bind(_product(transpose_a=True, alpha=-1.0), out, dout)
        return (bind(_product(transpose_b=True), product, out),)


def _product(**settings: Any) -> Op:
    from minimx.operators.arrays.linalg import Gemm2

    return Gemm2.of(**settings)


@register("_inverse_or_zeros")
class InverseOrZeros(Inverse):
    """The inverse of every matrix that has one, zeros for the others. A (..., n, n)."""

    saves = ("out",)


@register("_linalg_det", "linalg_det")
class Det(Solved):
    """The determinant of every matrix.

    A (..., n, n), float32 or float64; out (...), or (1,) for one matrix. The gradient
    at a singular matrix is 0, as in MXNet. `linalg_slogdet` does not overflow. Raises
    ShapeError unless the last two axes are equally long.
    """

    saves = ("A", "out")

    def grad(self, at: GradContext, dout: Any, a: Value, out: Value) -> Gradients:
        """det(A) · A⁻ᵀ."""
        inverse = bind(InverseOrZeros.of(), a)
        return (_turned(inverse) * self.spread(at, dout * out),)


@register("_linalg_slogdet", "linalg_slogdet")
class Slogdet(Solved):
    """The sign of every determinant, and the logarithm of its size.

    A (..., n, n); outs (...) each, (1,) for one matrix. A singular matrix has the sign
    0 and the logarithm -inf, and as in MXNet the gradient 0.
    """

    visible = 2
    saves = ("A",)

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """Two numbers for each matrix."""
        return (self.numbers(specs[0]),) * 2

    def grad(self, at: GradContext, dout: Any, a: Value) -> Gradients:
        """A⁻ᵀ; the sign has no gradient."""
        inverse = bind(InverseOrZeros.of(), a)
        return (_turned(inverse) * self.spread(at, dout[1]),)


@register("_linalg_sumlogdiag", "linalg_sumlogdiag")
class SumLogDiag(Solved):
    """The sum of the logarithms of the diagonal of every matrix.

    A (..., n, n), with a positive diagonal; out (...), or (1,) for one matrix. Of the
    factor that `linalg_potrf` gives it is half the logarithm of the determinant. A
    number that is not positive makes the sum NaN or -inf.
    """

    saves = ("A",)

    def grad(self, at: GradContext, dout: Any, a: Value) -> Gradients:
        """1 / x on the diagonal."""
        shape = at.ins[0].shape
        row = reshaped(dout, shape[:-2] or (1,), (*shape[:-2], 1))
        return (with_diagonal(row / diagonal_of(a)),)

    def cost(self, *specs: Spec) -> Cost:
        """A logarithm for each row."""
        (a,) = specs
        rows = a.size // max(1, a.shape[-1])
        return Cost(rows, rows * a.dtype.itemsize)


# -- diagonals and triangles as vectors ------------------------------------------------


@with_settings
class Line(Move):
    """An operator between matrices and a vector for each."""

    offset: int = 0

    casting = SINGLE
    inputs = ("A",)

    def side(self, a: Spec) -> int:
        """How long the diagonal with this offset is; there must be one."""
        _stack(self, a)
        left = a.shape[-1] - abs(self.offset)
        if left < 1:
            raise ShapeError(
                f"{self.name}: a matrix of {a.shape[-1]} rows has no diagonal "
                f"{self.offset}."
            )
        return left

    kernel = computed_by("linalg.", "offset")


@register("_linalg_extractdiag", "linalg_extractdiag")
class ExtractDiag(Line):
    """A diagonal of every matrix, as a vector.

    A (..., n, n); out (..., n - |offset|). offset: 0 the main diagonal, above it if
    positive, below it if negative. Raises ShapeError if there is no such diagonal. The
    gradient is `linalg_makediag`.
    """

    def infer(self, *specs: Spec) -> Spec:
        """A row for each matrix."""
        (a,) = specs
        return a.with_shape((*a.shape[:-2], self.side(a)))

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """In its place, zeros elsewhere."""
        return (bind(MakeDiag.of(offset=self.offset), dout),)


@register("_linalg_makediag", "linalg_makediag")
class MakeDiag(Line):
    """A matrix with the elements of a vector on a diagonal, zeros elsewhere.

    A (..., n); out (..., n + |offset|, n + |offset|). offset: 0 the main diagonal,
    above it if positive, below it if negative. The gradient is `linalg_extractdiag`.
    """

    def infer(self, *specs: Spec) -> Spec:
        """A square matrix for each row."""
        (a,) = specs
        side = a.shape[-1] + abs(self.offset)
        return a.with_shape((*a.shape[:-1], side, side))

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """From its place."""
        return (bind(ExtractDiag.of(offset=self.offset), dout),)


@register("_linalg_extracttrian", "linalg_extracttrian")
class ExtractTrian(Line):
    """The elements of a triangle of every matrix, as a line.

    Those of a lower triangle row by row, those of an upper one column by column.

    A (..., n, n); out (..., k (k + 1) / 2), with k = n - |offset|
    offset: where the triangle begins, above the diagonal or, negative, below it.
    lower: which triangle is meant if the offset is 0.
    """

    lower: bool = True

    kernel = computed_by("linalg.", "offset", "lower")

    def infer(self, *specs: Spec) -> Spec:
        """A row for each matrix."""
        (a,) = specs
        k = self.side(a)
        return a.with_shape((*a.shape[:-2], k * (k + 1) // 2))

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """In its place, zeros elsewhere."""
        return (bind(MakeTrian.of(**self.settings), dout),)


@register("_linalg_maketrian", "linalg_maketrian")
class MakeTrian(Line):
    """A matrix with the elements of A as a triangle, zeros elsewhere.

    A (..., k (k + 1) / 2); out (..., n, n), with n = k + |offset|
    offset, lower: which triangle, as for extracttrian.
    """

    lower: bool = True

    kernel = computed_by("linalg.", "offset", "lower")

    def infer(self, *specs: Spec) -> Spec:
        """A square matrix for each row."""
        (a,) = specs
        count = a.shape[-1]
        k = (isqrt(8 * count + 1) - 1) // 2
        if k * (k + 1) // 2 != count:
            raise ShapeError(
                f"{self.name}: {count} elements in a row are no triangle; it takes 1, "
                "3, 6, 10, ..."
            )
        side = k + abs(self.offset)
        return a.with_shape((*a.shape[:-1], side, side))

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """From its place."""
        return (bind(ExtractTrian.of(**self.settings), dout),)


def diagonal_of(value: Value) -> Value:
    """The main diagonal of every matrix."""
    return bind(ExtractDiag.of(), value)


def with_diagonal(value: Value) -> Value:
    """A matrix with that diagonal for every row, zeros elsewhere."""
    return bind(MakeDiag.of(), value)


def triangle_of(value: Value, lower: bool) -> Value:
    """Every matrix with zeros on the other side of its diagonal."""
    settings = {"lower": lower}
    return bind(MakeTrian.of(**settings), bind(ExtractTrian.of(**settings), value))


def lower_of(value: Value) -> Value:
    """The lower triangle of every matrix, zeros above it."""
    return triangle_of(value, True)


@register("khatri_rao")
class KhatriRao(Op):
    """Column by column, the Kronecker product of the columns of all matrices.

    args (m1, n), (m2, n), ...: one matrix or more; out (m1 * m2 * ..., n). With a (2,
    n) and b (3, n), row 3 * i + j of out is a[i] * b[j]. Raises ShapeError if the
    numbers of columns differ, DTypeError if the element types do. No gradient flows
    through.
    """

    casting = SINGLE
    variadic = True
    differentiable = False

    def infer(self, *specs: Spec) -> Spec:
        """The rows multiply; the columns must be equally many."""
        same_dtype(self.name, specs)
        rows = 1
        for spec in specs:
            if spec.ndim != 2 or spec.shape[1] != specs[0].shape[-1]:
                raise ShapeError(
                    f"khatri_rao: {specs[0].shape} and {spec.shape} are not matrices "
                    "with equally many columns."
                )
            rows *= spec.shape[0]
        return specs[0].with_shape((rows, specs[0].shape[1]))

    kernel = computed_by("linalg.khatri_rao")
