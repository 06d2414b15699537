"""Notebook 15: the numbers of its cards, and its exercises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from minimx_widgets.course.cases import filing
from minimx_widgets.failures import CAUSES, JOB, draw


def test_the_numbers_of_the_cards() -> None:
    assert filing.heard(5, 4) == 7
    assert filing.heard(4, 3) == 5
    assert filing.finite(12, 6) == 6
    assert filing.operators(3, 20) == 28
    assert filing.kept(8, 3) == 4


def test_what_each_cause_would_show() -> None:
    case = draw(4, "store")
    found = filing.expected(case, ["loop", "store"], ["copies", "graph"])
    assert found["graph"]["loop"] > found["graph"]["store"]
    assert found["copies"]["store"] != found["copies"]["loop"]
    assert "if the cause is" in repr(filing.as_table(found))
    assert repr(filing.hypotheses(JOB)).count("\n") == sum(
        one.program == JOB for one in CAUSES.values()
    )
    assert filing.prices(JOB)["graph"] == 1


def test_the_cheapest_probe_that_decides_passes() -> None:
    assert filing.check_best_probe(filing.best).passed
    assert filing.best({"a": {"x": 1, "y": 1}}, {"a": 1}) is None


@pytest.mark.parametrize("place", range(len(filing._WRONG)))
def test_wrong_choices_are_known(place: int) -> None:
    attempt, idea = filing._WRONG[place]
    feedback = filing.check_best_probe(attempt)
    assert not feedback.passed
    assert feedback.idea == idea


@pytest.mark.parametrize(
    "attempt", [lambda expected, costs: ..., lambda expected, costs: "graph", 3, ...]
)
def test_other_choices_are_refused(attempt: Any) -> None:
    assert not filing.check_best_probe(attempt).passed


def detective(desk: filing.Desk) -> object:
    if "weights of the nodes" in desk.symptom:
        before = desk.probe("nodes")[0]
        far = float(before["largest difference of a weight"])
        return desk.answer("seeds" if far > 0 else "unsummed")
    if "asked for memory" in desk.symptom:
        return desk.answer("shapes")
    if "losses" in desk.symptom:
        other = [row for row in desk.probe("restart") if row["equal"] == "no"]
        return desk.answer("restart", step=int(other[0]["step"]) - 1)
    if max(int(row["operators"]) for row in desk.probe("graph")) > 10:
        return desk.answer("loop")
    copies = desk.probe("copies")
    if any(row["phase"] == "forward" for row in copies):
        rows = desk.probe("layers")
        away = [
            r["layer"] for r in rows if r["layer"] != "other" and "cpu" in r["device"]
        ]
        return desk.answer("device", layer=next(one for one in away if "dense" in one))
    if any(row["to"] == "host" for row in copies):
        return desk.answer("store")
    return desk.answer("batch")


def buys_everything(desk: filing.Desk) -> object:
    for probe in ("layers", "memory"):
        desk.probe(probe)
    return detective(desk)


def guesses(desk: filing.Desk) -> object:
    return any(desk.answer(cause, "dense1", 3) for cause in CAUSES)


def test_a_detective_is_judged_by_cases_and_points() -> None:
    good = filing.check_detective(detective)
    assert good.passed, good
    dear = filing.check_detective(buys_everything)
    assert not dear.passed
    assert "at most 3" in dear.expected


@pytest.mark.parametrize("attempt", [guesses, lambda desk: None, 3])
def test_guessing_solves_too_few(attempt: Callable[..., Any]) -> None:
    assert not filing.check_detective(attempt).passed


def test_the_sealed_cases_have_every_cause_once() -> None:
    causes = [case.facts.fault for case in filing.sealed()]
    assert sorted(causes) == sorted(
        one.name for one in CAUSES.values() if one.program == JOB
    )
