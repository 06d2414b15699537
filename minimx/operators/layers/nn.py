"""Data sheets of leaky units, and of outputs that are compared with a label."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.errors import ShapeError
from minimx.core.operators.nn import (
    LEAKY,
    Activation,
    Choice,
    Dropout,
    Mask,
    _unknown,
    decisions_of,
)
from minimx.core.operators.views import reshaped
from minimx.core.ops import GradContext, Kernel, Op, Value, bind, lookup, register
from minimx.core.ops.casting import LOSS, Casting
from minimx.core.ops.checks import expect, same_reals
from minimx.core.ops.registry import with_settings
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Deduced, Opens, Shape, merge
from minimx.operators.rules import Gradients

__all__ = [
    "Activation", "Choice", "Dropout", "LeakyReLU", "LinearRegressionOutput",
    "LogisticRegressionOutput", "MAERegressionOutput", "Mask", "Regression",
    "decisions_of",
]  # fmt: skip


@with_settings
class Regression(Op):
    """An output whose gradient is that of a loss, whatever gradient arrives.

    data: any shape; label: as many elements; out: the shape of data
    The gradient is divided by the number of elements of one sample.
    """

    grad_scale: float = 1.0

    casting = LOSS
    inputs = ("data", "label")
    saves = ("out", "label")
    unchanged = {"out": "data"}
    ignores = ("label",)

    def deduce(self, ins: Opens, outs: Opens) -> Deduced:
        """As data; a label without a shape, too; of one number each, (N,)."""
        data = merge(self.name, ins[0], outs[0])
        label = ins[1]
        if label is None and data is not None:
            label = data[:1] if len(data) == 2 and data[1] == 1 else data
        return [data, label], [data]

    def infer(self, *specs: Spec) -> Spec:
        """The shape of data."""
        data, label = specs
        same_reals(self.name, self.inputs, *specs)
        if data.size != label.size:
            raise ShapeError(
                f"{self.name}: data {data.shape} has {data.size} elements, label "
                f"{label.shape} has {label.size}. Give a label for each."
            )
        return data

    def kernel(self, *specs: Spec) -> Kernel:
        """The data as they are."""
        return lambda data, label, out: np.copyto(out, data)

    def grad(self, at: GradContext, dout: Any, out: Value, label: Value) -> Gradients:
        """The difference to the label, scaled."""
        data, given = at.ins
        label = reshaped(label, given.shape, data.shape)
        each = max(given.size // max(given.shape[0], 1), 1)
        return self.loss_gradient(out - label) * (self.grad_scale / each), None

    def loss_gradient(self, difference: Value) -> Value:
        """The derivative of the loss, from out - label."""
        return difference


@register("LinearRegressionOutput")
class LinearRegressionOutput(Regression):
    """The data; the gradient is that of half the squared difference to the label.

    data: any shape; label: as many elements; out: the shape of data
    """


@register("MAERegressionOutput")
class MAERegressionOutput(Regression):
    """The data; the gradient is that of the absolute difference to the label.

    data: any shape; label: as many elements; out: the shape of data
    """

    def loss_gradient(self, difference: Value) -> Value:
        """Its sign."""
        return bind(lookup("sign").of(), difference)


@register("LogisticRegressionOutput")
class LogisticRegressionOutput(Regression):
    """sigmoid(data); the gradient is that of the cross entropy with the label.

    data: any shape; label: as many elements; out: the shape of data
    """

    unchanged = {}
    inplace = {"out": "data"}

    def kernel(self, *specs: Spec) -> Kernel:
        """The kernel of sigmoid."""
        launch = lookup("sigmoid").of().kernel(specs[0])
        return lambda data, label, out: launch(data, out)


@register("LeakyReLU")
class LeakyReLU(Choice):
    """Curves that let something of the negative part through.

    act_type: leaky or elu (with `slope`), selu, gelu, prelu (with a learnt slope),
    rrelu (leaky, with a slope for each element that in training is drawn between
    lower_bound and upper_bound, and otherwise lies in the middle)
    data: any shape, out: the same shape; gamma, for prelu: (1,) or (C,), C being the
    length of data's second axis, or as data's first axes; `training` is internal.
    With rrelu there is a second output, mask: the slopes, of data's shape.
    """

    act_type: str = "leaky"
    slope: float = 0.25
    lower_bound: float = 0.125
    upper_bound: float = 0.334
    training: bool = False

    casting = Casting("either", "either", {"act_type": ("elu", "selu")})
    inplace = {"out": "data"}
    all_inputs = ("data", "gamma")
    default_initializers = {"gamma": '["Constant", {"value": 0.25}]'}

    @property
    def inputs(self) -> tuple[str, ...]:
        """A second one for prelu only."""
        return self.all_inputs if self.act_type == "prelu" else self.all_inputs[:1]

    def chosen(self) -> Op:
        """One of the formulas above."""
        if self.act_type not in LEAKY:
            raise _unknown(self.name, self.act_type, LEAKY)
        if self.masked:
            return lookup("_leaky").of(slope=self.lower_bound)  # and so on, by its mask
        settings = {"slope": self.slope} if self.act_type in ("leaky", "elu") else {}
        return lookup(f"_{self.act_type}").of(**settings)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.act_type == "prelu":
            object.__setattr__(self, "saves", ("data", "gamma"))
        if self.masked:
            object.__setattr__(self, "saves", ("data", "out1"))
            object.__setattr__(self, "visible", 2)
            object.__setattr__(self, "output_names", ("output", "mask"))
            object.__setattr__(self, "deterministic", not self.training)
            object.__setattr__(self, "needs_rng", self.training)

    @property
    def masked(self) -> bool:
        """Whether every element has a slope of its own, which is shown."""
        return self.act_type == "rrelu"

    def complete(self, data: Spec) -> dict[str, Shape]:
        """A slope for each channel."""
        if self.act_type != "prelu":
            return {}
        return {"gamma": (data.shape[1] if data.ndim > 1 else 1,)}

    def _aligned(self, specs: tuple[Spec, ...]) -> tuple[Spec, ...]:
        """The specs with gamma stretched out to the axes of data."""
        if len(specs) < 2:
            return specs
        data, gamma = specs
        if gamma.ndim > 1:  # from the first axis on
            shape = (*gamma.shape, *(1,) * (data.ndim - gamma.ndim))
            pairs = zip(shape, data.shape, strict=False)
            if len(shape) > data.ndim or any(m not in (1, n) for m, n in pairs):
                raise ShapeError(
                    f"LeakyReLU: gamma {gamma.shape} does not fit data {data.shape} "
                    "from the first axis on. Give one slope for each channel, or one "
                    "for all."
                )
            return data, gamma.with_shape(shape)
        channels = data.shape[1] if data.ndim > 1 else 1
        if gamma.shape != (1,):
            expect(self.name, "gamma", gamma, (channels,), f"data {data.shape}")
        shape = (1, gamma.size, *(1,) * (data.ndim - 2)) if data.ndim > 1 else (1,)
        return data, gamma.with_shape(shape)

    def infer(self, *specs: Spec) -> Spec | tuple[Spec, ...]:
        """The shape of data; and the slopes."""
        if self.masked:
            same_reals(self.name, ("data",), *specs)
            return specs[0], specs[0]
        return super().infer(*self._aligned(specs))

    def _sloped(self, data: Any, out: Any, slopes: Any, rng: Any = None) -> None:
        """The kernel of slopes by chance; without chance, of their mean."""
        low, high = self.lower_bound, self.upper_bound
        drawn = rng.uniform(low, high, data.shape) if rng else (low + high) / 2
        slopes[...] = drawn
        np.multiply(data, np.where(data > 0, 1, slopes), out=out)

    def kernel(self, *specs: Spec) -> Kernel:
        """Generated from the formula."""
        if self.masked:
            return self._sloped
        aligned = self._aligned(specs)
        launch = super().kernel(*aligned)
        if len(specs) < 2:
            return launch

        def run(data: Any, gamma: Any, out: Any) -> None:
            launch(data, gamma.reshape(aligned[1].shape), out)

        return run

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """That of the formula, in the shape of gamma."""
        if self.masked:
            data, slopes = saved
            rising = data > 0
            return (dout[0] * (slopes + (1 - slopes) * rising),)
        if len(at.ins) < 2:
            return super().grad(at, dout, *saved)
        ins = self._aligned(at.ins)
        data, gamma = saved
        gamma = reshaped(gamma, at.ins[1].shape, ins[1].shape)
        site = GradContext(ins, at.outs, at.wants)
        ddata, dgamma = super().grad(site, dout, data, gamma)
        if dgamma is not None:
            dgamma = reshaped(dgamma, ins[1].shape, at.ins[1].shape)
        return ddata, dgamma

    def cost(self, *specs: Spec) -> Cost:
        """That of the formula."""
        return super().cost(*self._aligned(specs))
