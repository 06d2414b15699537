"""Every probe has a number that may be predicted, and each cause moves it."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable

import pytest

from minimx.core.errors import ArgumentError
from minimx_widgets.failures import CAUSES, JOB, PROBES, draw, truth
from minimx_widgets.failures.evidence import table
from minimx_widgets.failures.jobs.facts import JobOutcome
from minimx_widgets.failures.probes import Prediction, number_in, predicted
from minimx_widgets.failures.trial import illness, run

JOBS = [one.name for one in CAUSES.values() if one.program == JOB]
#: By cause, what only a job with it shows.
SIGNS: dict[str, Callable[[JobOutcome], bool]] = {
    "device": lambda seen: ("dense", "cpu") in _where(seen),
    "loop": lambda seen: max(_sizes(seen)) >= 80,
    "store": lambda seen: any(_to_host(seen)),
    "shapes": lambda seen: seen.late_mallocs > 0,
}


@functools.cache
def outcome(fault: str) -> JobOutcome:
    """Of one size of job, with a fault or healthy."""
    case = draw(4, fault or "loop")
    alone = fault not in ("", "restart")
    seen = run(case, (), healthy=not fault, compared=not alone)
    assert isinstance(seen, JobOutcome)
    if alone:
        seen.unbroken = seen.losses
    return seen


def _where(seen: JobOutcome) -> set[tuple[str, str]]:
    return {(layer[:5], device[:3]) for layer, device in seen.computed}


def _sizes(seen: JobOutcome) -> list[int]:
    return [sum(ops.values()) for ops in seen.operators.values()]


def _to_host(seen: JobOutcome) -> list[bool]:
    return [to == "host" and bool(key) for _, _, to, key in seen.copies]


@pytest.mark.parametrize("fault", JOBS)
def test_a_job_has_evidence_with_a_number_and_a_complaint(fault: str) -> None:
    seen, healthy = outcome(fault), outcome("")
    for probe in PROBES[JOB].values():
        shown = probe.look(seen)
        json.dumps(shown, allow_nan=False)
        assert len(table(shown).rows) >= 1
        assert math.isfinite(probe.number(seen))
        assert probe.question.endswith("?") and probe.cost > 0
    assert illness(seen, healthy) and not illness(healthy, healthy)
    for name, sign in SIGNS.items():
        assert not sign(healthy), name
        assert sign(seen) == (name == fault), name
    assert PROBES[JOB]["nodes"].number(healthy) == len(healthy.steps)
    assert PROBES[JOB]["restart"].number(healthy) == len(healthy.steps)


def test_what_the_numbers_of_a_job_say() -> None:
    restart, unsummed = outcome("restart"), outcome("unsummed")
    right = truth(draw(4, "restart"))
    assert right.step is not None
    assert PROBES[JOB]["restart"].number(restart) == right.step + 1
    assert PROBES[JOB]["nodes"].number(unsummed) == 0 < unsummed.at_end
    assert unsummed.apart == 0
    assert outcome("seeds").apart > 0.01


@pytest.mark.parametrize(
    ("fault", "probe", "number"),
    [
        ("added", "message", 0),
        ("mixed", "message", 3),
        ("empty", "timeline", 0),
        ("added", "map", None),
        ("clip", "norms", 0),
    ],
)
def test_numbers_of_a_training(fault: str, probe: str, number: float | None) -> None:
    case = draw(4, fault)
    one = PROBES["training"][probe]
    seen = run(case, (), **one.wants)
    assert one.number(seen) == (case.facts.steps if number is None else number)


def test_a_bad_sample_ends_what_is_finite_and_a_worker_s_error_is_counted() -> None:
    case = draw(4, "empty")
    finite = PROBES["training"]["map"]
    assert finite.number(run(case, watch=True)) == truth(case).step
    failed = PROBES["training"]["timeline"]
    assert failed.number(run(draw(4, "async"), record=True)) > 5


@pytest.mark.parametrize(
    ("said", "seen", "right"),
    [(10, 10, True), (11, 10, True), (11.5, 10, False), (0, 0, True), (1, 0, False)],
)
def test_a_prediction_is_right_to_a_tenth(
    said: float, seen: float, right: bool
) -> None:
    one = Prediction(said, seen, "steps")
    assert one.right is right
    assert repr(one).startswith("✔" if right else "✘")


def test_predictions_are_read_as_people_write_them() -> None:
    one = PROBES[JOB]["copies"]
    assert number_in(one, "1 MiB") == 1024
    assert number_in(one, 12) == 12
    for text in ("", "many", "3-4", True):
        with pytest.raises(ArgumentError, match="nothing ran"):
            number_in(one, text)
    seen = outcome("store")
    assert predicted(one, seen.kib * 1.05, seen).right
