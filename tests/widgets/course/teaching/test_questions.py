"""The bank has each exact prediction of the course, with answers and wrong answers."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest

from minimx_widgets.course.teaching import questions as asking
from minimx_widgets.course.teaching.questions import Question, Variant
from tests.notebooks.answers import ROOT, STORED


@pytest.fixture(scope="module")
def bank() -> list[Question]:
    return asking.questions(ROOT / "notebooks", STORED)


def test_every_card_is_in_the_bank_but_one(bank: list[Question]) -> None:
    stored = json.loads(STORED.read_text("utf-8"))
    names = {name for cards in stored.values() for name in cards}
    # Its text names the processors of the machine, so only a kernel knows it.
    assert names - {each.name for each in bank} == {"03/oversubscribed"}
    measured = {each.name for each in bank} - {each.name for each in asking.exact(bank)}
    assert "01/finish-by-issue" in measured and len(measured) < len(bank) / 2


def test_texts_are_whole(bank: list[Question]) -> None:
    for question in bank:
        for each in question.variants:
            assert not re.search(r"[{}]|</|<[a-z]", each.text), each.text
            assert all(idea for _, idea in each.wrong)
            low, high = each.limits
            assert low <= each.answer <= high
            assert not any(low <= value <= high for value, _ in each.wrong)


def test_the_same_seed_draws_the_same_sheets(bank: list[Question]) -> None:
    def sheets(seed: int) -> list[str]:
        return [each.text for _, each in asking.drawn(bank, seed, 10)]

    assert sheets(7) == sheets(7) != sheets(8)
    few = [each for each in bank if each.name == "08/round"]
    texts = {each.text for _, each in asking.drawn(few, 7, 30)}
    assert len(texts) == len(few[0].variants)


def test_a_table_has_a_row_for_each_learner_and_question(bank: list[Question]) -> None:
    few = bank[2:5]
    rows = list(csv.DictReader(io.StringIO(asking.as_csv(asking.drawn(few, 1, 4)))))
    assert len(rows) == 12
    for row in rows:
        assert float(row["from"]) <= float(row["answer"]) <= float(row["to"])


def test_sheets_have_no_answers_before_the_key(bank: list[Question]) -> None:
    few = [each for each in bank if each.name.startswith("08/")]
    sheets, key = asking.as_markdown(asking.drawn(few, 1, 2)).split("# Key\n")
    assert "# Sheet 2" in sheets and sheets.count("Answer: ______") == 6
    assert key.count("`08/round`") == 2
    assert "MiB" in key and "346.5" not in sheets


def test_moodle_reads_special_characters_as_text() -> None:
    variant = Variant("08/a", "a = {b}: 50% ~ #1\nnow?", "%", 4.0, 0.1, [(3.0, "x: y")])
    text = asking.as_gift([Question("08/a", "the pool", [variant])])
    assert text == (
        "$CATEGORY: minimx/08/a\n\n"
        "::08/a (1)::a \\= \\{b\\}\\: 50% \\~ \\#1 now? (in %) {#\n"
        "\t=%100%4:0.4\n\t=%0%3:0#x\\: y\n}\n"
    )
