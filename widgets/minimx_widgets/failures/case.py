"""A case of the failure lab: what is wrong with a training, to be found by evidence.

Pure descriptions. `CAUSES` is what may be wrong, `REMEDIES` what one may try; every
case offers all of them. Which remedy helps stands nowhere: the lab runs the program
with it, and looks.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

from minimx.core.errors import ArgumentError, did_you_mean
from minimx_widgets.failures.program import Facts


@dataclass(frozen=True)
class Cause:
    """Something that goes wrong in trainings.

    asks: what has to be named besides the cause: "layer", "step" or both. says: what
    happened, shown when the case is solved. look: which evidence tells it from others.
    """

    name: str
    text: str
    asks: tuple[str, ...]
    look: str
    says: str


CAUSES: Final = {
    cause.name: cause
    for cause in (
        Cause(
            "async",
            "an operation raised on a worker",
            ("layer", "step"),
            "the timeline: the first operation that failed, not the line that waited",
            "The kernel raised on a worker. Nobody waited there, so the exception "
            "travelled with the result, through everything computed from it, until a "
            "loss was read.",
        ),
        Cause(
            "stale",
            "parameters are cut off from the loss",
            ("layer",),
            "the parameters: whose gradient no backward filled, and which never moved",
            "detach() ends the tape. The parameters before it get no gradient, and "
            "ignore_stale_grad=True silenced the warning that says so.",
        ),
        Cause(
            "added",
            "gradients of earlier steps are added",
            (),
            "the parameters: their grad_req, and how the gradients' norm grows",
            "grad_req='add' sums over steps until somebody zeroes the gradients, and "
            "nobody did.",
        ),
        Cause(
            "empty",
            "0 / 0: an empty sample is normalised",
            ("layer", "step"),
            "the finite map: the first bad cell, and whether its inputs were finite",
            "A sample of zeros has a mean square of 0, and 0 / 0 is NaN. One bad row "
            "spoils the loss, the gradients, and with them all weights.",
        ),
        Cause(
            "slope",
            "the slope of a square root at 0",
            ("layer",),
            "the finite map: the first bad cell is in the backward half",
            "The root of 0 is 0, but its slope is infinite: forward all is well, and "
            "backward 1/(2·0) meets the gradient.",
        ),
        Cause(
            "rate",
            "the learning rate is too high",
            ("step",),
            "the finite map: magnitudes grow from step to step before they overflow",
            "Each step overshoots by more than the last one, until float32 ends at "
            "3.4e38.",
        ),
        Cause(
            "cast",
            "a cast to float32 is missing before exp or a sum",
            ("layer",),
            "the finite map: the first bad operation's type, and its finite inputs",
            "float16 ends at 65,504, and exp(11.1) is more than that. In float32 the "
            "same numbers are small.",
        ),
        Cause(
            "mixed",
            "two element types meet in one operation",
            ("layer",),
            "the message: which types it names, and who called",
            "One layer was left out when the network was cast to float16. Operators do "
            "not guess which of two types was meant.",
        ),
        Cause(
            "clip",
            "gradients are clipped before they are unscaled",
            (),
            "the norms: the gradients' norm when they were clipped, beside the scale",
            "The limit was compared with gradients times the loss scale, and the step "
            "then divided by the scale: weights move by a 65,536th of it.",
        ),
    )
}

REMEDIES: Final = {
    "data": "repair the data: mend rows without content and numbers out of range",
    "eps": "add a small number under roots and divisors",
    "rate": "set the learning rate back to its usual value",
    "faster": "raise the learning rate tenfold",
    "zero": "zero the gradients before each backward",
    "write": "set grad_req to 'write'",
    "attach": "take detach() out of the network",
    "cast": "compute exponentials and their sums in float32",
    "match": "cast every layer and the data to one type",
    "unscale": "unscale the gradients before they are clipped",
    "clip": "clip the gradients at norm 1",
    "naive": "run under NaiveEngine",
    "wait": "read the loss in every step",
}


@dataclass(frozen=True)
class Case:
    """A sealed case: a number that anybody may share, and what is behind it."""

    number: int
    facts: Facts

    def __repr__(self) -> str:
        return f"Case({self.number})"


def draw(number: int, fault: str | None = None) -> Case:
    """The case of a number: its cause, sizes and places. The same everywhere.

    fault: a cause by name, to practise with; otherwise the number decides.
    Raises `ArgumentError` for a cause that is none.
    """
    if fault is not None and fault not in CAUSES:
        near = did_you_mean(fault, CAUSES)
        raise ArgumentError(f"there is no cause {fault!r}.{near} {', '.join(CAUSES)}.")
    dice = random.Random(f"case {number}")
    chosen = dice.choice(list(CAUSES))
    fault = fault or chosen
    depth = dice.randint(3, 5)
    root, gate = dice.sample(range(1, depth), 2)
    every = dice.randint(3, 5)
    # Bad data come in a step whose loss is not read at once.
    at = every * dice.randint(1, 2) + dice.randrange(every - 1)
    # Loss scaling skips steps that are not finite, and so hides such faults.
    precision = {"cast": "float16", "mixed": "float16", "clip": "amp"}.get(fault, "")
    if fault == "stale":
        precision = dice.choice(["float32", "amp"])
    facts = Facts(
        fault=fault,
        depth=depth,
        width=dice.choice([8, 12, 16, 24]),
        batch=dice.choice([8, 16, 24, 32]),
        steps=4 * every,
        root=root,
        gate=gate,
        at=at,
        every=every,
        rate=dice.choice([0.02, 0.03, 0.05]),
        sharp=float(dice.randint(14, 40)) if fault == "cast" else 1.0,
        precision=precision or "float32",
        seed=dice.randrange(10**6),
    )
    return Case(number, facts)
