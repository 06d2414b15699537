"""The questions of recalls and exit tickets are in the instructor's bank, with keys."""

from __future__ import annotations

import csv
import io

import pytest

from minimx_widgets.course.recalling import bank
from minimx_widgets.course.teaching import questions as asking
from minimx_widgets.course.teaching.questions import Question
from minimx_widgets.course.teaching.recalled import recalled


@pytest.fixture(scope="module")
def found() -> list[Question]:
    return recalled()


def test_every_question_is_there_with_its_right_answer(found: list[Question]) -> None:
    assert [each.name for each in found] == list(bank.every())
    for question in found:
        source = bank.every()[question.name]
        for each in question.variants:
            low, high = each.limits
            assert not any(low <= value <= high for value, _ in each.wrong)
            if source.options:
                right = each.options[int(each.answer) - 1]
                assert right == asking.plain(next(iter(source.options)))
                assert len(each.wrong) == len(each.options) - 1
        if source.options:
            places = {each.answer for each in question.variants}
            assert places == set(range(1, len(source.options) + 1))
        else:
            assert len({each.text for each in question.variants}) == len(
                question.variants
            )


def test_texts_have_neither_markup_nor_blanks(found: list[Question]) -> None:
    for question in found:
        for each in question.variants:
            words = [each.text, *each.options, *(idea for _, idea in each.wrong)]
            assert not any(mark in " ".join(words) for mark in ("</", "{", "<b>"))


def test_options_have_letters_in_tables_and_sheets(found: list[Question]) -> None:
    few = [each for each in found if each.name == "08/pieces"]
    row = next(csv.DictReader(io.StringIO(asking.as_csv(asking.drawn(few, 1, 1)))))
    assert row["answer"] in ("a", "b", "c", "d")
    assert f"({row['answer']}) " in row["text"]
    sheets, key = asking.as_markdown(asking.drawn(few, 1, 1)).split("# Key\n")
    assert "\n   (a) " in sheets
    assert f"`08/pieces`: {row['answer']}" in key


def test_moodle_shuffles_options_itself(found: list[Question]) -> None:
    few = [each for each in found if each.name == "08/pieces"]
    text = asking.as_gift(few)
    assert text.count("::08/pieces") == 1
    assert text.count("\t=") == 1
    assert text.count("\t~") == len(few[0].variants[0].options) - 1
    assert all("#" in line for line in text.splitlines() if line.startswith("\t~"))
