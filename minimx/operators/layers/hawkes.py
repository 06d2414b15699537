"""The data sheet of the likelihood of events that excite further events."""

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
from minimx.operators.rules import Gradients, with_half

# Two exponentials and a logarithm, for one event.
STEPS = 60


@register("_contrib_hawkesll")
class HawkesLikelihood(Op):
    """The log likelihood of events, each kind of which brings about more of itself.

    An event of kind k happens at the rate lda[k] + alpha[k] · beta[k] · the sum over
    earlier events of exp(-beta[k] · the time since). lda (N, K), alpha (K,), beta (K,);
    state (N, K): that sum at the start; lags (N, T): the time since the event before;
    marks (N, T): the kinds, whole numbers; valid_length (N,): events that count;
    max_time (N,): how long was watched. out (N,); out1 (N, K): the sum at the end,
    which passes no gradient on, nor do state and times get any.
    """

    casting = SINGLE
    inputs = (
        "lda", "alpha", "beta", "state", "lags", "marks", "valid_length", "max_time",
    )  # fmt: skip
    saves = inputs
    visible = 2
    output_names = ("output", "out_state")

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """A number for each sample, and its state."""
        lda, alpha, beta, state, lags, marks, lengths, times = specs
        same_reals("hawkesll", self.inputs, lda, alpha, beta, state, lags)
        if lda.ndim != 2 or lags.ndim != 2:
            raise ShapeError(
                f"hawkesll: lda {lda.shape} must be (samples, kinds), and lags "
                f"{lags.shape} (samples, events)."
            )
        batch, kinds = lda.shape
        wanted = (
            ("alpha", alpha, (kinds,)), ("beta", beta, (kinds,)),
            ("state", state, lda.shape), ("lags", lags, (batch, lags.shape[1])),
            ("marks", marks, lags.shape), ("valid_length", lengths, (batch,)),
            ("max_time", times, (batch,)),
        )  # fmt: skip
        for name, spec, shape in wanted:
            expect("hawkesll", name, spec, shape, f"lda {lda.shape}")
        return lda.with_shape((batch,)), lda

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.operators.kernels.layers.hawkes`."""
        likelihood = find("hawkes.likelihood")

        def run(*arrays: Any) -> None:
            likelihood(*counted(arrays[:8]), *arrays[8:])

        return with_half(run, specs)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """One operator for the three parameters."""
        found = bind(HawkesGradient.of(), *saved, dout[0])
        return (*found, *(None,) * 5)

    def cost(self, *specs: Spec) -> Cost:
        """For each event."""
        return Cost(STEPS * specs[4].size, sum(spec.nbytes for spec in specs))


def counted(arrays: Sequence[Any]) -> tuple[Any, ...]:
    """The inputs, with whole numbers where things are counted."""
    *rest, marks, lengths, times = arrays
    lengths = np.minimum(lengths.astype(np.int64), marks.shape[1])
    return (*rest, marks.astype(np.int64), lengths, times)


@register("_contrib_backward_hawkesll")
class HawkesGradient(Op):
    """The gradients of lda, alpha and beta of hawkesll.

    inputs: those of hawkesll, and dout (N,); outs (N, K), (K,), (K,)
    """

    inputs = (*HawkesLikelihood.inputs, "dout")
    visible = 3
    differentiable = False

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """The shapes of the parameters."""
        return specs[:3]

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.operators.kernels.layers.hawkes`."""
        gradient = find("hawkes.gradient")

        def run(*arrays: Any) -> None:
            dout, dmu, dalpha, dbeta = arrays[8:]
            each = np.empty((2, *dmu.shape), dmu.dtype)
            gradient(*counted(arrays[:8]), dout, dmu, *each)
            each[0].sum(0, out=dalpha)
            each[1].sum(0, out=dbeta)

        return with_half(run, specs)
