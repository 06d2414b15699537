"""Data sheets of linear algebra: products with alpha and beta, and factorisations.

Matrices are the last two axes of an array, the axes before them a stack of matrices;
element types are float32 and float64. Gradients follow Seeger et al.,
"Auto-Differentiating Linear Algebra" (2017), and are made of these operators again.
"""

from __future__ import annotations

from typing import Any, ClassVar

from minimx.core.dtypes import FLOAT32, FLOAT64
from minimx.core.errors import DTypeError, ShapeError
from minimx.core.operators.matmul import Product, inner
from minimx.core.operators.pointwise import same_dtype
from minimx.core.operators.views import ExpandDims
from minimx.core.ops import GradContext, Kernel, Op, Value, bind, register
from minimx.core.ops.casting import SINGLE
from minimx.core.ops.registry import with_settings
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Shape, normalize_axis
from minimx.operators.arrays import triangles
from minimx.operators.arrays.shape import SwapAxis
from minimx.operators.rules import Gradients, computed_by, kernel_of


def turned(value: Value) -> Value:
    """Every matrix transposed."""
    return bind(SwapAxis.of(dim1=-1, dim2=-2), value)


class Linalg(Op):
    """What operators on stacks of matrices share."""

    casting = SINGLE
    inputs: ClassVar[Any] = ("A",)

    def check(self, *specs: Spec, square: bool = False) -> None:
        """Refuse what is no stack of matrices of real numbers."""
        same_dtype(self.name, specs)
        if specs[0].dtype not in (FLOAT32, FLOAT64):
            raise DTypeError(
                f"{self.name} computes in float32 or float64, the input is "
                f"{specs[0].dtype.name}. Convert it with .astype('float32')."
            )
        for spec in specs:
            if spec.ndim < 2 or (square and spec.shape[-1] != spec.shape[-2]):
                what = "square matrices" if square else "matrices"
                raise ShapeError(
                    f"{self.name}: {spec.shape} is no stack of {what}; the last two "
                    "axes are those of a matrix."
                )

    kernel = computed_by("linalg.")

    def cost(self, *specs: Spec) -> Cost:
        """About n³ operations for each matrix."""
        inferred = self.infer(*specs)
        outs = inferred if isinstance(inferred, tuple) else (inferred,)
        moved = sum(spec.nbytes for spec in (*specs, *outs))
        return Cost(specs[0].size * specs[0].shape[-1], moved)


# -- products --------------------------------------------------------------------------


@register("_linalg_gemm2", "linalg_gemm2")
class Gemm2(Product):
    """alpha * A · B for matrices, or for every pair in two stacks of them.

    A (..., m, k), with transpose_a (..., k, m)
    B (..., k, n), with transpose_b (..., n, k); out (..., m, n)
    axis: where the rows are, if not the last but one; columns are always the last.
    """

    transpose_a: bool = False
    transpose_b: bool = False
    alpha: float = 1.0
    axis: int = -2

    casting = SINGLE
    inputs = ("A", "B")
    saves = ("A", "B")

    def matrices(self, lhs: Spec, rhs: Spec) -> tuple[Shape, Shape, Shape, Shape]:
        """The leading axes are the stack, and must agree."""
        if lhs.ndim < 2 or lhs.shape[:-2] != rhs.shape[:-2]:
            raise ShapeError(
                f"{self.name}: A {lhs.shape} and B {rhs.shape} must be matrices, or "
                "stacks of equally many."
            )
        k, m = lhs.shape[-2:] if self.transpose_a else lhs.shape[:-3:-1]
        n, last = rhs.shape[-2:] if self.transpose_b else rhs.shape[:-3:-1]
        inner(self.name, lhs.shape, rhs.shape, k, last)
        out = (*lhs.shape[:-2], m, n)
        return lhs.shape, rhs.shape, out, out

    def rows(self, spec: Spec) -> int:
        """The axis of the rows."""
        return normalize_axis(self.name, self.axis, spec.ndim)

    def plain(self) -> Gemm2:
        """The same product with the rows on the last axis but one."""
        return Gemm2.of(**{**self.settings, "axis": -2})

    def infer(self, *specs: Spec) -> Spec:
        """As for the usual axis, with the rows put back to where they were."""
        axis = self.rows(specs[0])
        same_dtype(self.name, specs)
        moved = [spec.with_shape(_moved(spec.shape, axis, -2)) for spec in specs[:2]]
        shape = self.matrices(*moved)[3]
        return specs[0].with_shape(_moved(shape, -2, axis))

    def kernel(self, *specs: Spec) -> Kernel:
        """The product, then the factor."""
        axis = self.rows(specs[0])
        if axis != specs[0].ndim - 2:
            settings = axis, self.transpose_a, self.transpose_b, self.alpha, 0.0
            return kernel_of("linalg.matmul", *settings)
        product, alpha = super().kernel(*specs), self.alpha
        if alpha == 1:
            return product

        def run(a: Any, b: Any, out: Any) -> None:
            product(a, b, out)
            out *= alpha

        return run

    def cost(self, *specs: Spec) -> Cost:
        """A multiplication and an addition for every term of every sum."""
        axis = self.rows(specs[0])
        moved = [spec.with_shape(_moved(spec.shape, axis, -2)) for spec in specs[:2]]
        return Product.cost(self.plain(), *moved)

    def grad(self, at: GradContext, dout: Any, lhs: Value, rhs: Value) -> Gradients:
        """Products again; the rows are moved there and back."""
        ndim = at.ins[0].ndim
        axis = self.rows(at.ins[0])
        if axis == ndim - 2:
            return super().grad(at, dout, lhs, rhs)
        there = [rows_moved(v, ndim, axis, ndim - 2) for v in (dout, lhs, rhs)]
        site = GradContext(_specs(at.ins, axis), _specs(at.outs, axis), at.wants)
        found = Product.grad(self.plain(), site, *there)
        return [
            None if value is None else rows_moved(value, ndim, ndim - 2, axis)
            for value in found
        ]


def _moved(shape: Shape, source: int, target: int) -> Shape:
    """A shape with one axis moved elsewhere."""
    left = list(shape)
    target %= len(shape)
    left.insert(target, left.pop(source))
    return tuple(left)


def _specs(specs: tuple[Spec, ...], axis: int) -> tuple[Spec, ...]:
    return tuple(spec.with_shape(_moved(spec.shape, axis, -2)) for spec in specs)


def rows_moved(value: Value, ndim: int, source: int, target: int) -> Value:
    """A value with one axis moved elsewhere."""
    from minimx.core.operators.shape import Transpose

    order = _moved(tuple(range(ndim)), source, target)
    return bind(Transpose.of(axes=order), value)


@register("_linalg_gemm", "linalg_gemm")
class Gemm(Linalg):
    """alpha * A · B + beta * C, for matrices or stacks of them.

    A (..., m, k), B (..., k, n), each transposed first if the settings say so;
    C, out (..., m, n). axis: where the rows are, as for gemm2.
    """

    transpose_a: bool = False
    transpose_b: bool = False
    alpha: float = 1.0
    beta: float = 1.0
    axis: int = -2

    inputs = ("A", "B", "C")
    saves = ("A", "B")

    def product(self) -> Gemm2:
        """The first term."""
        shared = {k: v for k, v in self.settings.items() if k != "beta"}
        return Gemm2.of(**shared)

    def infer(self, *specs: Spec) -> Spec:
        """The spec of C, which must be that of the product."""
        out = self.product().infer(*specs[:2])
        self.check(*specs)
        if specs[2].shape != out.shape:
            raise ShapeError(
                f"{self.name}: C is {specs[2].shape}, the product of A and B is "
                f"{out.shape}; they are added, so they must agree."
            )
        return out

    def kernel(self, *specs: Spec) -> Kernel:
        """The product, then the sum."""
        product, beta = self.product().kernel(*specs[:2]), self.beta

        def run(a: Any, b: Any, c: Any, out: Any) -> None:
            more = beta * c  # out may be the memory of C
            product(a, b, out)
            out += more

        return run

    def cost(self, *specs: Spec) -> Cost:
        """That of the product, and an addition for each element."""
        return self.product().cost(*specs[:2]) + Cost(specs[2].size, specs[2].nbytes)

    def grad(self, at: GradContext, dout: Any, a: Value, b: Value) -> Gradients:
        """Those of the product; C gets beta times the gradient."""
        site = GradContext(at.ins[:2], at.outs, at.wants[:2])
        first = self.product().grad(site, dout, a, b)
        return [*first, dout * self.beta if at.wants[2] else None]


@with_settings
class Triangular(Linalg):
    """What products with a triangle and their inverses share."""

    transpose: bool = False
    rightside: bool = False
    lower: bool = True
    alpha: float = 1.0

    inputs = ("A", "B")

    def infer(self, *specs: Spec) -> Spec:
        """The spec of B."""
        a, b = specs
        self.check(a, square=True)
        self.check(a, b)
        side = b.shape[-1] if self.rightside else b.shape[-2]
        if a.shape[:-2] != b.shape[:-2] or a.shape[-1] != side:
            raise ShapeError(
                f"{self.name}: a triangle A of {a.shape} does not fit B {b.shape} from "
                f"the {'right' if self.rightside else 'left'}; stacks must be equally "
                "many, and the sides that meet equally long."
            )
        return b

    kernel = computed_by("linalg.", "transpose", "rightside", "lower", "alpha")

    def back(self, dout: Value, a: Value) -> Value:
        """The gradient of B: the same with the other transpose."""
        op = type(self).of(**{**self.settings, "transpose": not self.transpose})
        return bind(op, a, dout)

    def outer(self, dout: Value, b: Value) -> Value:
        """The gradient of A, up to a factor: a product of dout and B, in A's order."""
        # left: dout bᵀ, right: bᵀ dout, each the other way round with transpose
        first, second = (dout, b) if self.rightside == self.transpose else (b, dout)
        sides = {"transpose_a": self.rightside, "transpose_b": not self.rightside}
        product = bind(Gemm2.of(**sides), first, second)
        return triangles.triangle_of(product, self.lower)


@register("_linalg_trmm", "linalg_trmm")
class Trmm(Triangular):
    """alpha * A · B for a triangle A; what lies on its other side counts as 0.

    A (..., m, m), B, out (..., m, n); rightside: alpha * B · A, A (..., n, n)
    transpose: Aᵀ in place of A; lower: which triangle A is.
    """

    saves = ("A", "B")

    def grad(self, at: GradContext, dout: Any, a: Value, b: Value) -> Gradients:
        """Two products."""
        da = db = None
        if at.wants[0]:
            da = self.outer(dout, b) * self.alpha
        if at.wants[1]:
            db = self.back(dout, a)
        return da, db


@register("_linalg_trsm", "linalg_trsm")
class Trsm(Triangular):
    """The solution X of A · X = alpha * B for a triangle A.

    A (..., m, m), B, out (..., m, n); rightside: X · A = alpha * B, A (..., n, n)
    transpose: Aᵀ in place of A; lower: which triangle A is. A 0 on its diagonal is an
    error, raised where the numbers are waited for; CUDA devices divide by it.
    """

    saves = ("A", "out")

    def grad(self, at: GradContext, dout: Any, a: Value, out: Value) -> Gradients:
        """A second system gives dB, and its product with X gives dA."""
        db = self.back(dout, a)
        da = None
        if at.wants[0]:
            da = self.outer(db, out) * (-1.0 / (self.alpha or 1.0))
        return da, db if at.wants[1] else None


@register("_linalg_syrk", "linalg_syrk")
class Syrk(Linalg):
    """alpha * A · Aᵀ, or with transpose alpha * Aᵀ · A.

    A (..., m, n); out (..., m, m), or (..., n, n) with transpose; a symmetric matrix
    for each of the stack. Raises ShapeError for less than two axes, DTypeError unless A
    is float32 or float64.
    """

    transpose: bool = False
    alpha: float = 1.0
    saves = ("A",)

    def infer(self, *specs: Spec) -> Spec:
        """Square matrices."""
        (a,) = specs
        self.check(a)
        side = a.shape[-1] if self.transpose else a.shape[-2]
        return a.with_shape((*a.shape[:-2], side, side))

    kernel = computed_by("linalg.syrk", "transpose", "alpha")

    def grad(self, at: GradContext, dout: Any, a: Value) -> Gradients:
        """A stands on both sides."""
        both = dout + turned(dout)
        pair = (a, both) if self.transpose else (both, a)
        return (bind(Gemm2.of(alpha=self.alpha), *pair),)


# -- factorisations --------------------------------------------------------------------


def mirrored(value: Value) -> Value:
    """The lower triangle, and above the diagonal its mirror image."""
    low = triangles.lower_of(value)
    return low + turned(low) - triangles.with_diagonal(triangles.diagonal_of(value))


@with_settings
class Square(Linalg):
    """An operator from square matrices to matrices of the same shape."""

    lower: bool = True

    def as_lower(self, *values: Value) -> list[Value]:
        """Upper triangles turned into lower ones."""
        return [value if self.lower else turned(value) for value in values]

    def kernel(self, *specs: Spec) -> Kernel:
        """LAPACK's, of a lower triangle or of one that is turned there and back."""
        made = super().kernel(*specs)
        if self.lower:
            return made

        def run(a: Any, out: Any) -> None:
            made(a.swapaxes(-1, -2), out.swapaxes(-1, -2))

        return run

    def infer(self, *specs: Spec) -> Spec:
        """The spec of A."""
        self.check(*specs, square=True)
        return specs[0]


@register("_linalg_potrf", "linalg_potrf", "_npi_cholesky")
class Potrf(Square):
    """Cholesky's factor: the lower triangle L with A = L · Lᵀ. A, out (..., n, n).

    A must be symmetric and positive definite, else OperatorError is raised where the
    numbers are waited for; on CUDA devices columns are NaN. Only the lower triangle of
    A is read; its gradient is symmetric.
    lower=False: the upper triangle Lᵀ, and only that of A is read.
    """

    saves = ("out",)

    def grad(self, at: GradContext, dout: Any, low: Value) -> Gradients:
        """L⁻ᵀ · mirrored(Lᵀ · dL) · L⁻¹ / 2."""
        low, dout = self.as_lower(low, dout)
        inside = mirrored(bind(Gemm2.of(transpose_a=True), low, dout))
        right = bind(Trsm.of(rightside=True, alpha=0.5), low, inside)
        return (bind(Trsm.of(transpose=True), low, right),)


@register("_linalg_potri", "linalg_potri")
class Potri(Square):
    """The inverse of A · Aᵀ for a lower triangle A. A, out (..., n, n).

    With A from potrf that is the inverse of the matrix that was factorised.
    lower=False: of Aᵀ · A for an upper triangle A.
    """

    saves = ("A", "out")

    def grad(self, at: GradContext, dout: Any, a: Value, out: Value) -> Gradients:
        """-B · (dB + dBᵀ) · A⁻ᵀ, its lower triangle."""
        (a,) = self.as_lower(a)
        inside = bind(Gemm2.of(), out, dout + turned(dout))
        solve = Trsm.of(rightside=True, transpose=True, alpha=-1.0)
        return tuple(self.as_lower(triangles.lower_of(bind(solve, a, inside))))


@register("_linalg_gelqf", "linalg_gelqf")
class Gelqf(Linalg):
    """The factors of A = L · Q: a lower triangle L, and orthonormal rows in Q.

    A (..., m, n) with m <= n; outs Q (..., m, n), L (..., m, m). Raises ShapeError if
    there are more rows than columns: transpose A. The gradient asks for rows that are
    independent.
    """

    visible = 2
    saves = ("out", "out1")

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """Q like A, L square."""
        (a,) = specs
        self.check(a)
        m, n = a.shape[-2:]
        if m > n:
            raise ShapeError(
                f"{self.name}: {m} rows of length {n} cannot all be orthogonal; A must "
                "not have more rows than columns. Transpose it."
            )
        return a, a.with_shape((*a.shape[:-1], m))

    def grad(self, at: GradContext, dout: Any, q: Value, low: Value) -> Gradients:
        """L⁻ᵀ · (dQ + mirrored(Lᵀ · dL - dQ · Qᵀ) · Q)."""
        dq, dlow = dout
        inside = bind(Gemm2.of(transpose_a=True), low, dlow) - bind(
            Gemm2.of(transpose_b=True), dq, q
        )
        right = dq + bind(Gemm2.of(), mirrored(inside), q)
        return (bind(Trsm.of(transpose=True), low, right),)


@register("_linalg_syevd", "linalg_syevd")
class Syevd(Linalg):
    """The eigenvalues L, ascending, and eigenvectors of symmetric matrices.

    A (..., n, n); outs U (..., n, n), L (..., n) with A = Uᵀ · diag(L) · U: the rows
    of U are the vectors. Only the lower triangle is read; the gradient is symmetric,
    and only defined where all eigenvalues differ.
    """

    casting = SINGLE
    visible = 2
    saves = ("out", "out1")

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """Matrices and vectors."""
        (a,) = specs
        self.check(a, square=True)
        return a, a.with_shape(a.shape[:-1])

    def grad(self, at: GradContext, dout: Any, u: Value, values: Value) -> Gradients:
        """Uᵀ · (sym((dU · Uᵀ) / (li - lj)) + diag(dL)) · U."""
        du, dvalues = dout
        gaps = bind(ExpandDims.of(axis=-1), values) - bind(
            ExpandDims.of(axis=-2), values
        )
        same = gaps == 0
        turns = bind(Gemm2.of(transpose_b=True, alpha=0.5), du, u)
        turns = turns * (1 - same) / (gaps + same)
        inside = turns + turned(turns) + triangles.with_diagonal(dvalues)
        left = bind(Gemm2.of(transpose_a=True), u, inside)
        return (bind(Gemm2.of(), left, u),)
