"""Judging: whether an edited program is healthy, and whether a cause was named rightly.

A program is healthy if it does what its settings promise: it ends without an error, all
numbers are finite, every parameter learns, and its losses are those of the same program
without the fault. No list says which remedy cures what.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from minimx.core.errors import ArgumentError, did_you_mean
from minimx_widgets.failures.case import CAUSES, REMEDIES, Case
from minimx_widgets.failures.program import Outcome, run

#: Losses count as equal if their mean distance is at most this share of their mean.
CLOSE: Final = 1e-3


@dataclass(frozen=True)
class Trial:
    """What came of running a case with remedies: healthy or not, and by what sign."""

    remedies: tuple[str, ...]
    healthy: bool
    sign: str
    outcome: Outcome

    def __repr__(self) -> str:
        mark = "✔ healthy" if self.healthy else "✘ still ill"
        with_ = " + ".join(self.remedies) or "nothing changed"
        return f"{mark} with {with_}: {self.sign}"


def tried(case: Case, remedies: Collection[str] = ()) -> Trial:
    """Run a case with remedies, and the same program without the fault; compare.

    Raises `ArgumentError` for a remedy that is none.
    """
    for name in remedies:
        if name not in REMEDIES:
            near = did_you_mean(name, REMEDIES)
            raise ArgumentError(
                f"there is no remedy {name!r}.{near} {', '.join(REMEDIES)}."
            )
    fixes = tuple(name for name in REMEDIES if name in remedies)
    outcome = run(case.facts, fixes)
    sign = _illness(outcome, run(case.facts, fixes, healthy=True))
    text = f"the loss ends at {outcome.last_loss:.3g}, as it should"
    return Trial(fixes, not sign, sign or text, outcome)


def _illness(seen: Outcome, wanted: Outcome) -> str:
    """The first sign of illness; empty for a healthy run."""
    if seen.error:
        return f"step {seen.ended} ends with {seen.error.split(':')[0]}"
    bad = [step for step, loss in seen.losses.items() if not math.isfinite(loss)]
    if bad:
        return f"the loss of step {bad[0]} is {seen.losses[bad[0]]}"
    nonfinite = [row["name"] for row in seen.parameters if not row["finite"]]
    if nonfinite:
        return f"{nonfinite[0]} is not finite at the end"
    still = [row["name"] for row in seen.parameters if not row["moved"]]
    if still:
        return f"{len(still)} of {len(seen.parameters)} parameters never moved"
    away = distance(seen, wanted)
    if not away <= CLOSE:
        return (
            f"the losses end at {seen.last_loss:.3g}, those of the healthy program at "
            f"{wanted.last_loss:.3g}"
        )
    return ""


def distance(one: Outcome, other: Outcome) -> float:
    """How far the losses of two runs are apart, as a share of the second one's."""
    if list(one.losses) != list(other.losses) or not other.losses:
        return math.inf
    total = sum(map(abs, other.losses.values()))
    return sum(abs(one.losses[k] - other.losses[k]) for k in other.losses) / total


@dataclass(frozen=True)
class Truth:
    """What is to be named; None where a case does not ask."""

    cause: str
    layer: str | None = None
    step: int | None = None


def truth(case: Case) -> Truth:
    """The right answer. The step of an overflow is found by looking."""
    facts = case.facts
    layer = {
        "async": "table",
        "stale": f"hidden{facts.root}",
        "empty": "normalise",
        "slope": f"root{facts.root}",
        "cast": f"gate{facts.gate}",
        "mixed": f"hidden{facts.gate}",
    }.get(facts.fault)
    step: int | None = None
    if facts.fault in ("async", "empty"):
        step = facts.at
    elif facts.fault == "rate":
        watch = run(facts, watch=True).watch
        assert watch is not None and watch.first is not None
        step = watch.first.step
    return Truth(facts.fault, layer, step)


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is right, and if not, where to look next."""

    right: bool
    text: str

    def __repr__(self) -> str:
        return f"{'✔' if self.right else '✘'} {self.text}"


def judged(
    case: Case, cause: str, layer: str | None = None, step: int | None = None
) -> Verdict:
    """Compare an answer with the truth; a wrong one gets the next hint.

    Raises `ArgumentError` for a cause that is none.
    """
    if cause not in CAUSES:
        near = did_you_mean(cause, CAUSES)
        raise ArgumentError(f"there is no cause {cause!r}.{near} {', '.join(CAUSES)}.")
    right = truth(case)
    if cause != right.cause:
        return Verdict(
            False,
            f"Not that: if it were, {_sign_of(cause)} Look at "
            f"{CAUSES[right.cause].look.split(':')[0]} again.",
        )
    asks: Sequence[str] = CAUSES[cause].asks
    if "layer" in asks and layer != right.layer:
        question = "Which layer?" if layer is None else f"It is not {layer}."
        return Verdict(
            False, f"The cause is right. {question} See {CAUSES[cause].look}."
        )
    if "step" in asks and step != right.step:
        question = "In which step?" if step is None else f"It is not step {step}."
        return Verdict(
            False, f"The cause is right. {question} See {CAUSES[cause].look}."
        )
    return Verdict(True, CAUSES[cause].says)


def _sign_of(cause: str) -> str:
    """What one would see if a cause were the right one."""
    return {
        "async": "the record would hold operations that failed.",
        "stale": "parameters would end with the bits that they began with.",
        "added": "a parameter would have grad_req='add'.",
        "empty": "the first bad operation would divide, in forward.",
        "slope": "the first bad operation would be in the backward half.",
        "rate": "magnitudes would grow for steps before the first overflow.",
        "cast": "the first bad operation would compute in float16.",
        "mixed": "an error would name two types.",
        "clip": "the loss would be scaled, and the clipped norm far above the limit.",
    }[cause]
