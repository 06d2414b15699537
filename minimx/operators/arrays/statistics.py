"""Data sheets of running sums, counts and moments."""

from __future__ import annotations

from math import prod
from typing import Any

from minimx.core.dtypes import INT64, is_float, resolve
from minimx.core.errors import OperatorError, ShapeError
from minimx.core.kernels import find
from minimx.core.operators.reduce import Mean
from minimx.core.operators.views import reshaped
from minimx.core.ops import GradContext, Kernel, Op, Value, bind, lookup, register
from minimx.core.ops.casting import SINGLE
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Shape, normalize_axes, normalize_axis, reduced
from minimx.operators.arrays.shape import Reverse
from minimx.operators.rules import Gradients, computed_by, per_element


@register("cumsum", "_np_cumsum")
class CumSum(Op):
    """Running sums along an axis, or with axis=None of the flat array.

    a (2, 3), axis=1; out (2, 3); axis=None: out (6,). dtype: of the sums, that of a if
    None. The gradient is a running sum from the other end. MXNet's `cumsum`, as NumPy
    has it.
    """

    axis: int | None = None
    dtype: str | None = None
    casting = SINGLE
    inputs = ("a",)

    def infer(self, *specs: Spec) -> Spec:
        """The shape of a, flat without an axis."""
        (a,) = specs
        dtype = a.dtype if self.dtype in (None, "None") else resolve(self.dtype)
        if self.axis is None:
            return Spec.of((a.size,), dtype)
        normalize_axis(self.name, self.axis, a.ndim)
        return a.with_dtype(dtype)

    kernel = computed_by("places.cumsum", "axis")

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """An element went into all later sums: running sums from the other end."""
        a, out = at.ins[0], at.outs[0]
        if not is_float(a.dtype):
            return (None,)
        axis = 0 if self.axis is None else self.axis
        back = Reverse.of(axis=(axis,))
        sums = bind(back, bind(CumSum.of(axis=axis), bind(back, dout)))
        if out.dtype != a.dtype:
            sums = bind(lookup("cast").of(dtype=a.dtype.name), sums)
        return (reshaped(sums, out.shape, a.shape),)


@register("_histogram")
class Histogram(Op):
    """How many elements lie between neighbouring edges; the last edge belongs to them.

    data: any shape; bins (n + 1,): the edges, or bin_cnt=n and range=(low, high)
    outs: counts (n,) int64, and the edges (n + 1,)
    """

    bin_cnt: int | None = None
    range: Any = None

    all_inputs = ("data", "bins")
    visible = 2
    differentiable = False

    @property
    def inputs(self) -> tuple[str, ...]:
        """Edges are an array, or follow from two numbers."""
        return self.all_inputs[: 1 + (self.bin_cnt is None)]

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """One count less than there are edges."""
        data, *bins = specs
        if self.bin_cnt is None:
            if bins[0].ndim != 1 or bins[0].size < 2:
                raise ShapeError(
                    f"histogram: bins {bins[0].shape} must be a row of two or more "
                    "edges."
                )
            return Spec.of((bins[0].size - 1,), INT64), bins[0]
        if self.bin_cnt < 1 or self.range is None or len(self.range) != 2:
            raise OperatorError(
                f"histogram: bin_cnt={self.bin_cnt} and range={self.range} do not say "
                "which bins are meant; give a positive number and (low, high)."
            )
        return (
            Spec.of((self.bin_cnt,), INT64),
            Spec.of((self.bin_cnt + 1,), data.dtype),
        )

    def kernel(self, *specs: Spec) -> Kernel:
        """NumPy's."""
        if self.bin_cnt is None:
            made: Kernel = find("places.histogram")
        else:
            made = find("places.even_histogram")(self.bin_cnt, *map(float, self.range))
        return made


@register("moments")
class Moments(Op):
    """The mean and the variance over some axes, or over all.

    data (2, 3, 4), axes=(0, 2); outs: mean and variance, (3,) each, with keepdims (1,
    3, 1). The variance is the mean of (data - mean)²: divided by the number of
    elements, not one less. Gradients flow through both.
    """

    axes: Any = None
    keepdims: bool = False

    casting = SINGLE
    visible = 2
    saves = ("data", "out")

    def over(self, data: Spec) -> Shape:
        """The axes to reduce over."""
        return normalize_axes(self.name, self.axes, data.ndim)

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """Data without the reduced axes, twice."""
        (data,) = specs
        shape = reduced(data.shape, self.over(data), self.keepdims)
        return (data.with_shape(shape),) * 2

    def kernel(self, *specs: Spec) -> Kernel:
        """A mean, then the mean of the squared distances."""
        (data,) = specs
        axes = self.over(data)
        average = Mean.of(axis=axes).kernel(data)
        kept = reduced(data.shape, axes, keepdims=True)

        def run(x: Any, mean: Any, var: Any) -> None:
            average(x, mean)
            away = x - mean.reshape(kept)
            average(away * away, var)

        return run

    def grad(self, at: GradContext, dout: Any, data: Value, mean: Value) -> Gradients:
        """(dmean + 2 (x - mean) dvar) / n."""
        dmean, dvar = dout
        spec, out = at.ins[0], at.outs[0].shape
        kept = reduced(spec.shape, self.over(spec), keepdims=True)
        dmean, dvar, mean = (reshaped(v, out, kept) for v in (dmean, dvar, mean))
        n = max(1, spec.size // max(1, prod(out)))
        return ((dmean + (data - mean) * dvar * 2.0) * (1.0 / n),)

    cost = per_element(4, 2)
