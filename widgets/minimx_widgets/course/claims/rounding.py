"""What the troubleshooting guide says of mixed precision (notebook 11)."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

import minimx as mx
from minimx import amp, gluon
from minimx.core import autograd
from minimx_widgets.course.claims.claim import (
    GUIDE,
    Decision,
    Numbers,
    claim,
    if_true,
    weighed,
)
from minimx_widgets.course.same.narrow import ALLOWED, faint, recorded_types

WORSE = 1.06  # of the loss of float32


def unscaled(kind: str = "float16", scaled: bool = False) -> Numbers:
    """An autoencoder in a narrow type and in float32: zeros by layer, loss by loss."""
    narrow, wide = faint(kind, scaled), faint("float32", scaled=False)
    losses = [statistics.mean(one.losses[-10:]) for one in (narrow, wide)]
    return {"zeros": narrow.flushed, "ratio": losses[0] / losses[1]}


@claim(
    "11",
    "“failing to cast weights or loss functions correctly can silently lead to model "
    "divergence”",
    GUIDE,
    44,
    "measured",
    unscaled,
    tolerance="a loss 1.06 times that of float32 is worse",
)
def silent_divergence(zeros: Sequence[float], ratio: float) -> Decision:
    """Without a loss scale training should go wrong, and say nothing."""
    dead = sum(share > 0.99 for share in zeros)
    return (
        if_true(ratio > WORSE and dead > 0),
        f"{dead} of {len(zeros)} layers learnt nothing, with gradients of zero and no "
        "message. No cast was forgotten, though: the scale was missing",
    )


def guides_program(with_the_line: bool = False) -> Numbers:
    """What the program of the guide raises, without or with the line that it omits."""
    amp.shutdown()
    amp.init()
    try:
        net = gluon.nn.Dense(1, in_units=2)
        net.initialize()
        trainer = gluon.Trainer(net.collect_params(), "sgd", update_on_kvstore=False)
        if with_the_line:
            amp.init_trainer(trainer)
        with autograd.record():
            loss = net(mx.nd.ones((1, 2)))
            with amp.scale_loss(loss, trainer) as scaled:
                scaled.backward()
    except Exception as refusal:  # which one is the evidence
        return {"refusal": type(refusal).__name__}
    finally:
        amp.shutdown()
    return {"refusal": ""}


@claim(
    "11",
    "“amp.init() … with amp.scale_loss(loss_fn(output, label), trainer) as "
    "scaled_loss:”",
    GUIDE,
    46,
    "measured",
    guides_program,
    last=50,
)
def guide_runs(refusal: str) -> Decision:
    """The program should run as it stands there."""
    return (
        if_true(not refusal),
        f"it is refused with {refusal}, as in MXNet 1.x: a line is missing, "
        "<code>amp.init_trainer(trainer)</code>"
        if refusal
        else "with <code>amp.init_trainer(trainer)</code> it runs",
    )


def accuracies() -> Numbers:
    """By how much LeNet's mean accuracy of three seeds differs from float32's."""
    types = recorded_types()
    return {"apart": {kind: types.gained(kind) for kind in ("float16", "bfloat16")}}


@claim(
    "11",
    "“Always test numerical integrity post-AMP conversion”",
    GUIDE,
    97,
    "measured",
    accuracies,
    tolerance="0.3 points of accuracy",
)
def as_accurate(apart: Mapping[str, float]) -> Decision:
    """After the conversion a network should be as accurate as before it."""
    most = max(map(abs, apart.values()))
    return (
        if_true(most <= ALLOWED),
        f"for LeNet: accuracy within {100 * most:.2f} points of float32 over three "
        "seeds, in a recorded run",
    )


def without_a_scale() -> Numbers:
    """The last loss without a loss scale, by that of float32, for both types."""
    last = {case: statistics.mean(one) for case, one in recorded_types().last.items()}
    narrow = {"float16": last["float16, not scaled"], "bfloat16": last["bfloat16"]}
    return {"ratios": {kind: one / last["float32"] for kind, one in narrow.items()}}


@claim(
    "11",
    "AMP is stable “only when all layers, loss functions, and gradient scaling are "
    "properly configured”",
    GUIDE,
    123,
    "measured",
    without_a_scale,
    tolerance="a loss 1.06 times that of float32 is worse",
)
def needs_scaling(ratios: Mapping[str, float]) -> Decision:
    """Without gradient scaling each narrow type should learn worse."""
    worse = {kind: ratio > WORSE for kind, ratio in ratios.items()}
    return (
        weighed(list(worse.values()), "the type"),
        "the autoencoder's last loss without a scale, by that of float32, in a "
        "recorded run: "
        + ", ".join(f"{kind} {ratio:.2f}" for kind, ratio in ratios.items()),
    )
