"""Data sheets of operators without inputs: arrays that settings describe.

MXNet 1.9.1: src/operator/tensor/init_op.cc.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import methodcaller
from typing import Any

from minimx.core.dtypes import numbers, resolve
from minimx.core.np_semantics import is_np_shape
from minimx.core.ops.registry import GradContext, Kernel, Op, Value, register
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Deduced, Opens, Shape, merge


class Creation(Op):
    """An operator without inputs."""

    inputs = ()

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Sequence[Value | None]:
        """Nothing, as there are no inputs."""
        return ()

    def cost(self, *specs: Spec) -> Cost:
        """Written once."""
        out = self.infer()
        assert isinstance(out, Spec)
        return Cost(0, out.nbytes)


class Constant(Creation):
    """One value everywhere; in graphs an axis of length 0 waits to be inferred."""

    shape: Shape
    dtype: str

    @property
    def unresolved(self) -> bool:  # type: ignore[override]
        """Whether some axis of the shape is still unknown."""
        least = 0 if is_np_shape() else 1  # there an axis may have the length 0
        return not self.shape or min(self.shape) < least

    def deduce(self, ins: Opens, outs: Opens) -> Deduced:
        """The axes that the setting `shape` gives; 0 leaves one open.

        Under np_shape an axis may have length 0, and -1 leaves one open.
        """
        least = 0 if is_np_shape() else 1
        known = tuple(n if n >= least else None for n in self.shape) or None
        return ins, [merge(self.name, known, outs[0])]

    def resolve(self, out: Spec) -> Op:
        """The same with the whole shape."""
        return type(self).of(**{**self.settings, "shape": out.shape})

    def infer(self, *specs: Spec) -> Spec:
        """As the settings say."""
        return Spec.of(self.shape, resolve(self.dtype))


@register("_zeros")
class Zeros(Constant):
    """Zeros: `mx.nd.zeros`. out: `shape`, of `dtype`.

    dtype: a name, such as 'float32'. In a graph an axis of length 0 is inferred.
    """

    shape: Shape = ()
    dtype: str = "float32"

    def kernel(self, *specs: Spec) -> Kernel:
        """A fill."""
        return methodcaller("fill", 0)


@register("_ones")
class Ones(Constant):
    """Ones: `mx.nd.ones`. out: `shape`, of `dtype`, as for zeros."""

    shape: Shape = ()
    dtype: str = "float32"

    def kernel(self, *specs: Spec) -> Kernel:
        """A fill."""
        return methodcaller("fill", 1)


@register("_full")
class Full(Constant):
    """One value everywhere: `mx.nd.full`. out: `shape`, of `dtype`, as for zeros.

    value: converted to the dtype; fractions are cut off for integers.
    """

    shape: Shape = ()
    dtype: str = "float32"
    value: float = 0.0

    def kernel(self, *specs: Spec) -> Kernel:
        """A fill."""
        value = numbers(self.value, resolve(self.dtype))
        return lambda out: out.fill(value)
