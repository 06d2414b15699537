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
from minimx_widgets.failures import program
from minimx_widgets.failures.case import Case, known
from minimx_widgets.failures.causes import CAUSES, REMEDIES
from minimx_widgets.failures.jobs import program as job
from minimx_widgets.failures.jobs.facts import JobFacts, JobOutcome
from minimx_widgets.failures.jobs.seen import EQUAL
from minimx_widgets.failures.program import Outcome

#: Losses count as equal if their mean distance is at most this share of their mean.
CLOSE: Final = 1e-3
#: A job is slow from this share of the healthy one's images per time on downwards.
SLOW: Final = 0.95

Seen = Outcome | JobOutcome


def run(case: Case, fixes: Sequence[str] = (), **options: bool) -> Seen:
    """Run the program of a case. options: of its `run`, such as healthy=True."""
    if isinstance(case.facts, JobFacts):
        return job.run(case.facts, fixes, **options)
    return program.run(case.facts, fixes, **options)


def complaint(case: Case, seen: Seen) -> str:
    """The first sign of illness of a run without remedies; empty for none."""
    if isinstance(case.facts, JobFacts):
        return illness(seen, run(case, healthy=True))
    return ""


@dataclass(frozen=True)
class Trial:
    """What came of running a case with remedies: healthy or not, and by what sign."""

    remedies: tuple[str, ...]
    healthy: bool
    sign: str
    outcome: Seen

    def __repr__(self) -> str:
        mark = "✔ healthy" if self.healthy else "✘ still ill"
        with_ = " + ".join(self.remedies) or "nothing changed"
        return f"{mark} with {with_}: {self.sign}"


def tried(case: Case, remedies: Collection[str] = ()) -> Trial:
    """Run a case with remedies, and the same program without the fault; compare.

    Raises `ArgumentError` for a remedy that is none.
    """
    offered = REMEDIES[case.program]
    for name in remedies:
        if name not in offered:
            near = did_you_mean(name, offered)
            raise ArgumentError(
                f"there is no remedy {name!r} for this program.{near} "
                f"{', '.join(offered)}."
            )
    fixes = tuple(name for name in offered if name in remedies)
    outcome, wanted = run(case, fixes), run(case, fixes, healthy=True)
    sign = illness(outcome, wanted)
    text = f"the loss ends at {outcome.last_loss:.3g}, as it should"
    return Trial(fixes, not sign, sign or text, outcome)


def illness(seen: Seen, wanted: Seen) -> str:
    """The first sign of illness of a run; empty for a healthy one.

    wanted: the run of the same program without the fault.
    """
    if seen.error:
        return f"step {seen.ended} ends with {seen.error.split(':')[0]}"
    bad = [step for step, loss in seen.losses.items() if not math.isfinite(loss)]
    if bad:
        return f"the loss of step {bad[0]} is {seen.losses[bad[0]]}"
    if isinstance(seen, JobOutcome) and isinstance(wanted, JobOutcome):
        sign, what = _illness_of_job(seen, wanted), "job"
    elif isinstance(seen, Outcome):
        sign, what = _illness_of_training(seen), "program"
    else:
        raise TypeError("the two runs are of different programs")
    if not sign and not distance(seen, wanted) <= CLOSE:
        return (
            f"the losses end at {seen.last_loss:.3g}, those of the healthy {what} at "
            f"{wanted.last_loss:.3g}"
        )
    return sign


def _illness_of_training(seen: Outcome) -> str:
    nonfinite = [row["name"] for row in seen.parameters if not row["finite"]]
    if nonfinite:
        return f"{nonfinite[0]} is not finite at the end"
    still = [row["name"] for row in seen.parameters if not row["moved"]]
    if still:
        return f"{len(still)} of {len(seen.parameters)} parameters never moved"
    return ""


def _illness_of_job(seen: JobOutcome, wanted: JobOutcome) -> str:
    if wanted.error:
        return f"without the fault it ends with {wanted.error.split(':')[0]}"
    if seen.at_end > EQUAL:
        return f"at the end the weights of the nodes differ by up to {seen.at_end:.2g}"
    if seen.images_per_ms < SLOW * wanted.images_per_ms:
        return (
            f"{seen.images_per_ms:,.0f} images a millisecond of virtual time, where "
            f"the healthy job has {wanted.images_per_ms:,.0f}"
        )
    if seen.late_mallocs > wanted.late_mallocs:
        last = seen.steps[-1]
        return (
            f"the GPUs are still asked for memory in the last third of the run, and "
            f"{last['reserved'] / 1024:,.0f} KiB are reserved for "
            f"{last['used'] / 1024:,.0f} in use"
        )
    return ""


def distance(one: Seen, other: Seen) -> float:
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
    step: int | None
    if isinstance(facts, JobFacts):
        layer = f"dense{facts.place}" if facts.fault == "device" else None
        step = facts.saved if facts.fault == "restart" else None
        return Truth(facts.fault, layer, step)
    layer = {
        "async": "table",
        "stale": f"hidden{facts.root}",
        "empty": "normalise",
        "slope": f"root{facts.root}",
        "cast": f"gate{facts.gate}",
        "mixed": f"hidden{facts.gate}",
    }.get(facts.fault)
    step = None
    if facts.fault in ("async", "empty"):
        step = facts.at
    elif facts.fault == "rate":
        watch = program.run(facts, watch=True).watch
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
    known(cause)
    right = truth(case)
    if cause != right.cause:
        return Verdict(
            False,
            f"Not that: if it were, {CAUSES[cause].sign} Look at "
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
