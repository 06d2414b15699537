"""Data sheets of products, sums that skip NaN, norms, and the place of the extreme."""

from __future__ import annotations

from typing import Any

from minimx.core.dtypes import DType, resolve
from minimx.core.errors import ShapeError
from minimx.core.kernels import find
from minimx.core.operators.reduce import (
    ArgExtremum,
    ArgMax,
    ArgMaxChannel,
    ArgMin,
    Extremum,
    Max,
    Mean,
    Min,
    OverAxes,
    Reduction,
    Sum,
    SumTo,
    accumulator,
    adding,
    sum_to,
)
from minimx.core.ops import GradContext, Kernel, Value, bind, lookup, register
from minimx.core.ops.casting import SINGLE
from minimx.core.ops.spec import Spec
from minimx.operators.rules import Gradients

__all__ = [
    "ArgExtremum", "ArgMax", "ArgMaxChannel", "ArgMin", "Extremum", "Max", "Mean",
    "Min", "NanProd", "NanSum", "Norm", "OverAxes", "Prod", "Reduction", "Sum", "SumTo",
    "accumulator", "adding", "sum_to",
]  # fmt: skip


@register("prod")
class Prod(OverAxes):
    """Multiply the elements along some axes, or all.

    data: any shape; out: without the reduced axes, or with length 1 there if keepdims.
    axis: a number, a tuple, or None for all; exclude: reduce over all other axes
    instead. The gradient divides the product by each element, so it is no number where
    one is 0.
    """

    casting = SINGLE
    kind = "prod"
    saves = ("data", "out")

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The product of the others, found by division: not a number at 0."""
        data, out = saved
        return (self.spread(at, dout * out) / data,)


@register("nansum")
class NanSum(OverAxes):
    """Add up the elements along some axes, taking NaN for 0.

    data: any shape; out: without the reduced axes, or with length 1 there if keepdims.
    axis: a number, a tuple, or None for all; exclude: reduce over all other axes
    instead. No gradient goes to elements that are NaN.
    """

    casting = SINGLE
    kind = "nansum"
    saves = ("data",)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The gradient goes where there was a number."""
        (data,) = saved
        return (self.spread(at, dout) * (data == data),)


@register("nanprod")
class NanProd(OverAxes):
    """Multiply the elements along some axes, taking NaN for 1.

    data: any shape; out: without the reduced axes, or with length 1 there if keepdims.
    axis: a number, a tuple, or None for all; exclude: reduce over all other axes
    instead. No gradient goes to elements that are NaN.
    """

    casting = SINGLE
    kind = "nanprod"
    saves = ("data", "out")

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """As for the product, where there was a number."""
        data, out = saved
        quotient = self.spread(at, dout * out) / data
        zeros = bind(lookup("zeros_like").of(), data)
        return (bind(lookup("where").of(), data == data, quotient, zeros),)


@register("norm")
class Norm(Reduction):
    """The length of vectors: Euclid's or, with ord=1, the sum of absolute values.

    data: any shape; out: without the reduced axes, or with length 1 there if keepdims.
    axis: a number, a tuple, or None for all elements together. out_dtype: the type in
    which is computed and that out has; that of data without it. Raises ShapeError
    unless ord is 1 or 2.
    """

    ord: int = 2
    axis: Any = None
    out_dtype: str | None = None
    keepdims: bool = False
    np_shape: bool = False

    casting = SINGLE

    @property
    def saves(self) -> tuple[str, ...]:
        """The sum of absolute values is not asked for."""
        return ("data",) if self.ord == 1 else ("data", "out")

    def infer(self, *specs: Spec) -> Spec:
        """Data without the reduced axes; refuses other norms than 1 and 2."""
        if self.ord not in (1, 2):
            raise ShapeError(f"norm: ord={self.ord} is not known; choose 1 or 2.")
        return super().infer(specs[0].with_dtype(self.computed_in(specs[0])))

    def computed_in(self, data: Spec) -> DType:
        """The type of the result, in which the sum is formed as well."""
        return data.dtype if self.out_dtype is None else resolve(self.out_dtype)

    def kernel(self, *specs: Spec) -> Kernel:
        """Sums of squares or of absolute values.

        MXNET_SAFE_ACCUMULATION: in the next wider type; without it in the type of the
        data, which for float16 means that long sums stand still.
        """
        (data,) = specs
        wanted = self.computed_in(data)
        if wanted != data.dtype:
            inner = self.kernel(data.with_dtype(wanted))
            return lambda x, out: inner(x.astype(wanted), out)
        axes = self.axes(data)
        made: Kernel
        if adding("reduce", data.dtype) == "narrow":
            made = find("narrow.norm")(self.ord, axes)
            return made
        wide = accumulator(data.dtype)
        which = "reduction" if wide == data.dtype else "widened"
        made = find(f"reduce.{which}")(f"norm{self.ord}", data.shape, axes, wide)
        return made

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Data / norm for ord=2, the sign of data for ord=1."""
        data, *out = saved
        mine, its = at.ins[0].dtype, at.outs[0].dtype
        if mine != its:
            data = bind(lookup("cast").of(dtype=its.name), data)
        if self.ord == 1:
            grad = self.spread(at, dout) * bind(lookup("sign").of(), data)
        else:
            grad = data * self.spread(at, dout / out[0])
        if mine != its:
            grad = bind(lookup("cast").of(dtype=mine.name), grad)
        return (grad,)
