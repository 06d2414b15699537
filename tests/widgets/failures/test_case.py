"""Cases are drawn: by a number, by a word, or several with different causes."""

from __future__ import annotations

import pytest

from minimx.core.errors import ArgumentError
from minimx_widgets.failures import (
    CAUSES,
    PROBES,
    REMEDIES,
    draw,
    number_of,
    series,
)
from minimx_widgets.failures.jobs.facts import JobFacts

HUNDRED = range(100)


@pytest.mark.parametrize("fault", CAUSES)
def test_a_hundred_numbers_give_a_hundred_cases_of_a_cause(fault: str) -> None:
    cases = [draw(number, fault) for number in HUNDRED]
    assert cases == [draw(number, fault) for number in HUNDRED]
    assert {case.facts.fault for case in cases} == {fault}
    assert len({case.facts for case in cases}) == 100
    for case in cases:
        assert case.program == CAUSES[fault].program
        assert CAUSES[fault].probe in PROBES[case.program]
        if isinstance(case.facts, JobFacts):
            assert 0 < case.facts.place < case.facts.layers
            assert 1 < case.facts.saved < case.facts.steps // 2


def test_cases_are_the_same_everywhere_and_differ_from_each_other() -> None:
    cases = [draw(number) for number in range(300)]
    assert cases == [draw(number) for number in range(300)]
    assert {case.facts.fault for case in cases} == set(CAUSES)
    assert len({case.facts for case in cases}) == 300
    assert repr(cases[7]) == "Case(7)"  # sealed


def test_there_are_enough_causes_and_all_are_explained() -> None:
    assert len(CAUSES) >= 12
    for name, cause in CAUSES.items():
        assert name == cause.name
        assert cause.sign.endswith(".") and cause.says.endswith(".")
        assert ":" in cause.look
        assert set(cause.asks) <= {"layer", "step"}
    assert REMEDIES.keys() == PROBES.keys() == {one.program for one in CAUSES.values()}


def test_a_word_is_one_case_for_a_whole_class() -> None:
    assert number_of("Monday 2026") == number_of(" monday  2026") == 9252
    words = [f"class {k}" for k in range(200)]
    assert len({number_of(word) for word in words}) > 190
    assert {draw(number_of(word)).facts.fault for word in words} == set(CAUSES)
    with pytest.raises(ArgumentError, match="an empty word stands for no case"):
        number_of("  ")


def test_a_series_has_different_causes() -> None:
    numbers = series("monday", len(CAUSES))
    assert {draw(number).facts.fault for number in numbers} == set(CAUSES)
    assert numbers[0] == number_of("monday")
    assert series("monday", 3) == numbers[:3] == series("Monday", 3)
    assert series("tuesday", 3) != numbers[:3]
    with pytest.raises(ArgumentError, match="causes of a series differ"):
        series("monday", len(CAUSES) + 1)


def test_unknown_causes_are_refused() -> None:
    with pytest.raises(ArgumentError, match="Did you mean stale"):
        draw(0, "stail")
