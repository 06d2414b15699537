"""What the troubleshooting guide advises, tried on causes that it may be meant for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from minimx_widgets.course.cases.filing import NUMBER, job
from minimx_widgets.course.claims.claim import (
    GUIDE,
    Decision,
    Numbers,
    claim,
    if_true,
    weighed,
)
from minimx_widgets.failures.case import Case
from minimx_widgets.failures.jobs.facts import JobOutcome
from minimx_widgets.failures.jobs.seen import operators
from minimx_widgets.failures.trial import illness, run

SLOW_JOBS: Final = ("store", "batch", "device", "loop")
#: Sizes at which gradients and batches are what a step waits for.
SIZES: Final[Mapping[str, int]] = {"width": 256, "batch": 64}


def cured(faults: Sequence[str], *remedies: str) -> dict[str, bool]:
    """By fault, whether a job with it is healthy with these remedies."""
    cases = {fault: Case(NUMBER, job(fault, **SIZES)) for fault in faults}
    healthy = run(cases[faults[0]], remedies, healthy=True)
    found = {fault: run(case, remedies) for fault, case in cases.items()}
    assert isinstance(healthy, JobOutcome)
    return {
        fault: not illness(seen, healthy)
        for fault, seen in found.items()
        if isinstance(seen, JobOutcome)
    }


def memory_advice(fault: str = "shapes") -> Numbers:
    """Whether either half of an advice is enough against this fault."""
    static, shapes = cured([fault], "static"), cured([fault], "pad")
    return {"static": static[fault], "shapes": shapes[fault]}


@claim(
    "15",
    "Out of memory? “Use static_alloc and limit dynamic shape usage”",
    GUIDE,
    115,
    "virtual",
    memory_advice,
)
def static_or_shapes(static: bool, shapes: bool) -> Decision:
    """Both halves of the advice should keep pools from growing."""
    return (
        weighed([static, shapes], "which half one takes"),
        f"batches of changing shapes: with static_alloc alone the pools "
        f"{'stop' if static else 'go on'} asking for memory, with padded batches they "
        f"{'stop' if shapes else 'go on'}",
    )


def slow_advice(faults: Sequence[str] = SLOW_JOBS) -> Numbers:
    """By cause of a slow job, whether the guide's two remedies together cure it."""
    return {"cured": cured(faults, "nccl", "larger")}


@claim(
    "15",
    "Slow GPUs? “Switch kvstore to 'nccl' and increase batch size per GPU”",
    GUIDE,
    119,
    "virtual",
    slow_advice,
    tolerance="5 % of the images per time",
)
def nccl_and_larger(cured: Mapping[str, bool]) -> Decision:
    """The advice should make a slow job as fast as it was."""
    well = [name for name, good in cured.items() if good]
    badly = [name for name, good in cured.items() if not good]
    return (
        weighed(list(cured.values()), "the cause"),
        f"cured: {', '.join(well) or 'none'}; not cured: {', '.join(badly) or 'none'}",
    )


def divergence(faults: Sequence[str] = ("unsummed", "seeds")) -> Numbers:
    """By cause, how far weights of two nodes are apart at the end."""
    seen = {fault: run(Case(NUMBER, job(fault))) for fault in faults}
    return {
        "apart": {
            fault: one.at_end
            for fault, one in seen.items()
            if isinstance(one, JobOutcome)
        }
    }


@claim(
    "15",
    "“inconsistent weight updates or random seeds can lead to divergence”",
    GUIDE,
    64,
    "measured",
    divergence,
    tolerance="weights equal to 1e-6",
)
def updates_or_seeds(apart: Mapping[str, float]) -> Decision:
    """Nodes with either fault should end with different weights."""
    return (
        weighed([far > 1e-6 for far in apart.values()], "which of the two"),
        "largest difference of a weight at the end: "
        + ", ".join(
            f"{'none' if far <= 1e-6 else f'{far:.1g}'} ({fault})"
            for fault, far in apart.items()
        ),
    )


def exported(fault: str = "loop") -> Numbers:
    """Operators in the exported graphs of a job, with a fault and without it."""
    case = Case(NUMBER, job(fault))
    seen, healthy = run(case), run(case, healthy=True)
    assert isinstance(seen, JobOutcome) and isinstance(healthy, JobOutcome)
    return {"faulty": int(operators(seen)), "healthy": int(operators(healthy))}


@claim(
    "15",
    "If it is slow, “inspect operator compatibility or symbolic execution flow using "
    "exported JSON graphs”",
    GUIDE,
    60,
    "measured",
    exported,
)
def json_graphs(faulty: int, healthy: int) -> Decision:
    """A graph that makes a job slow should look so in its exported file."""
    return (
        if_true(faulty > healthy),
        f"{faulty} operators with a loop of Python in a layer, {healthy} without it",
    )
