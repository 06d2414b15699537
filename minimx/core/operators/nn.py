"""Data sheets of activations and dropout: the three ways to write a sheet.

    a formula       `unary("_leaky", "where(x > 0, x, slope * x)", grad="...")` makes
                    class, kernel and gradient (`operators/pointwise.py`)
    a class         `Dropout` says what comes out, which kernel computes it (with random
                    numbers), what is saved, and how gradients flow back
    another sheet   `Activation` is the sheet that its setting names

MXNet 1.9.1: src/operator: nn/activation.cc, leaky_relu.cc, nn/dropout.cc.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from minimx.core.errors import OperatorError, did_you_mean
from minimx.core.kernels import find
from minimx.core.kernels.half import in_single
from minimx.core.operators.pointwise import binary, unary
from minimx.core.ops import deduction
from minimx.core.ops.casting import Casting
from minimx.core.ops.checks import same_reals
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
from minimx.core.shapes import Shape, normalize_axes

# -- activations -----------------------------------------------------------------------

_SLOPE = {"slope": "float"}
unary(
    "_leaky",
    "where(x > 0, x, slope * x)",
    doc="A relu whose negative part is not lost but made smaller.",
    grad="where(x > 0, dy, slope * dy)",
    settings=_SLOPE,
)
unary(
    "_elu",
    "where(x > 0, x, slope * expm1(x))",
    doc="A relu whose negative part runs smoothly into -slope.",
    grad="where(x > 0, dy, dy * (y + slope))",
    settings=_SLOPE,
)
unary(
    "_selu",
    "1.0507009873554805 * where(x > 0, x, 1.6732632423543772 * expm1(x))",
    doc="An elu scaled so that activations keep mean 0 and variance 1.",
    grad="where(x > 0, 1.0507009873554805 * dy, dy * (y + 1.7580993408473766))",
)
unary(
    "_gelu",
    "0.5 * x * (1 + erf(x * 0.7071067811865476))",
    doc="x times the probability that a normal variable is below x.",
    grad="dy * (0.5 * (1 + erf(x * 0.7071067811865476))"
    " + x * 0.3989422804014327 * exp(-0.5 * x * x))",
)
binary(
    "_prelu",
    "where(a > 0, a, a * b)",
    doc="A leaky relu whose slope b is learnt.",
    grads=("where(a > 0, dz, dz * b)", "where(a > 0, 0, dz * a)"),
)

LEAKY = ("leaky", "elu", "selu", "gelu", "prelu", "rrelu")
ACTIVATIONS = ("relu", "sigmoid", "tanh", "softrelu", "softsign")


class Choice(Op):
    """An operator that is one of several pointwise operators; a setting names it."""

    act_type: str

    #: The operator that does the work.
    form: ClassVar[Op]
    deduce = deduction.first_is_out

    def chosen(self) -> Op:
        """The pointwise operator that does the work."""
        raise OperatorError(f"{self.name} has no operator to choose")

    def __post_init__(self) -> None:
        super().__post_init__()
        # Settings are frozen; what follows from them is set past the freeze.
        object.__setattr__(self, "form", self.chosen())
        object.__setattr__(self, "saves", self.form.saves)

    def infer(self, *specs: Spec) -> Spec | tuple[Spec, ...]:
        """That of the chosen operator: the spec of data."""
        return self.form.infer(*specs)

    def kernel(self, *specs: Spec) -> Kernel:
        """That of the chosen operator, generated from its formula."""
        return self.form.kernel(*specs)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Sequence[Value | None]:
        """That of the chosen operator, such as dx = dy (1 - y²) for tanh."""
        return self.form.grad(at, dout, *saved)

    def cost(self, *specs: Spec) -> Cost:
        """That of the chosen operator."""
        return self.form.cost(*specs)


@register("Activation")
class Activation(Choice):
    """A nonlinear function of every element, which the setting act_type names.

    data: any shape; out: the same shape and type.
    act_type: 'relu' max(x, 0), 'sigmoid' 1 / (1 + exp(-x)), 'tanh', 'softrelu'
    log(1 + exp(x)) or 'softsign' x / (1 + |x|).
    Raises OperatorError for another act_type.
    """

    act_type: str

    casting = Casting("either", "either", {"act_type": ("softrelu",)})
    choices = {"act_type": ACTIVATIONS}
    inplace = {"out": "data"}

    def chosen(self) -> Op:
        """The operator of that name."""
        if self.act_type not in ACTIVATIONS:
            raise _unknown(self.name, self.act_type, ACTIVATIONS)
        return lookup(self.act_type).of()


def _unknown(op: str, given: str, known: Sequence[str]) -> OperatorError:
    return OperatorError(
        f"{op}: act_type={given!r}: choose one of {', '.join(known)}."
        f"{did_you_mean(given, known)}"
    )


# -- dropout ---------------------------------------------------------------------------


@register("Dropout")
class Dropout(Op):
    """In training, set elements to 0 with probability p and divide the others by 1 - p.

    data: any shape, float16, bfloat16, float32 or float64; out: the same shape and
    type. Outside of `autograd.train_mode` out is a copy of data.
    p: from 0 to 1; with p=1 nothing is kept, and out is NaN: 0 times the infinite
    scale, as in MXNet. mode: 'training', or 'always' to drop in prediction as well.
    axes: axes along which one decision holds for all elements, such as (2, 3) to drop
    whole channels of (N, C, H, W). cudnn_off changes nothing. `training` is internal.
    Raises OperatorError for another p or mode, DTypeError if integers are dropped.
    """

    p: float = 0.5
    mode: str = "training"
    axes: Shape = ()
    cudnn_off: bool = False
    training: bool = False

    choices = {"mode": ("training", "always")}
    inplace = {"out": "data"}
    deterministic = False
    deduce = deduction.first_is_out

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mode not in self.choices["mode"] or not 0 <= self.p <= 1:
            raise OperatorError(
                f"Dropout: p={self.p} must be a probability, from 0 to 1, and "
                f"mode={self.mode!r} one of training, always."
            )
        object.__setattr__(self, "needs_rng", self.drops)
        object.__setattr__(self, "saves", ("out1",) if self.drops else ())

    @property
    def drops(self) -> bool:
        """Whether anything is dropped in this call."""
        return (self.training or self.mode == "always") and self.p > 0

    @property
    def scale(self) -> float:
        """What the elements that are kept are multiplied by."""
        return 1 / (1 - self.p) if self.p < 1 else float("inf")

    def infer(self, *specs: Spec) -> Spec | tuple[Spec, ...]:
        """The same shape; and a hidden output (bytes,) with a bit for each decision."""
        (data,) = specs
        if not self.drops:
            return data
        same_reals(self.name, ("data",), data)
        decisions = decisions_of(data.shape, self.axes)
        bits = Spec.of((-(-int(np.prod(decisions)) // 8),), np.dtype(np.uint8))
        return data, bits

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.core.kernels.cpu.dropout`."""
        if not self.drops:
            return lambda data, out: np.copyto(out, data)
        draw, keep = find("dropout.draw"), 1 - self.p
        mask = _masking(specs[0], self.axes, self.scale)

        def run(data: Any, out: Any, bits: Any, rng: Any) -> None:
            draw(rng, bits, keep)
            mask(data, bits, out)

        return in_single(run, 1) if specs[0].dtype.itemsize == 2 else run

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Sequence[Value | None]:
        """Rule: ddata = dout * scale where the element was kept, else 0."""
        if not self.drops:
            return (dout,)
        op = Mask.of(scale=self.scale, axes=self.axes)
        return (bind(op, dout, *saved),)

    def cost(self, *specs: Spec) -> Cost:
        """A random number, a comparison and a product for every element."""
        return Cost(10 * specs[0].size, 2 * specs[0].nbytes + specs[0].size // 8)


def decisions_of(shape: Shape, axes: Shape) -> Shape:
    """The shape of the decisions to drop: that of data, with 1 along the axes.

    >>> decisions_of((8, 3, 5, 5), (2, 3))
    (8, 3, 1, 1)
    """
    shared = normalize_axes("Dropout", axes, len(shape)) if axes else ()
    return tuple(1 if axis in shared else n for axis, n in enumerate(shape))


def _masking(data: Spec, axes: Shape, scale: float) -> Kernel:
    """`kernel(data, bits, out)`: out = data * scale where the bit is set, else 0."""
    apply, decisions = find("dropout.apply"), decisions_of(data.shape, axes)
    count = int(np.prod(decisions))

    def each(x: Any, bits: Any, out: Any) -> None:
        apply(x.reshape(-1), bits, x.dtype.type(scale), out.reshape(-1))

    def shared(x: Any, bits: Any, out: Any) -> None:
        mask = np.unpackbits(bits, count=count, bitorder="little").reshape(decisions)
        np.multiply(x, mask * x.dtype.type(scale), out=out)

    def none(x: Any, bits: Any, out: Any) -> None:
        out.fill(np.nan)  # where nothing is kept: 0 times an infinite scale

    if np.isinf(scale):
        return none
    return each if decisions == data.shape else shared


@register("_mask_Dropout")
class Mask(Op):
    """Elements times scale where their bit is set, 0 elsewhere; linear in data.

    data: any shape; bits (bytes,) uint8: one for every decision, eight in a byte; out:
    as data. scale: the factor; axes: as for Dropout, whose gradient this is.
    """

    scale: float
    axes: Shape

    inputs = ("data", "bits")
    saves = ("bits",)
    inplace = {"out": "data"}

    def infer(self, *specs: Spec) -> Spec:
        """The same shape."""
        return specs[0]

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.core.kernels.cpu.dropout`."""
        run = _masking(specs[0], self.axes, self.scale)
        return in_single(run, 2) if specs[0].dtype.itemsize == 2 else run

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Sequence[Value | None]:
        """Rule: ddata = dout * scale where the bit is set, else 0: this operator."""
        return bind(self, dout, *saved), None
