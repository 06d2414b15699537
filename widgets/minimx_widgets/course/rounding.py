"""Notebook 11: numbers of two bytes, and the scale that keeps gradients among them.

`running_sum` adds as a loop does, in one type. `replay` sends a stream of gradients
through the real `amp.LossScaler` with any policy, without training anything; the checks
do so with the learner's, and take real steps with the learner's way of clipping.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

import minimx as mx
from minimx import amp, gluon, nd
from minimx.amp.loss_scaler import LossScaler, Policy, doubling
from minimx.core import autograd
from minimx_widgets.course.parts.checks import Feedback, check
from minimx_widgets.course.parts.text import code
from minimx_widgets.course.same.narrow import mixed

#: The largest number of float16.
LARGEST = 65504.0
START = 65536.0
CAP = 2.0**24
WINDOW = 2000
#: Operations that clipping may cost, besides those of the step.
CLIP_OPERATIONS = 24

SENTENCE = (
    "Small gradients vanish because float16 has no numbers below 6e-8; multiplying the "
    "loss moves all gradients up by the same factor, and the update divides by it in "
    "float32, where the small numbers exist."
)


def running_sum(numbers: Iterable[float], dtype: str = "float16") -> float:
    """The sum of numbers, added one after the other in one type."""
    kind = np.dtype(dtype).type
    total = kind(0)
    for number in numbers:
        total = kind(total + kind(number))
    return float(total)


# -- loss scales -----------------------------------------------------------------------


class Step(NamedTuple):
    """One step: what its loss was multiplied by, and whether a gradient overflowed."""

    scale: float
    overflow: bool


def replay(
    policy: Policy, largest: Iterable[float], at_once: bool = False
) -> list[Step]:
    """What a policy does with a stream of gradients.

    largest: of every step the largest gradient, not scaled. The scaler is the real one:
    a decision acts two steps later. at_once: as textbooks have it, in the next step.
    """
    scaler, steps = LossScaler(policy=policy), []
    scale, good = START, 0
    for gradient in largest:
        used = scale if at_once else scaler.loss_scale
        overflow = bool(used * gradient > LARGEST)
        steps.append(Step(used, overflow))
        scaler.update(overflow)
        scale, good = policy(scale, good, overflow)
    return steps


def skipped(steps: Sequence[Step]) -> int:
    """How many steps changed no weight."""
    return sum(step.overflow for step in steps)


def step_rows(steps: Sequence[Step]) -> list[tuple[str, str, str]]:
    """Rows of a table: steps that are alike one after the other are one row."""
    rows, first = [], 1
    for step, run in itertools.groupby(steps):
        last = first + len(list(run)) - 1
        span = str(first) if last == first else f"{first} to {last}"
        rows.append(
            (span, f"{step.scale:,.0f}", "skipped" if step.overflow else "good")
        )
        first = last + 1
    return rows


#: (name, largest gradients): what a policy is tried with.
STREAMS: tuple[tuple[str, tuple[float, ...]], ...] = (
    ("the largest gradient is 3.0", (3.0,) * 10),
    ("4,500 small ones", (1e-3,) * 4500),
    ("one overflow after 1,999 good steps", (1e-3,) * 1999 + (9.0,) + (1e-3,) * 2100),
    ("very small ones, for a long time", (1e-6,) * 20_000),
)


@check
def check_policy(policy: Policy) -> Feedback:
    """Whether a policy makes exactly the trace that MXNet's makes.

    One that is MXNet's, or asks it, is no solution.
    """
    if _borrowed(policy):
        return Feedback(
            False,
            "this asks `doubling`, which is the rule itself",
            "the rule in your own lines",
            "what happens to the scale and to the count after a good step, and after "
            "an overflow",
        )
    feedback = _first_answers(policy)
    if feedback:
        return feedback
    for name, largest in STREAMS:
        seen, wanted = replay(policy, largest), replay(doubling, largest)
        for k, (mine, theirs) in enumerate(zip(seen, wanted, strict=True), 1):
            if mine != theirs:
                return Feedback(
                    False,
                    f"{name}: in step {k:,} your scale is {mine.scale:,.0f}",
                    f"{theirs.scale:,.0f}",
                    _idea(name),
                )
    count = sum(len(largest) for _, largest in STREAMS)
    return Feedback(True, f"the same scale as MXNet's in all of {count:,} steps")


def _borrowed(policy: Any) -> bool:
    """Whether a policy is MXNet's, or a function that has it by any name."""
    code = getattr(policy, "__code__", None)
    if code is None:
        return policy is doubling
    cells = [cell.cell_contents for cell in policy.__closure__ or ()]
    used = [policy.__globals__.get(name) for name in code.co_names]
    borrowed = any(each is doubling for each in (policy, *cells, *used))
    return borrowed or "doubling" in code.co_names  # as in loss_scaler.doubling(...)


def _first_answers(policy: Policy) -> Feedback | None:
    for scale, good, overflow in ((1024.0, 5, True), (1024.0, 5, False)):
        found: Any = policy(scale, good, overflow)
        wanted = doubling(scale, good, overflow)
        if Ellipsis in (found if isinstance(found, tuple) else (found,)):
            return Feedback(False, "a `...` is still there", "a number in its place")
        if not isinstance(found, tuple) or len(found) != 2:
            return Feedback(
                False,
                f"it returned {found!r}",
                "two numbers: the scale, the good steps",
            )
        if found != wanted:
            return Feedback(
                False,
                f"after ({scale:g}, {good}, overflow={overflow}) it returned {found}",
                f"{wanted}",
                "an overflow halves, and the count of good steps begins again"
                if overflow
                else "a good step is counted, and changes nothing yet",
            )
    return None


def _idea(stream: str) -> str:
    if "overflow after" in stream:
        return "*in a row*: an overflow sets the count of good steps back to 0"
    if "long time" in stream:
        return "the largest scale is 2**24"
    return "the 2,000th good step in a row doubles, and the count begins again"


# -- clipping --------------------------------------------------------------------------

LIMIT = 2.5  # half of the length of the gradient below
Clipped = Callable[[Any, list[Any], float], None]


def one_step(clip: Clipped, kind: str = "float16", scale: float = 256.0) -> Any:
    """What a step takes from weights whose gradient is (3, 4); 1.0 is the rate.

    clip(trainer, gradients, limit) is called between backward and step. In float32 it
    is handed a trainer without a scaler.
    """
    with mixed(kind) as scaled, mx.Record() as record:
        trainer, weight = _backward(scale if scaled else None)
        before = len(record.ops()["name"])
        clip(trainer, [weight.grad()], LIMIT)
        mx.nd.waitall()
        operations = len(record.ops()["name"]) - before
        trainer.step(1)
        return -weight.data().asnumpy()[0], operations


def _backward(scale: float | None) -> tuple[Any, Any]:
    net = gluon.nn.Dense(1, in_units=2, use_bias=False)
    net.initialize(mx.init.Zero())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})
    x = nd.array([[3.0, 4.0]])
    if scale is None:
        with autograd.record():
            loss = net(x)
        loss.backward()
    else:
        amp.init_trainer(trainer, LossScaler(init_scale=scale))
        with autograd.record():
            loss = net(x).astype("float32")
            with amp.scale_loss(loss, trainer) as scaled:
                pass
        scaled.backward()
    return trainer, net.weight


def clip_too_early(trainer: Any, gradients: list[Any], limit: float) -> None:
    """The bug: what is clipped is still multiplied by the scale."""
    gluon.utils.clip_global_norm(gradients, limit)


@check
def check_clip(clip: Clipped) -> Feedback:
    """Whether a step under a loss scale is the clipped step of float32."""
    wanted = np.array([1.5, 2.0])
    for scale in (256.0, 1024.0):
        taken, operations = one_step(clip, scale=scale)
        if not np.allclose(taken, wanted, rtol=1e-3):
            seen = np.float64(taken).round(5).tolist()
            return Feedback(
                False,
                f"with the scale {scale:g} the step is {seen}",
                f"{wanted.tolist()}, as in float32",
                _what_went_wrong(taken, scale),
            )
    if operations > CLIP_OPERATIONS:
        return Feedback(
            False,
            f"right, with {operations} operations",
            f"{CLIP_OPERATIONS} at most",
            "one pass divides, one measures, one clips",
        )
    return Feedback(True, f"the step of float32, with {operations} operations")


def _what_went_wrong(taken: Any, scale: float) -> str:
    length = math.hypot(*taken)
    if math.isclose(length, LIMIT / scale, rel_tol=0.01):
        return "what was clipped was divided by the scale afterwards"
    if math.isclose(length, 5.0, rel_tol=0.01):
        return "nothing was clipped: the gradients are [3, 4], of length 5"
    if math.isclose(length, 5.0 / scale, rel_tol=0.01):
        return "they were divided by the scale twice: which other call divides?"
    if math.isclose(length, LIMIT * scale, rel_tol=0.01):
        return "the step did not divide: which scale does the trainer use?"
    return "first divide by the scale, then clip, then step"


POLICY_HINTS = (
    "What does the function answer after an overflow, whatever came before?",
    "Two things happen when the 2,000th good step in a row was taken: look at what is "
    "counted, too.",
    "After an overflow:" + code("return scale / 2, 0") + "The largest scale is a "
    "matter of <code>min</code>.",
)
CLIP_HINTS = (
    "Which numbers does <code>clip_global_norm</code> see in the program above?",
    "<code>amp</code> has a function that divides the gradients now, and tells the "
    "trainer that it did.",
    code("amp.unscale(trainer)") + "Where does it have to stand?",
)
