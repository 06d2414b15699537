"""Data sheets that number places, and that write into a part of a copy."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from minimx.core.dtypes import resolve
from minimx.core.errors import OperatorError, ShapeError
from minimx.core.operators.pointwise import same_dtype
from minimx.core.operators.shape import BasicIndex, Move, Slice, numpy_key
from minimx.core.operators.shape import picked as shape_picked
from minimx.core.ops import GradContext, Kernel, Op, Value, bind, lookup, register
from minimx.core.ops.checks import expect
from minimx.core.ops.deduction import like_second
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Shape
from minimx.operators.arrays.indexing import GatherNd
from minimx.operators.rules import Gradients, computed_by, kernel_of


@register("_ravel_multi_index", "ravel_multi_index")
class RavelMultiIndex(Move):
    """The numbers of places in a flat array. data (2, 7), shape=(3, 4); out (7,).

    The first axis of `shape` is not asked for and may be -1. Nothing checks whether the
    places exist.
    """

    shape: Shape
    differentiable = False

    def infer(self, *specs: Spec) -> Spec:
        """One number for each column."""
        (data,) = specs
        if not data.ndim or data.shape[0] != len(self.shape):
            raise ShapeError(
                f"{self.name}: data {data.shape} must have {len(self.shape)} rows, one "
                f"for each axis of {self.shape}."
            )
        return data.with_shape(data.shape[1:] or (1,))

    kernel = computed_by("places.ravel", "shape")


@register("_unravel_index", "unravel_index")
class UnravelIndex(Move):
    """The places of numbers of a flat array. data (7,), shape=(3, 4); out (2, 7).

    The first axis of `shape` is not asked for and may be -1.
    """

    shape: Shape
    differentiable = False

    def infer(self, *specs: Spec) -> Spec:
        """One row for each axis of `shape`."""
        if not self.shape:
            raise OperatorError(f"{self.name}: give the shape whose places are meant.")
        return specs[0].with_shape((len(self.shape), *specs[0].shape))

    kernel = computed_by("places.unravel", "shape")


# -- one element of each row -----------------------------------------------------------


@register("_onehot_encode")
class OneHotEncode(Move):
    """A row with one 1 for each number. lhs (n,), rhs (n, k); out: the shape of rhs."""

    inputs = ("lhs", "rhs")
    differentiable = False

    def infer(self, *specs: Spec) -> Spec:
        """The spec of rhs."""
        lhs, rhs = specs
        if rhs.ndim != 2 or lhs.shape != rhs.shape[:1]:
            raise ShapeError(
                f"onehot_encode: {lhs.shape} numbers do not give the rows of "
                f"{rhs.shape}; it wants (n,) and (n, k)."
            )
        return rhs

    kernel = computed_by("places.onehot_encode")


@register("fill_element_0index")
class FillElement(Move):
    """One element of each row replaced. lhs (n, k), mhs (n,), rhs (n,); out (n, k).

    mhs: the new elements; rhs: in which column each goes.
    """

    inputs = ("lhs", "mhs", "rhs")
    differentiable = False

    def infer(self, *specs: Spec) -> Spec:
        """The spec of lhs."""
        lhs = specs[0]
        for name, spec in zip(("mhs", "rhs"), specs[1:], strict=True):
            expect(self.name, name, spec, lhs.shape[:1], "lhs")
        return lhs

    kernel = computed_by("places.fill_element")


# -- a copy with a part replaced -------------------------------------------------------


@register("_scatter_set_nd")
class ScatterSetNd(Move):
    """lhs with rhs at coordinates. lhs: `shape`; rhs (7, 5), indices (2, 7).

    As scatter_nd, with lhs in place of zeros: out may be lhs itself.
    """

    shape: Shape
    inputs = ("lhs", "rhs", "indices")
    saves = ("indices",)

    def infer(self, *specs: Spec) -> Spec:
        """The spec of lhs; rhs must fit the places."""
        lhs, rhs, indices = specs
        same_dtype(self.name, (lhs, rhs))
        expect(self.name, "lhs", lhs, self.shape, "shape")
        wanted = (*indices.shape[1:], *self.shape[indices.shape[0] :])
        if (rhs.shape or (1,)) != (wanted or (1,)):
            expect(self.name, "rhs", rhs, wanted, "the places")
        return lhs

    kernel = computed_by("places.scatter_set")

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """To rhs from its places, to lhs from all others."""
        part = bind(GatherNd.of(), dout, *saved) if max(at.wants[:2]) else None
        left = None
        if at.wants[0]:
            zeros = bind(lookup("zeros_like").of(), part)
            left = bind(self, dout, zeros, *saved)
        return left, part if at.wants[1] else None, None


class Assigned(Move):
    """A copy with something else in the part that a slice names."""

    begin: Any
    end: Any
    step: Any = ()

    def key(self, spec: Spec) -> tuple[Any, ...]:
        """The part, in the words of a basic key."""
        part = Slice.of(begin=self.begin, end=self.end, step=self.step)
        return part.key(spec)


@register("_slice_assign", "_crop_assign")
class SliceAssign(Assigned):
    """lhs with rhs in a part named by begin, end and step. lhs (8, 6), rhs (2, 6)."""

    begin: Any
    end: Any
    step: Any = ()
    inputs = ("lhs", "rhs")

    def infer(self, *specs: Spec) -> Spec:
        """The spec of lhs; rhs must have the shape of the part."""
        lhs, rhs = specs
        same_dtype(self.name, specs)
        wanted = shape_picked(lhs.shape, self.key(lhs))
        expect(self.name, "rhs", rhs, wanted, "the part")
        return lhs

    def kernel(self, *specs: Spec) -> Kernel:
        """Two copies."""
        return kernel_of("places.slice_assign", numpy_key(self.key(specs[0])))

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """To rhs from its part, to lhs from the rest."""
        key = self.key(at.ins[0])
        left = right = None
        if at.wants[0]:
            left = bind(SliceAssignScalar.of(scalar=0.0, **self.settings), dout)
        if at.wants[1]:
            right = bind(BasicIndex.of(key=key), dout)
        return left, right


@register("_slice_assign_scalar", "_crop_assign_scalar")
class SliceAssignScalar(Assigned):
    """data, with one number in the part that begin, end and step name."""

    scalar: float = 0.0
    begin: Any = ()
    end: Any = ()
    step: Any = ()

    def infer(self, *specs: Spec) -> Spec:
        """The spec of data; the part must exist."""
        self.key(specs[0])
        return specs[0]

    def kernel(self, *specs: Spec) -> Kernel:
        """A copy, then a fill."""
        key = numpy_key(self.key(specs[0]))
        return kernel_of("places.slice_fill", key, self.scalar)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """None where the number stands."""
        settings = {**self.settings, "scalar": 0.0}
        return (bind(SliceAssignScalar.of(**settings), dout),)


# -- words that graphs use -------------------------------------------------------------


@register("_identity_with_attr_like_rhs")
class IdentityWithAttrLikeRhs(Move):
    """The elements of lhs. lhs, rhs, out: one shape."""

    inputs = ("lhs", "rhs")
    deduce = like_second

    def infer(self, *specs: Spec) -> Spec:
        """The spec of lhs."""
        expect(self.name, "lhs", specs[0], specs[1].shape, "rhs")
        return specs[0]

    def kernel(self, *specs: Spec) -> Kernel:
        """A copy."""
        return lambda lhs, rhs, out: np.copyto(out, lhs)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Passed on to lhs."""
        return dout, None


@register("_zeros_without_dtype")
class ZerosWithoutDtype(Op):
    """Zeros. out: `shape`, float32 unless dtype names another type."""

    shape: Shape = ()
    dtype: Any = -1
    inputs = ()

    def infer(self, *specs: Spec) -> Spec:
        """As the settings say."""
        dtype = "float32" if self.dtype in (-1, None) else self.dtype
        return Spec.of(self.shape, resolve(dtype))

    def kernel(self, *specs: Spec) -> Kernel:
        """A fill."""
        return lambda out: out.fill(0)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """There is nothing to have a gradient."""
        return ()

    def cost(self, *specs: Spec) -> Cost:
        """Written once."""
        return Cost(0, prod(self.shape) * 4)
