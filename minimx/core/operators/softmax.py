"""Data sheets of softmax and its logarithm, with their gradients.

MXNet 1.9.1: src/operator/nn: softmax.cc, log_softmax.cc.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from minimx.core.dtypes import resolve
from minimx.core.errors import OperatorError
from minimx.core.kernels import find
from minimx.core.kernels.half import computing, in_single
from minimx.core.operators.reduce import adding
from minimx.core.ops import deduction
from minimx.core.ops.casting import SINGLE
from minimx.core.ops.checks import expect, same_reals
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
from minimx.core.shapes import Shape, normalize_axis, split_at

# Comparing, subtracting, exp, adding, dividing, for one element.
STEPS = 8


class Family(Op):
    """Operators along one axis with a temperature; out has the shape of data."""

    axis: int
    temperature: float | None
    dtype: str | None
    use_length: bool

    all_inputs = ("data", "length")
    deduce = deduction.first_is_out
    log: ClassVar[bool] = False
    sign: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dtype is not None:
            object.__setattr__(self, "dtype", resolve(self.dtype).name)
        object.__setattr__(self, "use_length", bool(self.use_length))

    @property
    def inputs(self) -> tuple[str, ...]:
        """Data; and the lengths, with use_length."""
        return self.all_inputs if self.use_length else ("data",)

    @property
    def inplace(self) -> dict[str, str]:
        """Each row is read before it is written; the logarithm reads it once more."""
        return {} if self.log else {"out": "data"}

    @property
    def saves(self) -> tuple[str, ...]:
        """The output; with its logarithm also the lengths, to know what was left out.

        There what is left out is 0 as well, which a logarithm may be.
        """
        return ("length", "out") if self.use_length and self.log else ("out",)

    @property
    def scale(self) -> float:
        """What data is multiplied with before exp."""
        heat = 1.0 if self.temperature is None else self.temperature
        if heat == 0:
            raise OperatorError(f"{self.name}: temperature must not be 0.")
        return self.sign / heat

    def infer(self, *specs: Spec) -> Spec:
        """The same shape, in `dtype` if that is given."""
        data = specs[0]
        out = data if self.dtype is None else data.with_dtype(resolve(self.dtype))
        same_reals(self.name, ("data",), out)
        axis = normalize_axis(self.name, self.axis, data.ndim)
        if self.use_length:
            rest = (*data.shape[:axis], *data.shape[axis + 1 :]) or (1,)
            why = f"data {data.shape} without axis {self.axis}"
            expect(self.name, "length", specs[1], rest, why)
        return out

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.core.kernels.cpu.softmax`."""
        data, out = specs[0], self.infer(*specs)
        axis, real = self.axis % data.ndim, computing(out.dtype)
        shape = split_at(data.shape, axis)
        softmax = find(f"{adding('softmax', out.dtype)}.softmax")
        scale, log = self.scale, self.log

        def run(x: Any, *rest: Any) -> None:
            out = rest[-1]
            if not out.size:
                return
            x, real_scale = x.astype(real, copy=False), real.type(scale)
            if len(rest) == 1:
                softmax(x.reshape(shape), real_scale, log, out.reshape(shape))
                return
            kept = _counted(data.shape, axis, rest[0])
            x = np.where(kept, x, real.type(-np.inf if scale > 0 else np.inf))
            softmax(x.reshape(shape), real_scale, log, out.reshape(shape))
            out[~kept] = 0

        return in_single(run, len(specs)) if out.dtype.itemsize == 2 else run

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Sequence[Value | None]:
        """Rule: ddata = s y (dout - Σ dout y), of the log s (dout - exp(y) Σ dout).

        y: the output; s: 1 / temperature; sums are along the axis.
        """
        axis = self.axis % at.ins[0].ndim
        if len(saved) == 2:
            hide = HideBeyond.of(axis=axis, value=0.0)
            dout = bind(hide, dout, saved[0])
            hide = HideBeyond.of(axis=axis, value=float("-inf"))
            saved = (bind(hide, saved[1], saved[0]),)
        op = SoftmaxGradient.of(axis=axis, scale=self.scale, log=self.log)
        gradient = bind(op, dout, *saved)
        if at.ins[0].dtype != at.outs[0].dtype:
            gradient = bind(lookup("Cast").of(dtype=at.ins[0].dtype.name), gradient)
        return (gradient, None) if self.use_length else (gradient,)

    def cost(self, *specs: Spec) -> Cost:
        """A few operations for every element."""
        return Cost(STEPS * specs[0].size, 2 * specs[0].nbytes)


def _counted(shape: Shape, axis: int, length: Any) -> Any:
    """Which elements lie before the length of their row."""
    numbers = np.arange(shape[axis]).reshape((-1,) + (1,) * (len(shape) - axis - 1))
    before, after = shape[:axis], shape[axis + 1 :]
    return np.broadcast_to(numbers < length.reshape(*before, 1, *after), shape)


@register("_hide_beyond")
class HideBeyond(Op):
    """Elements beyond the length of their row along an axis become a number.

    data (2, 3), length (2,) = [1, 3], axis=1, value=0: the last two elements of the
    first row become 0; out: the shape of data
    """

    axis: int
    value: float

    inputs = ("data", "length")
    saves = ("length",)

    def infer(self, *specs: Spec) -> Spec:
        """The same shape."""
        return specs[0]

    def kernel(self, *specs: Spec) -> Kernel:
        """One choice for each element."""
        shape, axis, value = specs[0].shape, self.axis, self.value

        def run(data: Any, length: Any, out: Any) -> None:
            kept = _counted(shape, axis, length)
            np.copyto(out, data)
            out[~kept] = value

        return run

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Sequence[Value | None]:
        """Rule: ddata = dout before the length, 0 beyond it."""
        return bind(HideBeyond.of(axis=self.axis, value=0.0), dout, *saved), None


@register("softmax")
class Softmax(Family):
    """exp(data / temperature), divided by its sum along `axis`: positive, summing to 1.

    data: any shape, of a float type, or with a float `dtype`; out: the shape of data,
    of `dtype` or its own.
    use_length: a second input, length, of the shape of data without `axis`: elements
    beyond it take no part and get 0. temperature: None means 1; a large one makes the
    results more alike. The largest element is subtracted before exp, so nothing
    overflows.
    Raises OperatorError for temperature 0, ShapeError for another shape of length,
    DTypeError for integers without `dtype`.
    """

    axis: int = -1
    temperature: float | None = None
    dtype: str | None = None
    use_length: bool = False

    casting = SINGLE


@register("log_softmax")
class LogSoftmax(Family):
    """The logarithm of softmax: data / temperature - log Σ exp(data / temperature).

    data: any shape, of a float type, or with a float `dtype`; out: the shape of data,
    of `dtype` or its own. More exact than log(softmax(data)), which takes logarithms of
    rounded numbers. Settings and errors as for softmax.
    """

    axis: int = -1
    temperature: float | None = None
    dtype: str | None = None
    use_length: bool = False

    casting = SINGLE
    log = True


@register("_backward_softmax")
class SoftmaxGradient(Op):
    """The gradient of softmax or its logarithm, from the gradient of its output and it.

    dout, y: the same shape; out: that shape
    """

    axis: int
    scale: float
    log: bool

    inputs = ("dout", "y")
    inplace = {"out": ("dout", "y")}

    def infer(self, *specs: Spec) -> Spec:
        """The same shape."""
        return specs[0]

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.core.kernels.cpu.softmax`."""
        shape = split_at(specs[0].shape, self.axis)
        file = adding("softmax", specs[0].dtype)
        gradient, scale, log = find(f"{file}.softmax_gradient"), self.scale, self.log

        def run(dout: Any, y: Any, out: Any) -> None:
            if out.size:
                arrays = dout.reshape(shape), y.reshape(shape)
                gradient(*arrays, y.dtype.type(scale), log, out.reshape(shape))

        return in_single(run, 2) if specs[0].dtype.itemsize == 2 else run

    def composed(self, dout: Value, y: Value) -> Value:
        """The same gradient made of operators, to be differentiated again."""
        total = lookup("sum").of(axis=self.axis, keepdims=True)
        if self.log:
            return (dout - bind(lookup("exp").of(), y) * bind(total, dout)) * self.scale
        return y * (dout - bind(total, dout * y)) * self.scale

    def cost(self, *specs: Spec) -> Cost:
        """A few operations for every element."""
        return Cost(STEPS * specs[0].size, 3 * specs[0].nbytes)
