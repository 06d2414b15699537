"""What the documents say of devices, checkpoints and batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import minimx as mx
from minimx import nd
from minimx.core.errors import MXNetError
from minimx_widgets.course.cases.relying import (
    STEPS,
    Mixed,
    Save,
    accuracy,
    crossing,
    equal_losses,
    load_weights,
    save_weights,
    span_us,
    step,
)
from minimx_widgets.course.claims.claim import (
    GUIDE,
    TIPS,
    Decision,
    Numbers,
    claim,
    if_true,
)

SLOWER = 1.1
POINTS = 5  # of accuracy, in percent


def added(first: Any = None, second: Any = None) -> Numbers:
    """What comes of adding arrays on two devices; an error in words, or nothing."""
    a = nd.ones((2,), ctx=first or mx.cpu())
    b = nd.ones((2,), ctx=second or mx.gpu(0))
    try:
        (a + b).wait_to_read()
    except MXNetError as refused:
        return {"error": str(refused).split(". ", maxsplit=1)[0]}
    return {"error": ""}


@claim(
    "rely",
    "“Yes, but you must explicitly assign contexts and manage memory transfers”",
    GUIDE,
    127,
    "measured",
    added,
)
def explicit_contexts(error: str) -> Decision:
    """Arrays of two devices should need an explicit copy."""
    return if_true(bool(error)), error or "the sum was computed without a copy"


def devices(middle: Any = None, batch: int = 64) -> Numbers:
    """Copies and µs of a step with the middle layer elsewhere, and µs without."""
    gpu = mx.gpu(0)
    mixed = step(Mixed([gpu, middle or mx.cpu(), gpu]), batch)
    copies, nbytes = crossing(mixed)
    pinned = span_us(step(Mixed([gpu] * 3), batch))
    return {"copies": copies, "nbytes": nbytes, "factor": span_us(mixed) / pinned}


@claim(
    "rely",
    "“Mixing devices without care causes silent performance degradation”",
    GUIDE,
    127,
    "virtual",
    devices,
    tolerance="from 1.1 times as long on",
)
def mixing_is_slower(copies: int, nbytes: int, factor: float) -> Decision:
    """A layer on another device should make a step slower, without a word."""
    return (
        if_true(factor > SLOWER),
        f"{copies} copies of {nbytes // 1024} KiB in all, and a step takes "
        f"{factor:.1f} times as long; nothing warns",
    )


def restarts(save: Save = save_weights, load: Save = load_weights) -> Numbers:
    """How many losses are the same after a restart."""
    return {"same": equal_losses(save, load)}


@claim(
    "rely",
    "“checkpoint-based recovery”",
    GUIDE,
    97,
    "measured",
    restarts,
)
def checkpoints_recover(same: int) -> Decision:
    """A training run should go on from a checkpoint as if nothing had happened."""
    return (
        if_true(same == STEPS, badly="depends on what is saved"),
        f"from a checkpoint of weights alone, {same} of {STEPS} losses are those of a "
        "run with momentum that never stopped; with `trainer.save_states` all are",
    )


def learnt(batches: Sequence[int] = (32, 1024)) -> Numbers:
    """Steps and accuracy, in percent, of three epochs, by batch size."""
    return {"found": {batch: accuracy(batch) for batch in batches}}


@claim(
    "rely",
    "“A value that's too large can slow down convergence”",
    TIPS,
    283,
    "measured",
    learnt,
    tolerance="from 5 points of accuracy on",
)
def large_batches_learn_less(found: dict[int, tuple[int, float]]) -> Decision:
    """Training on the same images with larger batches should learn less."""
    rights = [right for _, right in found.values()]
    return (
        if_true(rights[0] > rights[-1] + POINTS),
        "three epochs at one rate: "
        + "; ".join(
            f"batch {batch}, {steps} steps, about {round(right, -1):.0f} % right"
            for batch, (steps, right) in found.items()
        ),
    )
