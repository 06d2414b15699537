"""Data sheets of NumPy's differences, choices and percentiles."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from minimx.core import shapes
from minimx.core.dtypes import FLOAT32, FLOAT64
from minimx.core.errors import DTypeError, OperatorError, ShapeError
from minimx.core.kernels import pointwise
from minimx.core.kernels.formula import Formula
from minimx.core.operators.pointwise import same_dtype
from minimx.core.ops import GradContext, Kernel, Op, Value, bind, lookup, register
from minimx.core.ops.casting import WIDEST
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Shape, normalize_axes, normalize_axis, reduced
from minimx.operators.arrays.mixed import BackwardWhereX, Where
from minimx.operators.numpy.np_join import NumpyPad
from minimx.operators.rules import Gradients, computed_by, kernel_of, like_first, one_of


@register("_npi_diff")
class Diff(Op):
    """Differences between neighbours along an axis, n times over.

    a (2, 5), n=1; out (2, 4): out[..., i] = a[..., i + 1] - a[..., i]. Raises
    OperatorError for a negative n.
    """

    n: int = 1
    axis: int = -1
    inputs = ("a",)

    def infer(self, *specs: Spec) -> Spec:
        """Shorter by n along the axis."""
        (a,) = specs
        axis = normalize_axis("diff", self.axis, a.ndim)
        if self.n < 0:
            raise OperatorError(f"diff: n={self.n} must not be negative.")
        shape = list(a.shape)
        shape[axis] = max(0, shape[axis] - self.n)
        return a.with_shape(tuple(shape))

    def kernel(self, *specs: Spec) -> Kernel:
        """NumPy's difference."""
        axis = self.axis
        n = min(self.n, specs[0].shape[axis])  # from there on nothing is left
        return lambda a, out: np.copyto(out, np.diff(a, n, axis))

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Plus to the later one, minus to the earlier one."""
        a, length = at.ins[0], at.outs[0].shape[self.axis]
        axis = self.axis % a.ndim
        if length == 0:
            return (_zeros(dout, at.outs[0].shape, a.shape),)
        for _ in range(self.n):
            widths = [(0, 0)] * a.ndim
            later, earlier = list(widths), list(widths)
            later[axis], earlier[axis] = (1, 0), (0, 1)
            plus = bind(NumpyPad.of(pad_width=tuple(later)), dout)
            dout = plus - bind(NumpyPad.of(pad_width=tuple(earlier)), dout)
        return (dout,)


def _zeros(value: Value, shape: Shape, wanted: Shape) -> Value:
    """Zeros of a shape, made from a value without elements."""
    widths = tuple((0, m - n) for n, m in zip(shape, wanted, strict=True))
    return bind(NumpyPad.of(pad_width=widths), value)


@register("_npi_nan_to_num")
class NanToNum(Op):
    """Numbers in place of NaN and of the infinities. data, out: one shape.

    posinf, neginf: by default the largest and the smallest number of the type
    """

    copy: bool = True
    nan: float = 0.0
    posinf: float | None = None
    neginf: float | None = None
    saves = ("data",)

    infer = like_first

    def kernel(self, *specs: Spec) -> Kernel:
        """NumPy's replacement."""
        words: dict[str, Any] = {
            "nan": self.nan, "posinf": self.posinf, "neginf": self.neginf
        }  # fmt: skip
        return lambda x, out: np.copyto(out, np.nan_to_num(x, **words))

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The gradient of what was a number before."""
        (data,) = saved
        finite = bind(lookup("isfinite").of(), data)
        return (bind(BackwardWhereX.of(), dout, finite),)


@register("_npi_where")
class NumpyWhere(Op):
    """Choose elements of x where the condition is not 0, of y elsewhere.

    condition, x, y: shapes that stretch to one, which is that of out; x and y of one
    type. Gradients flow to where each element came from, none to the condition.
    """

    casting = WIDEST
    inputs = ("condition", "x", "y")
    saves = ("condition",)

    def infer(self, *specs: Spec) -> Spec:
        """The common shape, the type of x and y."""
        condition, x, y = specs
        same_dtype("where", (x, y))
        shape = shapes.broadcast("where", x.shape, y.shape)
        return x.with_shape(shapes.broadcast("where", condition.shape, shape))

    def kernel(self, *specs: Spec) -> Kernel:
        """Both are read, one is written."""
        out = self.infer(*specs)
        if {spec.dtype.name for spec in specs} & {"bool", "float16"}:
            return lambda c, x, y, out: np.copyto(out, np.where(c != 0, x, y))
        return pointwise.kernel(
            Formula("where(c != 0, x, y)", ("c", "x", "y")),
            [spec.shape for spec in specs],
            [spec.dtype for spec in specs],
            out.shape,
            out.dtype,
        )

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The gradient goes where the element came from."""
        condition = saved[0]
        if at.ins[0].dtype != at.outs[0].dtype:
            condition = bind(lookup("cast").of(dtype=at.outs[0].dtype.name), condition)
        return Where.shared_out(at, dout, condition)


@register("_npi_percentile")
class Percentile(Op):
    """The number below which q percent are. a (4, 5), q (3,), axis=0; out (3, 5).

    interpolation: which number where one lies between two elements: linear, lower,
    higher, midpoint, nearest. q_scalar: one q, in place of the array. Floating-point
    types answer in their own type, integers in float32. A q in an array that is not
    between 0 and 100 is an error where they are waited for, on CUDA devices NaN.
    """

    axis: Any = None
    interpolation: str = "linear"
    keepdims: bool = False
    q_scalar: float | None = None
    all_inputs = ("a", "q")
    differentiable = False

    @property
    def inputs(self) -> tuple[str, ...]:
        """No array of percentages where one is a setting."""
        return self.all_inputs if self.q_scalar is None else self.all_inputs[:1]

    def infer(self, *specs: Spec) -> Spec:
        """The shape of q, then a without the axes."""
        a, *q = specs
        one_of(self, "interpolation", *_BETWEEN)
        if self.q_scalar is not None and not 0 <= self.q_scalar <= 100:
            raise OperatorError(
                f"percentile: q={self.q_scalar} must lie between 0 and 100."
            )
        axes = normalize_axes("percentile", self.axis, a.ndim)
        if not prod(a.shape[axis] for axis in axes):
            raise ShapeError(f"percentile: shape {a.shape} has no elements to rank.")
        kept = reduced(a.shape, axes, keepdims=True)
        if not self.keepdims:
            kept = tuple(n for k, n in enumerate(a.shape) if k not in axes)
        dtype = a.dtype if a.dtype in (FLOAT32, FLOAT64) else FLOAT32
        head = q[0].shape if q else ()
        return Spec.of((*head, *kept), dtype)

    def kernel(self, *specs: Spec) -> Kernel:
        """NumPy's percentile."""
        axes = normalize_axes("percentile", self.axis, specs[0].ndim)
        settings = axes, self.interpolation, self.keepdims, self.q_scalar
        return kernel_of("np_statistics.percentile", *settings)

    def cost(self, *specs: Spec) -> Cost:
        """A partial sort."""
        a = specs[0]
        return Cost(a.size * max(1, a.size.bit_length()), 2 * a.nbytes)


_BETWEEN = ("linear", "lower", "higher", "midpoint", "nearest")


@register("_np_unravel_index")
class UnravelIndex(Op):
    """Where the i-th element of a flat array stands in `shape`. data (5,); out (2, 5).

    Row k of out is the index along axis k.
    """

    shape: Shape
    differentiable = False

    def infer(self, *specs: Spec) -> Spec:
        """One row for each axis of shape."""
        (data,) = specs
        if data.dtype.kind not in "iu":
            raise DTypeError(
                f"unravel_index: places are whole numbers, not {data.dtype.name}."
            )
        return data.with_shape((len(self.shape), *data.shape))

    kernel = computed_by("np_statistics.unravel", "shape")
