"""Data sheets of batches of sequences that are not equally long.

data (time, batch, ...), with axis=1 (batch, time, ...); sequence_length (batch,), any
element type, is an input only with use_sequence_length=True.
"""

from __future__ import annotations

from typing import Any

from minimx.core.errors import ShapeError
from minimx.core.operators.shape import Move
from minimx.core.ops import GradContext, Value, bind, register
from minimx.core.ops.checks import expect
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Shape
from minimx.operators.rules import Gradients, computed_by, given_shape


class Sequences(Move):
    """What the three operators share."""

    use_sequence_length: bool = False
    axis: int = 0

    all_inputs: Any = ("data", "sequence_length")

    @property
    def inputs(self) -> tuple[str, ...]:
        """The lengths only where they are asked for."""
        return self.all_inputs[: 1 + self.use_sequence_length]  # type: ignore[no-any-return]

    @property
    def saves(self) -> tuple[str, ...]:
        """The lengths."""
        return self.inputs[1:]

    def check(self, *specs: Spec) -> None:
        """Refuse what has no time and no batch, or another number of lengths."""
        data, *lengths = specs
        if data.ndim < 2 or self.axis not in (0, 1):
            raise ShapeError(
                f"{self.name}: data {data.shape} needs a time axis and a batch axis; "
                f"axis={self.axis} says where time is, 0 or 1."
            )
        for spec in lengths:
            batch = (data.shape[1 - self.axis],)
            expect(self.name, "sequence_length", spec, batch, "the batch")

    def infer(self, *specs: Spec) -> Spec:
        """The spec of data."""
        self.check(*specs)
        return specs[0]

    def rest(self, saved: tuple[Value, ...]) -> tuple[None, ...]:
        """Lengths have no gradient."""
        return (None,) * len(saved)


@register("SequenceMask")
class SequenceMask(Sequences):
    """Put `value` in place of what follows the end of each sequence.

    data (time, batch, ...), or (batch, time, ...) with axis=1; out: the same shape and
    type. sequence_length (batch,), with use_sequence_length=True: how many steps of
    each sequence count; without it data pass unchanged. No gradient flows to replaced
    elements. Raises ShapeError if data have less than two axes, or the lengths are not
    (batch,).
    """

    use_sequence_length: bool = False
    value: float = 0.0
    axis: int = 0

    kernel = computed_by("sequence.mask", "axis", "value")

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """None where the value stands."""
        settings = {**self.settings, "value": 0.0}
        return (bind(SequenceMask.of(**settings), dout, *saved), *self.rest(saved))


@register("SequenceLast")
class SequenceLast(Sequences):
    """The last element of each sequence.

    data (time, batch, ...), or (batch, time, ...) with axis=1; out (batch, ...).
    sequence_length (batch,), with use_sequence_length=True: the element before that
    position is taken; without it the last step. Raises ShapeError if data have less
    than two axes, or the lengths are not (batch,).
    """

    use_sequence_length: bool = False
    axis: int = 0

    def infer(self, *specs: Spec) -> Spec:
        """No time axis any more."""
        self.check(*specs)
        shape = specs[0].shape
        return specs[0].with_shape((shape[1 - self.axis], *shape[2:]))

    kernel = computed_by("sequence.last", "axis")

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """To the end of each sequence."""
        back = BackwardSequenceLast.of(**self.settings, shape=at.ins[0].shape)
        return (bind(back, dout, *saved), *self.rest(saved))


@register("_backward_SequenceLast")
class BackwardSequenceLast(Sequences):
    """Zeros of `shape`, and dout where each sequence ends. dout (batch, ...)."""

    use_sequence_length: bool = False
    axis: int = 0
    shape: Shape = ()

    all_inputs = ("dout", "sequence_length")

    infer = given_shape

    kernel = computed_by("sequence.unlast", "axis")

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """From the end of each sequence."""
        forward = SequenceLast.of(
            use_sequence_length=self.use_sequence_length, axis=self.axis
        )
        return (bind(forward, dout, *saved), *self.rest(saved))


@register("SequenceReverse")
class SequenceReverse(Sequences):
    """Reverse each sequence in time; what follows its end stays where it is.

    data, out (time, batch, ...). sequence_length (batch,), with
    use_sequence_length=True: how many steps of each sequence are reversed; without it
    all. Raises ShapeError unless axis is 0, as in MXNet: exchange the axes first.
    """

    use_sequence_length: bool = False
    axis: int = 0

    def infer(self, *specs: Spec) -> Spec:
        """The spec of data."""
        if self.axis != 0:
            raise ShapeError(
                "SequenceReverse: time must be axis 0, as in MXNet. Exchange the axes "
                "first: swapaxes(0, 1)."
            )
        return super().infer(*specs)

    kernel = computed_by("sequence.reverse")

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Backwards again."""
        return (bind(self, dout, *saved), *self.rest(saved))
