"""Data sheets of matrix products.

Every gradient of a product is a product again, with other transposes: no array is ever
copied into its transpose.

MXNet 1.9.1: src/operator: tensor/dot.cc, nn/fully_connected.cc.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from minimx.core.dtypes import DType
from minimx.core.errors import OperatorError, ShapeError
from minimx.core.kernels import find
from minimx.core.kernels.prebuilt import calls_of, offers
from minimx.core.operators.pointwise import same_dtype
from minimx.core.operators.views import reshaped
from minimx.core.ops import deduction
from minimx.core.ops.casting import TARGET, WIDEST
from minimx.core.ops.devices import Multiplies
from minimx.core.ops.registry import (
    GradContext,
    Kernel,
    Op,
    Value,
    bind,
    lookup,
    register,
)
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Shape


def multiply(
    ta: bool, tb: bool, a: Shape, b: Shape, out: Shape, dtype: DType
) -> Kernel:
    """`kernel(a, b, out)` for arrays seen as (stacks of) matrices of these shapes.

    ta, tb: whether a, b are transposed first. a, b, out: (…, rows, columns) as they are
    stored. Small products know the calls that they come down to, so that graphs can
    join them.
    """
    product, calls = find("matmul.product"), find("short_products.calls")

    def run(lhs: Any, rhs: Any, result: Any) -> None:
        product(lhs.reshape(a), rhs.reshape(b), result.reshape(out), ta, tb)

    def prebuilt(lhs: Any, rhs: Any, result: Any) -> Any:
        return calls(lhs.reshape(a), rhs.reshape(b), result.reshape(out), ta, tb)

    small = find("short_products.is_small")(
        dtype, *out[-2:], a[-2 if ta else -1], prod(out[:-2])
    )
    direct = find("short_products.direct")
    return offers(direct(run, ta, tb, a, b, out), prebuilt) if small else run


def inner(name: str, lhs: Shape, rhs: Shape, k: int, other: int) -> None:
    """Refuse sums that run over axes of different lengths: ShapeError.

    name, lhs, rhs: the operator and the shapes of its inputs, for the error. k, other:
    the lengths of the axes that are summed over.
    """
    if k != other:
        raise ShapeError(
            f"{name}: the sum runs over {k} elements of lhs {lhs}, but over {other} of "
            f"rhs {rhs}. Transpose one of them, or choose other shapes."
        )


class Product(Multiplies, Op):
    """A product of two arrays, each of which may be transposed first."""

    inputs = ("lhs", "rhs")
    saves = ("lhs", "rhs")

    transpose_a: bool
    transpose_b: bool

    def _as(self, a: bool, b: bool) -> Op:
        """The same operator with other transposes."""
        return type(self).of(
            **{**self.settings, "transpose_a": bool(a), "transpose_b": bool(b)}
        )

    def matrices(self, lhs: Spec, rhs: Spec) -> tuple[Shape, Shape, Shape, Shape]:
        """How lhs, rhs and out are seen as matrices, and the shape of out itself.

        Raises ShapeError if the axes to be summed over have different lengths.
        """
        raise OperatorError(f"{self.name} has no rule for its matrices")

    def infer(self, *specs: Spec) -> Spec:
        """The shape that `matrices` gives, of the inputs' type."""
        same_dtype(self.name, specs)
        return specs[0].with_shape(self.matrices(*specs)[3])

    def kernel(self, *specs: Spec) -> Kernel:
        """BLAS, a tile at a time."""
        a, b, out, _ = self.matrices(*specs)
        dtype = specs[0].dtype
        return multiply(self.transpose_a, self.transpose_b, a, b, out, dtype)

    def cost(self, *specs: Spec) -> Cost:
        """A multiplication and an addition for every term of every sum."""
        a, _, out, _ = self.matrices(*specs)
        k = a[-2] if self.transpose_a else a[-1]
        size = prod(out)
        moved = sum(spec.nbytes for spec in specs) + size * specs[0].dtype.itemsize
        return Cost(2 * size * k, moved)

    def grad(
        self, at: GradContext, dout: Any, lhs: Value, rhs: Value
    ) -> Sequence[Value | None]:
        """Rule: dA = dout Bᵀ, dB = Aᵀ dout, for A, B = lhs, rhs after their transposes.

        What is stored transposed gets the transposed gradient: dAᵀ = B doutᵀ.
        """
        ta, tb = self.transpose_a, self.transpose_b
        a, b, out, shape = self.matrices(*at.ins)
        left, right = at.ins[0].shape, at.ins[1].shape
        dout = reshaped(dout, shape, out)
        lhs, rhs = reshaped(lhs, left, a), reshaped(rhs, right, b)
        dlhs = drhs = None
        if at.wants[0]:
            dlhs = self._times(tb, True, rhs, dout) if ta else None
            if not ta:
                dlhs = self._times(False, not tb, dout, rhs)
            dlhs = reshaped(dlhs, a, left)
        if at.wants[1]:
            drhs = self._times(True, ta, dout, lhs) if tb else None
            if not tb:
                drhs = self._times(not ta, False, lhs, dout)
            drhs = reshaped(drhs, b, right)
        return dlhs, drhs

    def _times(self, ta: bool, tb: bool, lhs: Value, rhs: Value) -> Value:
        return bind(self._as(ta, tb), lhs, rhs)


@register("dot")
class Dot(Product):
    """The product that sums over the last axis of lhs and the first axis of rhs.

    lhs (..., k), with transpose_a (k, ...); rhs (k, ...), with transpose_b (..., k),
    both of one type; out: the other axes of lhs, then those of rhs; (1,) for two
    vectors. So (2, 3) and (3, 4) give (2, 4). forward_stype: how the result of sparse
    inputs is stored; it changes nothing for dense ones.
    Raises ShapeError for different k, DTypeError for different types.
    """

    transpose_a: bool = False
    transpose_b: bool = False
    forward_stype: str | None = None

    casting = WIDEST

    def matrices(self, lhs: Spec, rhs: Spec) -> tuple[Shape, Shape, Shape, Shape]:
        """All axes of an array but the summed one are one axis of its matrix.

        lhs (2, 3, 4), rhs (4, 5): matrices (6, 4), (4, 5) and (6, 5); out (2, 3, 5).
        """
        ta, tb = self.transpose_a, self.transpose_b
        k, head = (
            (lhs.shape[0], lhs.shape[1:]) if ta else (lhs.shape[-1], lhs.shape[:-1])
        )
        last, tail = (
            (rhs.shape[-1], rhs.shape[:-1]) if tb else (rhs.shape[0], rhs.shape[1:])
        )
        inner(self.name, lhs.shape, rhs.shape, k, last)
        m, n = prod(head), prod(tail)
        a, b = (k, m) if ta else (m, k), (n, k) if tb else (k, n)
        return a, b, (m, n), (*head, *tail) or (1,)


@register("batch_dot")
class BatchDot(Product):
    """A matrix product for every pair of matrices in two stacks.

    lhs (..., m, k), with transpose_a (..., k, m)
    rhs (..., k, n), with transpose_b (..., n, k); out (..., m, n)
    At least one axis before the last two; those must agree, and do not stretch. All of
    one type. Raises ShapeError, DTypeError.
    """

    transpose_a: bool = False
    transpose_b: bool = False
    forward_stype: str | None = None

    casting = WIDEST

    def matrices(self, lhs: Spec, rhs: Spec) -> tuple[Shape, Shape, Shape, Shape]:
        """The last two axes are the matrices; those before must agree.

        lhs (8, 2, 3), rhs (8, 3, 5): as they are; out (8, 2, 5).
        """
        if lhs.ndim < 3 or lhs.shape[:-2] != rhs.shape[:-2]:
            raise ShapeError(
                f"{self.name}: lhs {lhs.shape} and rhs {rhs.shape} are not stacks of "
                "equally many matrices: the axes before the last two must agree. "
                "For single matrices use dot."
            )
        k, m = lhs.shape[-2:] if self.transpose_a else lhs.shape[:-3:-1]
        n, last = rhs.shape[-2:] if self.transpose_b else rhs.shape[:-3:-1]
        inner(self.name, lhs.shape, rhs.shape, k, last)
        out = (*lhs.shape[:-2], m, n)
        return lhs.shape, rhs.shape, out, out


@register("FullyConnected")
class FullyConnected(Multiplies, Op):
    """Every output is a weighted sum of all features, plus a bias.

    out = data weightᵀ + bias: data (N, ...), weight (num_hidden, features), bias
    (num_hidden,), all of one type; out (N, num_hidden): the axes of data after the
    first are `features` together.
    flatten=False: data (..., features), out (..., num_hidden). no_bias: there is no
    input bias.
    Raises ShapeError for other shapes, DTypeError for different types.
    """

    num_hidden: int
    no_bias: bool = False
    flatten: bool = True

    casting = TARGET
    all_inputs = ("data", "weight", "bias")
    deduce = deduction.samples_of_out
    saves = ("data", "weight")

    @property
    def inputs(self) -> tuple[str, ...]:
        """Bias only where there is one."""
        return self.all_inputs[:2] if self.no_bias else self.all_inputs

    def rows(self, data: Spec) -> tuple[int, int]:
        """The data as a matrix (rows, features)."""
        if data.ndim < 2 and self.flatten:
            features = 1
        else:
            features = prod(data.shape[1:]) if self.flatten else data.shape[-1]
        return data.size // max(features, 1), features

    def complete(self, data: Spec) -> dict[str, Shape]:
        """{parameter: its shape} for this data."""
        shapes: dict[str, Shape] = {"weight": (self.num_hidden, self.rows(data)[1])}
        return shapes if self.no_bias else {**shapes, "bias": (self.num_hidden,)}

    def infer(self, *specs: Spec) -> Spec:
        """Features become num_hidden."""
        data, weight, *bias = specs
        same_dtype(self.name, specs)
        features = self.rows(data)[1]
        if weight.shape != (self.num_hidden, features):
            if weight.ndim == 2 and weight.shape[0] == self.num_hidden:
                expected = f"expects {weight.shape[1]}"
                remedy = "Flatten data, or rebuild the layer."
            else:
                expected = f"is not ({self.num_hidden}, {features})"
                remedy = f"num_hidden is {self.num_hidden}."
            raise ShapeError(
                f"FullyConnected: data {data.shape} brings {features} features, "
                f"weight {weight.shape} {expected}. {remedy}"
            )
        shapes = (self.num_hidden,), (self.num_hidden, 1)
        if bias and bias[0].shape not in shapes:
            raise ShapeError(
                f"FullyConnected: bias {bias[0].shape} has not one element for each of "
                f"num_hidden={self.num_hidden} outputs."
            )
        head = data.shape[:1] if self.flatten else data.shape[:-1]
        return data.with_shape((*head, self.num_hidden))

    def kernel(self, *specs: Spec) -> Kernel:
        """One product with the transposed weight, then the bias on every row."""
        rows, features = self.rows(specs[0])
        hidden = self.num_hidden
        weight, out, dtype = (hidden, features), (rows, hidden), specs[0].dtype
        product = multiply(False, True, (rows, features), weight, out, dtype)
        if self.no_bias:
            return product
        biased = find("matmul.biased")
        bias_calls = find("short_products.bias_calls")

        def run(data: Any, weight: Any, bias: Any, out: Any) -> None:
            data, out = data.reshape(rows, features), out.reshape(rows, hidden)
            biased(data, weight, bias.reshape(hidden), out)

        def prebuilt(data: Any, weight: Any, bias: Any, out: Any) -> Any:
            added = bias_calls(out, bias.reshape(hidden))
            return [*calls_of(product, [data, weight, out]), *added]

        small = find("short_products.is_small")(
            dtype, rows, hidden, features, bias=True
        )
        direct = find("short_products.biased")(product, rows, hidden)
        return offers(direct, prebuilt) if small else run

    def grad(
        self, at: GradContext, dout: Any, data: Value, weight: Value
    ) -> Sequence[Value | None]:
        """Rule: ddata = dout weight, dweight = doutᵀ data, dbias = Σ dout over rows."""
        rows, features = self.rows(at.ins[0])
        flat = (rows, self.num_hidden)
        dout = reshaped(dout, at.outs[0].shape, flat)
        ddata = dweight = None
        if at.wants[0]:
            ddata = bind(Dot.of(), dout, weight)
            ddata = reshaped(ddata, (rows, features), at.ins[0].shape)
        if at.wants[1]:
            data = reshaped(data, at.ins[0].shape, (rows, features))
            dweight = bind(Dot.of(transpose_a=True), dout, data)
        if self.no_bias:
            return ddata, dweight
        dbias = None
        if at.wants[2]:
            dbias = bind(lookup("sum").of(axis=0), dout)
            dbias = reshaped(dbias, (self.num_hidden,), at.ins[2].shape)
        return ddata, dweight, dbias

    def cost(self, *specs: Spec) -> Cost:
        """A multiplication and an addition for every weight and row."""
        rows, features = self.rows(specs[0])
        out = self.infer(*specs)
        moved = sum(spec.nbytes for spec in specs) + out.nbytes
        return Cost(2 * rows * features * self.num_hidden, moved)
