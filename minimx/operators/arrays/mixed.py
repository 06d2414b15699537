"""Pointwise operators whose inputs are not alike: conversion, choice, sums of many."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from minimx.core import shapes
from minimx.core.dtypes import FLOAT32, NARROW, resolve
from minimx.core.errors import OperatorError, ShapeError
from minimx.core.kernels import find, pointwise
from minimx.core.kernels.formula import Formula
from minimx.core.operators.pointwise import Backward, same_dtype
from minimx.core.operators.reduce import sum_to
from minimx.core.operators.views import reshaped
from minimx.core.ops import GradContext, Kernel, Op, Value, bind, lookup, register
from minimx.core.ops.casting import WIDEST
from minimx.core.ops.deduction import all_alike, first_is_out
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Deduced, Opens, Shape, is_whole, merge
from minimx.operators.rules import Gradients, like_first


@register("cast", "Cast")
class Cast(Op):
    """Convert to another element type.

    data: any shape; out: the same shape, of type `dtype`. From floating-point numbers
    to integers fractions are cut off, and what does not fit is undefined, as in C. The
    gradient is converted back, even from integers, as in MXNet.
    """

    dtype: str

    unchanged = {"out": "data"}
    deduce = first_is_out

    def infer(self, *specs: Spec) -> Spec:
        """The same shape, the wanted type."""
        return specs[0].with_dtype(resolve(self.dtype))

    def kernel(self, *specs: Spec) -> Kernel:
        """Compiled where numba or we have both types, else NumPy's."""
        (data,) = specs
        dtype = resolve(self.dtype)
        if FLOAT32 in (data.dtype, dtype) and {data.dtype, dtype} & NARROW:
            convert: Kernel = find("widths.convert")
            return convert
        if {"float16", "bfloat16", "bool"} & {data.dtype.name, dtype.name}:
            return lambda x, out: np.copyto(out, x, casting="unsafe")
        formula = Formula("x", ("x",))
        return pointwise.kernel(formula, [data.shape], [data.dtype], data.shape, dtype)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Convert back, as MXNet does even where one of the types is an integer."""
        data, out = at.ins[0].dtype, at.outs[0].dtype
        return (dout if data == out else bind(Cast.of(dtype=data.name), dout),)


@register("where")
class Where(Op):
    """Choose elements of x where the condition is not 0, of y elsewhere.

    x, y: one shape and type; condition: the same shape, or (n,), a number for each row
    of x; any type. out: the shape and type of x. Gradients flow to where each element
    came from, none to the condition. Raises ShapeError for shapes that do not fit,
    DTypeError if the types of x and y differ.
    """

    casting = WIDEST
    formula: ClassVar[Formula] = Formula("where(c != 0, x, y)", ("c", "x", "y"))
    inputs = ("condition", "x", "y")
    saves = ("condition",)
    inplace = {"out": ("x", "y", "condition")}

    def deduce(self, ins: Opens, outs: Opens) -> Deduced:
        """x, y and the output are alike; the condition too, or it has their rows.

        As in MXNet, nothing follows before the condition is known.
        """
        condition, *both = ins
        if condition is None or not is_whole(condition):
            return ins, outs
        (x, y), outs = all_alike(self, both, outs)
        if x is not None:
            alike = len(condition) == len(x)
            known = condition if alike else (*condition, *x[1:])
            x = y = outs[0] = merge(self.name, known, x)
        return [condition, x, y], outs

    def infer(self, *specs: Spec) -> Spec:
        """The shape and type of x."""
        condition, x, y = specs
        same_dtype(self.name, (x, y))
        shape = shapes.broadcast(self.name, x.shape, y.shape)
        if condition.ndim == 1 < len(shape) and condition.shape[0] != shape[0]:
            raise ShapeError(
                f"where: a condition with one axis has a number for each row; "
                f"{condition.shape} does not fit {shape}."
            )
        wide = by_rows(condition.shape, shape)
        return x.with_shape(shapes.broadcast(self.name, wide, shape))

    def kernel(self, *specs: Spec) -> Kernel:
        """Both are read, one is written."""
        condition, x, y = specs
        out = self.infer(*specs)
        wide = by_rows(condition.shape, out.shape)
        return pointwise.kernel(
            self.formula,
            [wide, x.shape, y.shape],
            [condition.dtype, x.dtype, y.dtype],
            out.shape,
            out.dtype,
        )

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The gradient goes where the element came from."""
        (condition,) = saved
        shape = at.ins[0].shape
        wide = reshaped(condition, shape, by_rows(shape, at.outs[0].shape))
        return self.shared_out(at, dout, wide)

    @staticmethod
    def shared_out(at: GradContext, dout: Value, condition: Value) -> Gradients:
        """The gradient, to x where the condition is not 0, to y elsewhere."""
        grads: list[Value | None] = [None] * 3
        for k, chosen in ((1, BackwardWhereX), (2, BackwardWhereY)):
            if at.wants[k]:
                found = bind(chosen.of(), dout, condition)
                grads[k] = sum_to(found, at.outs[0].shape, at.ins[k].shape)
        return grads


def by_rows(condition: Shape, shape: Shape) -> Shape:
    """The shape of a condition that has one number for each row."""
    if len(condition) == 1 and len(shape) > 1 and condition[0] == shape[0]:
        return condition + (1,) * (len(shape) - 1)
    return condition


class _Chosen(Backward):
    """The part of a gradient that a condition lets through."""

    inputs = ("dz", "c")
    inplace = {"out": ("dz", "c")}
    takes = ("condition",)

    infer = like_first


@register("_backward_where_x")
class BackwardWhereX(_Chosen):
    """The gradient of x in `where`. dz: any shape; c: one that stretches to it."""

    formula = Formula("where(c != 0, dz, 0)", ("dz", "c"))


@register("_backward_where_y")
class BackwardWhereY(_Chosen):
    """The gradient of y in `where`. dz: any shape; c: one that stretches to it."""

    formula = Formula("where(c != 0, 0, dz)", ("dz", "c"))


@register("add_n", "ElementWiseSum", "element_wise_sum")
class AddN(Op):
    """The sum of any number of arrays.

    data: one array or more, of one shape and type; out: the same. Faster than adding
    them pair by pair, as the intermediate sums are not stored. Raises ShapeError or
    DTypeError if they differ.
    """

    casting = WIDEST
    variadic = True
    inplace = {"out": "data"}
    deduce = all_alike

    AT_ONCE = 7

    def infer(self, *specs: Spec) -> Spec:
        """The common spec."""
        if not specs:
            raise OperatorError("add_n: give at least one array.")
        same_dtype(self.name, specs)
        for spec in specs:
            if spec.shape != specs[0].shape:
                raise ShapeError(
                    f"add_n: shapes {specs[0].shape} and {spec.shape} differ. Use "
                    "broadcast_add to stretch axes of length 1."
                )
        return specs[0]

    def kernel(self, *specs: Spec) -> Kernel:
        """As many at once as one formula takes, then further ones on top."""
        first = self._sum_of(specs[0], min(len(specs), self.AT_ONCE))
        todo = len(specs) - self.AT_ONCE
        more = [
            self._sum_of(specs[0], 1 + min(self.AT_ONCE - 1, todo - start))
            for start in range(0, todo, self.AT_ONCE - 1)
        ]

        def launch(*arrays: Any) -> None:
            *xs, out = arrays
            first(*xs[: self.AT_ONCE], out)
            rest = xs[self.AT_ONCE :]
            for add in more:
                add(out, *rest[: self.AT_ONCE - 1], out)
                rest = rest[self.AT_ONCE - 1 :]

        return launch if more else first

    @staticmethod
    def _sum_of(spec: Spec, count: int) -> Kernel:
        names = tuple("abcdefg"[:count])
        formula = Formula(" + ".join(names), names)
        shape, dtype = spec.shape, spec.dtype
        return pointwise.kernel(formula, [shape] * count, [dtype] * count, shape, dtype)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The same for all."""
        return [dout if wanted else None for wanted in at.wants]

    def cost(self, *specs: Spec) -> Cost:
        """One addition less than there are inputs."""
        flops = (len(specs) - 1) * specs[0].size
        return Cost(flops, (len(specs) + 1) * specs[0].nbytes)


class Filled(Op):
    """An array of one value in the shape of another array."""

    value = 0
    ignores = ("data",)
    deduce = first_is_out

    infer = like_first

    def kernel(self, *specs: Spec) -> Kernel:
        """A fill; data is not read."""
        value = self.value
        return lambda x, out: out.fill(value)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Zeros: the result does not depend on data."""
        return (bind(lookup("zeros_like").of(), dout),)

    def cost(self, *specs: Spec) -> Cost:
        """Written once."""
        return Cost(0, specs[0].nbytes)


@register("zeros_like")
class ZerosLike(Filled):
    """Zeros in the shape and element type of data, which is not read."""


@register("ones_like")
class OnesLike(Filled):
    """Ones in the shape and element type of data."""

    value = 1
