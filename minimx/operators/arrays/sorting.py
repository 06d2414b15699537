"""Data sheets of sorting and of choosing the first k.

Places are float32 numbers unless `dtype` says otherwise, as in MXNet.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.dtypes import INT64, resolve
from minimx.core.errors import ShapeError
from minimx.core.kernels import find
from minimx.core.operators.indexing import PutAlongAxis
from minimx.core.operators.views import reshaped
from minimx.core.ops import GradContext, Kernel, Op, Value, bind, register
from minimx.core.ops.casting import SINGLE
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Shape, normalize_axis
from minimx.operators.rules import Gradients, one_of


class Ordering(Op):
    """What operators that compare elements along an axis share."""

    axis: Any = -1

    def split(self, data: Spec) -> tuple[Shape, int]:
        """The shape to sort in and the axis of it; None flattens."""
        if self.axis is None:
            return (data.size,), 0
        return data.shape, normalize_axis(self.name, self.axis, data.ndim)

    def cost(self, *specs: Spec) -> Cost:
        """N log n comparisons along each line."""
        (data,) = specs
        shape, axis = self.split(data)
        return Cost(data.size * max(1, shape[axis].bit_length()), 3 * data.nbytes)

    def put_back(
        self, at: GradContext, dout: Value, places: Value
    ) -> tuple[Value, ...]:
        """The gradient where the elements stood before."""
        data, out = at.ins[0], at.outs[0]
        shape, axis = self.split(data)
        # The places are those of a flat array if the data was flattened.
        one = reshaped(dout, out.shape, self.line(out, shape, axis))
        two = reshaped(places, at.outs[1].shape, self.line(out, shape, axis))
        back = PutAlongAxis.of(axis=axis, length=shape[axis])
        return (reshaped(bind(back, one, two), shape, data.shape),)

    @staticmethod
    def line(out: Spec, shape: Shape, axis: int) -> Shape:
        """The shape of the output with as many axes as were sorted in."""
        if len(shape) == 1:
            return (out.size,)
        return out.shape


@register("sort", "_npi_sort")
class Sort(Ordering):
    """The elements in order along an axis.

    data: any shape; out: the same shape and type. axis: None sorts the flat array, out
    (size,). is_ascend=False: the largest first. Equal elements keep their order, NaN
    counts as largest. The gradient goes back to where each element was.
    """

    axis: int | None = -1
    is_ascend: bool = True
    saves = ("out1",)

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """The spec of data, flat if axis is None; and places."""
        (data,) = specs
        shape, _ = self.split(data)
        return data.with_shape(shape), Spec.of(shape, INT64)

    def kernel(self, *specs: Spec) -> Kernel:
        """A stable sort of places, then a gather."""
        shape, axis = self.split(specs[0])
        sort = find("indexing.sort")(axis, self.is_ascend)
        return lambda x, out, places: sort(x.reshape(shape), out, places)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """To where each element stood."""
        return self.put_back(at, dout, saved[0])


@register("argsort", "_npi_argsort")
class ArgSort(Ordering):
    """The indices that would sort the elements along an axis.

    data: any shape; out: the same shape, of type `dtype`: float32 by default as in
    MXNet, which holds indices up to 2**24 exactly. axis: None sorts the flat array, out
    (size,). is_ascend=False: the largest first. Equal elements keep their order. No
    gradient.
    """

    axis: int | None = -1
    is_ascend: bool = True
    dtype: str = "float32"
    casting = SINGLE
    differentiable = False

    def infer(self, *specs: Spec) -> Spec:
        """The shape of data, flat if axis is None."""
        return Spec.of(self.split(specs[0])[0], resolve(self.dtype))

    def kernel(self, *specs: Spec) -> Kernel:
        """A stable sort."""
        shape, axis = self.split(specs[0])
        argsort = find("indexing.argsort")(axis, self.is_ascend)
        return lambda x, out: argsort(x.reshape(shape), out)


@register("topk")
class TopK(Ordering):
    """The k largest elements along an axis, or with is_ascend the smallest.

    data (2, 5), k=3; out (2, 3). k=0 takes all. axis: None for the flat array. ret_typ:
    "indices", the positions of the elements; "value", the elements; "both", the
    elements and then their positions; "mask", 1 where an element was chosen and 0
    elsewhere, in the shape of data. dtype: of the positions, float32 by default as in
    MXNet, which holds positions up to 2**24 exactly. The best comes first; equal
    elements keep their order. Gradients flow through the elements. Raises ShapeError if
    k is more than there are, OperatorError for another ret_typ.
    """

    axis: int | None = -1
    k: int = 1
    ret_typ: str = "indices"
    is_ascend: bool = False
    dtype: str = "float32"

    casting = SINGLE

    @property
    def visible(self) -> int:  # type: ignore[override]
        """Two for "both", else one."""
        return 2 if self.ret_typ == "both" else 1

    @property
    def differentiable(self) -> bool:  # type: ignore[override]
        """Values have a gradient, places have none."""
        return self.ret_typ in ("value", "both")

    @property
    def saves(self) -> tuple[str, ...]:
        """Where the values stood: as int64, in a hidden output."""
        if not self.differentiable:
            return ()
        return ("out2",) if self.ret_typ == "both" else ("out1",)

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """K elements along the axis."""
        (data,) = specs
        one_of(self, "ret_typ", "indices", "value", "both", "mask")
        shape, axis = self.split(data)
        if not 0 <= self.k <= shape[axis]:
            raise ShapeError(
                f"topk: k={self.k} of {shape[axis]} elements along axis {axis} of "
                f"shape {data.shape} cannot be chosen."
            )
        short = (*shape[:axis], self.k or shape[axis], *shape[axis + 1 :])
        values, hidden = data.with_shape(short), Spec.of(short, INT64)
        places = Spec.of(short, resolve(self.dtype))
        if self.ret_typ == "mask":
            return (data,)
        if self.ret_typ == "indices":
            return (places,)
        if self.ret_typ == "value":
            return (values, hidden)
        return (values, places, hidden)

    def kernel(self, *specs: Spec) -> Kernel:
        """A stable sort of places, of which the first k are kept."""
        (data,) = specs
        shape, axis = self.split(data)
        first = find("indexing.topk")(axis, self.k or shape[axis], self.is_ascend)
        kind = self.ret_typ

        def launch(x: Any, out: Any, *more: Any) -> None:
            x = x.reshape(shape)
            places = first(x)
            if kind == "indices":
                np.copyto(out, places, casting="unsafe")
            elif kind == "mask":
                out.fill(0)
                np.put_along_axis(out.reshape(shape), places, 1, axis)
            else:
                np.copyto(out, np.take_along_axis(x, places, axis))
                for target in more:
                    np.copyto(target, places, casting="unsafe")

        return launch

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """To where each value stood."""
        values = dout[0] if isinstance(dout, tuple) else dout
        return self.put_back(at, values, saved[0])
