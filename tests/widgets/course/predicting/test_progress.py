"""How sure, how often right, and what to look at again."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from minimx_widgets.course.predicting.ledger import Answer, Ledger
from minimx_widgets.course.predicting.progress import (
    calibration,
    curve,
    first_answers,
    my_predictions,
    topics,
    weak_spots,
)


def answers(*rows: tuple[str, int, bool]) -> list[Answer]:
    return [
        Answer(card, "?", 1.0, 1.0, "", sure, right, topic=card.partition("/")[0])
        for card, sure, right in rows
    ]


MIXED = answers(
    ("08/a", 100, True),
    ("08/b", 90, False),
    ("03/a", 55, True),
    ("03/b", 50, True),
    ("06/a", 90, False),
    ("06/b", 90, False),
    ("06/b", 90, True),  # practice: the same question once more
)


def test_first_answers_are_counted_by_confidence() -> None:
    assert len(first_answers(MIXED)) == 6
    found = calibration(MIXED)
    assert [(band.answers, band.right) for band in found] == [(2, 2), (4, 1)]
    assert [band.share for band in found] == [100, 25]
    assert found[1].sure == 92.5
    assert calibration([]) == []


def test_weak_spots_are_the_topics_with_the_fewest_right_answers() -> None:
    assert [(each.name, each.right) for each in topics(MIXED)] == [
        ("03", 2),
        ("06", 0),
        ("08", 1),
    ]
    assert weak_spots(MIXED) == ["06", "08"]
    assert weak_spots(MIXED, 1) == ["06"]


@pytest.mark.parametrize(
    ("sure", "right", "words"),
    [
        (100, 5, "you are surer than your predictions allow"),
        (75, 8, "you know well what you know"),
        (50, 9, "you know more than you think"),
    ],
)
def test_the_summary(sure: int, right: int, words: str) -> None:
    ledger = Ledger()
    for number in range(10):
        (one,) = answers((f"03/{number}", sure, number < right))
        ledger.add(one)
    shown = my_predictions(ledger)
    assert words in shown.plain
    assert f"10 predictions, {right} right" in shown.rich


def test_few_and_no_answers() -> None:
    assert "No predictions yet" in my_predictions(Ledger()).plain
    ledger = Ledger()
    for each in MIXED:
        ledger.add(each)
    ledger.notice = "2 lines are damaged"
    shown = my_predictions(ledger)
    assert "too few to say" in shown.plain
    assert "Worth another look: 06, 08." in shown.plain
    assert "2 lines are damaged" in shown.rich


def test_the_curve_has_a_mark_for_each_band() -> None:
    picture = ET.fromstring(curve(calibration(MIXED)))
    titles = [each.text for each in picture.iter("title")]
    assert titles == [
        "2 predictions, 52 % sure, 100 % right",
        "4 predictions, 92 % sure, 25 % right",
    ]
