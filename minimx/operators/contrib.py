"""Data sheets of MXNet's `contrib` operators on plain arrays.

Straight-through estimators, index arithmetic, count sketches, Fourier transforms.
"""

from __future__ import annotations

from math import ceil, sqrt
from typing import Any

import numpy as np

from minimx.core.dtypes import INT64, resolve
from minimx.core.errors import OperatorError, ShapeError
from minimx.core.kernels.formula import Formula
from minimx.core.operators.indexing import Take
from minimx.core.operators.pointwise import Pointwise, same_dtype, unary
from minimx.core.operators.shape import Move
from minimx.core.ops import GradContext, Kernel, Op, Value, bind, lookup, register
from minimx.core.ops.casting import SINGLE
from minimx.core.ops.checks import expect
from minimx.core.ops.registry import with_settings
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Shape, normalize_axis
from minimx.operators.rules import Gradients, computed_by, like_first

# -- formulas --------------------------------------------------------------------------

unary(
    "_contrib_quadratic",
    "a * x * x + b * x + c",
    doc="A parabola, element by element.",
    grad="dy * (2 * a * x + b)",
    settings={"a": "float", "b": "float", "c": "float"},
    facts={"a": 0.0, "b": 0.0, "c": 0.0},
)
unary(
    "_contrib_round_ste",
    "round(x)",
    doc="The nearest integer; the gradient passes straight through.",
    grad="dy",
)
unary(
    "_contrib_sign_ste",
    "sign(x)",
    doc="-1, 0 or 1; the gradient passes straight through.",
    grad="dy",
)


@register("_contrib_gradientmultiplier")
class GradientMultiplier(Pointwise):
    """The same elements; the gradient is multiplied by `scalar` on its way back.

    data: any shape; out: the same shape. A negative scalar reverses the gradient.
    """

    scalar: float = 1.0

    formula = Formula("x", ("x",))
    unchanged = {"out": "data"}

    @property
    def constants(self) -> tuple[float, ...]:
        """None: the setting is not part of the formula."""
        return ()

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Multiplied."""
        return (dout * self.scalar,)


@register("_contrib_div_sqrt_dim")
class DivSqrtDim(Op):
    """Divide by the square root of the length of the last axis.

    data (..., d); out: the same shape and type, data / sqrt(d). It scales the scores of
    attention heads.
    """

    inplace = {"out": "data"}

    def factor(self, data: Spec) -> float:
        """What is multiplied by."""
        return 1 / sqrt(max(1, data.shape[-1])) if data.ndim else 1.0

    infer = like_first

    def kernel(self, *specs: Spec) -> Kernel:
        """A multiplication."""
        factor = specs[0].dtype.type(self.factor(specs[0]))
        return lambda x, out: np.multiply(x, factor, out=out)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The same division."""
        return (bind(self, dout),)


@register("_contrib_allclose")
class AllClose(Op):
    """1 if no two elements of a and b are further apart than atol + rtol * |b|, else 0.

    a, b: one shape; out without axes, uint8. equal_nan: whether two NaNs are equal.
    """

    rtol: float = 1e-5
    atol: float = 1e-8
    equal_nan: bool = True

    inputs = ("a", "b")
    differentiable = False

    def infer(self, *specs: Spec) -> Spec:
        """One number."""
        same_dtype(self.name, specs)
        expect(self.name, "b", specs[1], specs[0].shape, "a")
        return Spec.of((), resolve("uint8"))

    def kernel(self, *specs: Spec) -> Kernel:
        """A look at all elements."""

        def run(a: Any, b: Any, out: Any) -> None:
            out[...] = np.allclose(a, b, self.rtol, self.atol, self.equal_nan)

        return run


# -- places ----------------------------------------------------------------------------


@register("_contrib_arange_like")
class ArangeLike(Op):
    """start, start + step, ... as many as data has elements, or along one axis.

    data (2, 3); out (2, 3), with axis=1 (3,). Each number stands `repeat` times.
    """

    start: float = 0.0
    step: float = 1.0
    repeat: int = 1
    axis: int | None = None

    ignores = ("data",)
    differentiable = False

    def infer(self, *specs: Spec) -> Spec:
        """The shape of data, or the length of its axis."""
        (data,) = specs
        if self.repeat < 1:
            raise OperatorError(f"arange_like: repeat={self.repeat} must be positive.")
        if self.axis is None:
            return data
        axis = normalize_axis(self.name, self.axis, data.ndim)
        return data.with_shape((data.shape[axis],))

    def kernel(self, *specs: Spec) -> Kernel:
        """Counted in float64, then converted."""

        def run(data: Any, out: Any) -> None:
            numbers = self.start + np.arange(ceil(out.size / self.repeat)) * self.step
            repeated = np.repeat(numbers, self.repeat)[: out.size]
            np.copyto(out, repeated.reshape(out.shape), casting="unsafe")

        return run


@register("_contrib_index_array")
class IndexArray(Op):
    """Where each element of an array stands.

    data (2, 3), which is not read; out (2, 3, 2), int64: the index of each element
    along every axis, or along those of `axes` only, in that order.
    """

    axes: Any = None
    ignores = ("data",)
    differentiable = False

    def wanted(self, data: Spec) -> Shape:
        """The axes that are asked for."""
        if self.axes is None:
            return tuple(range(data.ndim))
        axes = self.axes if isinstance(self.axes, tuple) else (self.axes,)
        return tuple(normalize_axis(self.name, axis, data.ndim) for axis in axes)

    def infer(self, *specs: Spec) -> Spec:
        """One more axis."""
        (data,) = specs
        return Spec.of((*data.shape, len(self.wanted(data))), INT64)

    def kernel(self, *specs: Spec) -> Kernel:
        """The elements are not read."""
        (data,) = specs
        axes, shape = self.wanted(data), data.shape

        def run(x: Any, out: Any) -> None:
            places = np.indices(shape, sparse=True)
            for k, axis in enumerate(axes):
                out[..., k] = places[axis]

        return run


@register("_contrib_index_copy")
class IndexCopy(Move):
    """A copy of an array with some of its rows replaced.

    old_tensor (n, ...), index_vector (m,): row numbers, new_tensor (m, ...); out (n,
    ...), with out[index_vector[j]] = new_tensor[j]. A row that does not exist is an
    error where the numbers are waited for. Gradients flow to the new rows, and to the
    old ones that were kept. Raises ShapeError for shapes that do not fit.
    """

    inputs = ("old_tensor", "index_vector", "new_tensor")
    saves = ("index_vector",)

    def infer(self, *specs: Spec) -> Spec:
        """The spec of the old array."""
        old, index, new = specs
        same_dtype(self.name, (old, new))
        if index.ndim != 1:
            raise ShapeError(f"index_copy: the index {index.shape} must have one axis.")
        expect(self.name, "new_tensor", new, (*index.shape, *old.shape[1:]), "the rest")
        return old

    kernel = computed_by("places.index_copy")

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """To the new rows from their places, to the old array from all others."""
        (index,) = saved
        rows = bind(Take.of(), dout, index)
        old = None
        if at.wants[0]:
            zeros = bind(lookup("zeros_like").of(), rows)
            old = bind(self, dout, index, zeros)
        return old, None, rows if at.wants[2] else None


# -- transforms ------------------------------------------------------------------------


@register("_contrib_count_sketch")
class CountSketch(Move):
    """Add up columns where a hash sends them: a count sketch (Charikar et al., 2002).

    data (n, in_dim); h (1, in_dim): columns, from 0 to out_dim - 1; s (1, in_dim): 1 or
    -1 out (n, out_dim): out[i, h[j]] += s[j] * data[i, j]

    out_dim: how many columns come out. processing_batch_size has no effect here.
    Gradients flow to data. Raises ShapeError if h or s have not in_dim elements.
    """

    out_dim: int
    processing_batch_size: int = 32
    casting = SINGLE
    inputs = ("data", "h", "s")
    saves = ("h", "s")

    def infer(self, *specs: Spec) -> Spec:
        """`out_dim` columns."""
        data, h, s = specs
        for name, spec in (("h", h), ("s", s)):
            if spec.size != data.shape[-1]:
                expect(self.name, name, spec, (1, data.shape[-1]), "data")
        return data.with_shape((*data.shape[:-1], self.out_dim))

    kernel = computed_by("transforms.count_sketch")

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """From where each column went."""
        h, s = saved
        flat = bind(lookup("_reshape_to").of(shape=(at.ins[1].size,)), h)
        sign = bind(lookup("_reshape_to").of(shape=(at.ins[2].size,)), s)
        if at.ins[2].dtype != at.outs[0].dtype:
            sign = bind(lookup("cast").of(dtype=at.outs[0].dtype.name), sign)
        axis = at.ins[0].ndim - 1
        return bind(Take.of(axis=axis), dout, flat) * sign, None, None


@with_settings
class Fourier(Op):
    """A transform along the last axis, of which a complex number takes two elements."""

    compute_size: int = 128

    kernel = computed_by("transforms.")

    def cost(self, *specs: Spec) -> Cost:
        """N log n operations for each line."""
        (data,) = specs
        return Cost(
            5 * data.size * max(1, data.shape[-1].bit_length()), 3 * data.nbytes
        )


@register("_contrib_fft")
class FFT(Fourier):
    """The discrete Fourier transform of real numbers, along the last axis.

    data (..., n); out (..., 2 n): real and imaginary parts take turns. compute_size is
    how many lines MXNet hands to cuFFT at once, and changes nothing here. The gradient
    is `ifft`.
    """

    casting = SINGLE

    def infer(self, *specs: Spec) -> Spec:
        """Twice as long."""
        (data,) = specs
        return data.with_shape((*data.shape[:-1], 2 * data.shape[-1]))

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The transform is linear; its transpose is the one back."""
        return (bind(IFFT.of(), dout),)


@register("_contrib_ifft")
class IFFT(Fourier):
    """The real part of the inverse Fourier transform, along the last axis.

    data (..., 2 n): real and imaginary parts take turns; out (..., n). It is not
    divided by n: as in MXNet, ifft(fft(x)) is n * x. compute_size changes nothing here.
    Raises ShapeError if the last axis is odd.
    """

    compute_size: int = 128

    def infer(self, *specs: Spec) -> Spec:
        """Half as long."""
        (data,) = specs
        if data.shape[-1] % 2:
            raise ShapeError(
                f"ifft: the last axis of {data.shape} must hold pairs, a real and an "
                "imaginary part each."
            )
        return data.with_shape((*data.shape[:-1], data.shape[-1] // 2))

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The transform there."""
        return (bind(FFT.of(), dout),)
