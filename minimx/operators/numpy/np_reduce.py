"""Reductions and running totals that only the NumPy front end has.

Sums, means, products and extrema are those of `reduce.py`, asked with `np_shape`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from minimx.core.dtypes import INT64, is_float
from minimx.core.errors import ShapeError
from minimx.core.operators.views import reshaped
from minimx.core.ops import GradContext, Kernel, Op, Value, bind, lookup, register
from minimx.core.ops.registry import with_settings
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Shape, normalize_axes, reduced
from minimx.operators.arrays.statistics import CumSum
from minimx.operators.numpy.np_elementwise import BOOL
from minimx.operators.rules import Gradients, per_element


@with_settings
class Quantifier(Op):
    """Whether any or all elements are true. data: any type; out: bool."""

    axis: Any = None
    keepdims: bool = False

    differentiable = False
    function: ClassVar[Callable[..., Any]]

    def axes(self, data: Spec) -> Shape:
        """The axes to reduce over."""
        return normalize_axes(self.name, self.axis, data.ndim)

    def infer(self, *specs: Spec) -> Spec:
        """Data without the axes."""
        (data,) = specs
        axes = self.axes(data)
        return Spec.of(reduced(data.shape, axes, self.keepdims, np_shape=True), BOOL)

    def kernel(self, *specs: Spec) -> Kernel:
        """NumPy's."""
        axes, keep, function = self.axes(specs[0]), self.keepdims, type(self).function
        return lambda x, out: np.copyto(out, function(x, axis=axes, keepdims=keep))

    cost = per_element(1, 1)


@register("_np_any", "_np_sometrue")
class Any_(Quantifier):
    """Whether any element is not 0. data: any type; out: bool, without the axes."""

    function = staticmethod(np.any)


@register("_np_all")
class All(Quantifier):
    """Whether no element is 0. data: any type; out: bool, without the axes."""

    function = staticmethod(np.all)


@with_settings
class Place(Op):
    """Where an extremum stands, the first one; int64."""

    axis: int | None = None
    keepdims: bool = False

    differentiable = False
    function: ClassVar[Callable[..., Any]]

    def infer(self, *specs: Spec) -> Spec:
        """Data without the axis; refuses an axis where there is nothing."""
        (data,) = specs
        axis = None if self.axis is None else (self.axis,)
        axes = normalize_axes(self.name, axis, data.ndim)
        if not all(data.shape[a] for a in axes):
            raise ShapeError(
                f"{self.name.removeprefix('_npi_')}: there is nothing to choose from "
                f"along axis {axes} of shape {data.shape}."
            )
        return Spec.of(reduced(data.shape, axes, self.keepdims, np_shape=True), INT64)

    def kernel(self, *specs: Spec) -> Kernel:
        """NumPy's."""
        axis, function = self.axis, type(self).function
        return lambda x, out: np.copyto(out, function(x, axis).reshape(out.shape))

    cost = per_element(1, 1)


@register("_npi_argmax")
class PlaceOfMaximum(Place):
    """The index of the largest element along an axis, the first one of several.

    data: any shape; out: without the axis, or with length 1 there if keepdims; int64.
    axis: None for the flat array. Raises ShapeError for an axis without elements.
    """

    function = staticmethod(np.argmax)


@register("_npi_argmin")
class PlaceOfMinimum(Place):
    """The index of the smallest element along an axis, the first one of several.

    data: any shape; out: without the axis, or with length 1 there if keepdims; int64.
    axis: None for the flat array. Raises ShapeError for an axis without elements.
    """

    function = staticmethod(np.argmin)


@register("_npi_cumprod")
class CumProd(CumSum):
    """Running products along an axis, or with axis=None of the flat array.

    data (2, 3), axis=1; out (2, 3); axis=None: out (6,). dtype: of the products. The
    gradient divides by the elements, so it is no number where one is 0.
    """

    inputs = ("data",)
    saves = ("data", "out")

    def kernel(self, *specs: Spec) -> Kernel:
        """NumPy's."""
        axis = self.axis

        def launch(x: Any, out: Any) -> None:
            wide = np.float32 if out.dtype == np.float16 else out.dtype
            np.copyto(out, np.cumprod(x, axis=axis, dtype=wide), casting="unsafe")

        return launch

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The later products over the element: not a number at 0."""
        (data,), (out,) = at.ins, at.outs
        if not (is_float(data.dtype) and is_float(out.dtype)):
            return (None,)
        elements, products = saved
        weighted = dout * products
        if data.dtype != out.dtype:
            weighted = bind(lookup("cast").of(dtype=data.dtype.name), weighted)
        axis = 0 if self.axis is None else self.axis
        flip, run = lookup("flip").of(axis=axis), lookup("cumsum").of(axis=axis)
        back = bind(flip, bind(run, bind(flip, weighted)))
        return (reshaped(back, out.shape, data.shape) / elements,)

    cost = per_element(1, 2)
