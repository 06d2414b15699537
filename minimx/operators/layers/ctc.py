"""The data sheet of the loss that reads labels out of sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minimx.core.errors import ShapeError
from minimx.core.kernels import find
from minimx.core.ops import GradContext, Kernel, Op, Value, bind, register
from minimx.core.ops.casting import SINGLE
from minimx.core.ops.checks import expect, same_reals
from minimx.core.ops.spec import Cost, Spec
from minimx.operators.rules import Gradients, like_first, one_of, with_half

# Sums of logarithms, for one place of the label at one step.
STEPS = 40


@register("CTCLoss", "ctc_loss", "_contrib_CTCLoss", "_contrib_ctc_loss")
class CTCLoss(Op):
    """Connectionist temporal classification: the cost of reading labels in sequences.

    data (T, N, alphabet): scores of T steps, of which softmax is taken here
    label (N, L), L <= T: numbers of letters, of any type
    data_lengths (N,), with use_data_lengths=True: steps that count
    label_lengths (N,), with use_label_lengths=True: letters that count
    out (N,): -log of the probability of all readings that give the label

    blank_label: 'first': letter 0 is the blank, and without lengths the first 0 in a
    label ends it; 'last': the last letter is the blank, and the first -1 ends a label.

    A label that needs more steps than there are costs 0, as in MXNet; one with an
    unknown letter costs NaN. Only data get a gradient. Raises ShapeError for shapes
    that do not fit and for L > T, OperatorError for another blank_label. MXNet's
    `ctc_loss`; `gluon.loss.CTCLoss` sets blank_label='last'.
    """

    use_data_lengths: bool = False
    use_label_lengths: bool = False
    blank_label: str = "first"

    casting = SINGLE
    all_inputs = ("data", "label", "data_lengths", "label_lengths")

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self, "blank_label", "first", "last")

    @property
    def inputs(self) -> tuple[str, ...]:
        """Lengths where they are asked for."""
        steps = ("data_lengths",) if self.use_data_lengths else ()
        letters = ("label_lengths",) if self.use_label_lengths else ()
        return ("data", "label", *steps, *letters)

    @property
    def saves(self) -> tuple[str, ...]:
        """All inputs."""
        return self.inputs

    def infer(self, *specs: Spec) -> Spec:
        """One number for each sample."""
        data, label, *lengths = specs
        same_reals(self.name, ("data",), data)
        if data.ndim != 3 or label.ndim != 2 or label.shape[0] != data.shape[1]:
            raise ShapeError(
                f"CTCLoss: data {data.shape} must be (steps, samples, alphabet) and "
                f"label {label.shape} (samples, letters), for the same samples."
            )
        if label.shape[1] > data.shape[0]:
            raise ShapeError(
                f"CTCLoss: labels of {label.shape[1]} letters cannot be read out of "
                f"{data.shape[0]} steps. Cut the labels' padding, or give more steps."
            )
        for name, spec in zip(self.inputs[2:], lengths, strict=True):
            expect(self.name, name, spec, data.shape[1:2], f"data {data.shape}")
        return data.with_shape(data.shape[1:2])

    def read(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """data, labels, letters, steps and blank as the kernels want them."""
        data, label, *lengths = arrays
        steps, batch, alphabet = data.shape
        first = self.blank_label == "first"
        labels = np.ascontiguousarray(label, np.int64)
        ends = labels == (0 if first else -1)
        counts = np.where(ends.any(1), ends.argmax(1), labels.shape[1])
        if self.use_label_lengths:
            counts = np.minimum(lengths[-1].astype(np.int64), labels.shape[1])
        times = np.full(batch, steps, np.int64)
        if self.use_data_lengths:
            times = np.minimum(times, lengths[0].astype(np.int64))
        return data, labels, counts, times, 0 if first else alphabet - 1

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.operators.kernels.layers.ctc`."""
        losses = find("ctc.losses")

        def run(*arrays: Any) -> None:
            losses(*self.read(arrays[:-1]), arrays[-1])

        return with_half(run, specs)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """One operator, for data."""
        if not at.wants[0]:
            return (None,) * len(at.ins)
        found = bind(CTCLossGradient.of(forward=self), *saved, dout)
        return (found, *(None for _ in at.ins[1:]))

    def cost(self, *specs: Spec) -> Cost:
        """Sums for each place and step, and a softmax."""
        data, label = specs[:2]
        places = data.shape[0] * (2 * label.size + 1)
        return Cost(STEPS * (places + data.size), data.nbytes + label.nbytes)


@register("_backward_ctc_loss")
class CTCLossGradient(Op):
    """The gradient of the data of CTCLoss, from its inputs and that of its output."""

    forward: Any

    differentiable = False
    all_inputs = (*CTCLoss.all_inputs, "dout")

    @property
    def inputs(self) -> tuple[str, ...]:
        """Those of the loss, and the gradient of its output."""
        return (*self.forward.inputs, "dout")

    infer = like_first

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.operators.kernels.layers.ctc`."""
        gradient, forward = find("ctc.gradient"), self.forward

        def run(*arrays: Any) -> None:
            gradient(*forward.read(arrays[:-2]), *arrays[-2:])

        return with_half(run, specs)

    def cost(self, *specs: Spec) -> Cost:
        """Twice the work of the loss."""
        loss: Cost = self.forward.cost(*specs)
        return loss + loss
