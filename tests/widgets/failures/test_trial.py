"""Every failure fails, the right remedy cures it, and no other does.

Here with a few numbers of cases; `python -m tests.widgets.failures.all_seeds` tries a
hundred.
"""

from __future__ import annotations

import pytest

from minimx.core.errors import ArgumentError
from minimx_widgets.failures import CAUSES, JOB, REMEDIES, draw, judged, tried, truth
from minimx_widgets.failures.case import Case
from minimx_widgets.failures.program import Facts, run, short
from tests.widgets.failures.all_seeds import CURES, ill_then_cured

NUMBERS = range(2)  # as many as a cause has cures
#: The causes of a job take longer to run.
TRAININGS = [one.name for one in CAUSES.values() if one.program != JOB]
JOBS = [one.name for one in CAUSES.values() if one.program == JOB]


def facts_of(case: Case) -> Facts:
    """Of a training."""
    assert isinstance(case.facts, Facts)
    return case.facts


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("fault", TRAININGS)
def test_it_fails_before_and_passes_after_the_right_remedy_only(
    fault: str, number: int
) -> None:
    ill_then_cured(fault, number)


@pytest.mark.parametrize("fault", JOBS)
def test_a_job_fails_before_and_passes_after_the_right_remedy_only(fault: str) -> None:
    ill_then_cured(fault, 7)


@pytest.mark.parametrize("fault", CAUSES)
def test_no_other_remedy_cures_it_not_even_all_of_them(fault: str) -> None:
    case = draw(17, fault)
    offered = REMEDIES[case.program]
    if case.program != JOB:
        cured = {name for name in offered if tried(case, [name]).healthy}
        assert cured == CURES[fault]
    assert not tried(case, offered.keys() - CURES[fault]).healthy


@pytest.mark.parametrize("fault", CAUSES)
def test_the_right_answer_is_right_and_others_get_a_hint(fault: str) -> None:
    case = draw(3, fault)
    right = truth(case)
    assert judged(case, fault, right.layer, right.step).right
    for other in CAUSES.keys() - {fault}:
        verdict = judged(case, other, right.layer, right.step)
        assert not verdict.right
        assert "again" in verdict.text
    if right.layer is not None:
        assert not judged(case, fault, None, right.step).right
        assert "not head" in judged(case, fault, "head", right.step).text
    if right.step is not None:
        assert not judged(case, fault, right.layer, None).right
        assert not judged(case, fault, right.layer, right.step + 1).right
    assert set(CAUSES[fault].asks) == {
        name for name in ("layer", "step") if getattr(right, name) is not None
    }


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("fault", ["empty", "slope", "cast"])
def test_the_watch_finds_the_layer_that_is_to_be_named(fault: str, number: int) -> None:
    case = draw(number, fault)
    watch = run(facts_of(case), watch=True).watch
    assert watch is not None and watch.first is not None
    right = truth(case)
    assert short(watch.first.layer) == right.layer
    assert watch.first.born
    assert watch.first.phase == ("backward" if fault == "slope" else "forward")
    if right.step is not None:
        assert watch.first.step == right.step
    if fault == "slope":
        assert "gradient of sqrt" in watch.first.forward


@pytest.mark.parametrize("number", NUMBERS)
def test_an_error_surfaces_after_the_step_that_it_comes_from(number: int) -> None:
    case = draw(number, "async")
    seen = run(facts_of(case), record=True)
    assert seen.ended is not None and seen.ended > facts_of(case).at
    assert "IndexError" in seen.error
    assert any("take_rows" in note for note in seen.notes)
    assert seen.record is not None
    ops = seen.record.ops()
    failed = seen.record.texts(ops[ops["failed"]]["name"])
    assert failed[0] == "minimx_lab_take_rows" and len(failed) > 5
    once = run(facts_of(case), ["naive"])
    assert once.ended == facts_of(case).at  # where it comes from


def test_unknown_words_are_refused() -> None:
    with pytest.raises(ArgumentError, match="Did you mean stale"):
        draw(0, "stail")
    with pytest.raises(ArgumentError, match="there is no remedy 'pray'"):
        tried(draw(0), ["pray"])
    with pytest.raises(ArgumentError, match="there is no cause 'luck'"):
        judged(draw(0), "luck")


def test_norms_show_a_clip_of_scaled_gradients() -> None:
    case = draw(2, "clip")
    norms = run(facts_of(case), norms=True).norms
    good = run(facts_of(case), ["unscale"], norms=True).norms
    assert norms[0]["scale"] == 65536
    assert max(row["moved"] for row in norms) < 1e-4
    assert max(row["moved"] for row in good) > 1e-3
