"""The template holds the texts of the course as they are today."""

from __future__ import annotations

from pathlib import Path

import pytest

from minimx_widgets.course.recalling import bank
from minimx_widgets.course.translating import catalogs
from minimx_widgets.course.translating.extracting import modules, sources
from minimx_widgets.failures import CAUSES
from tests.test_readme import NOTEBOOKS

TEMPLATE = catalogs.FOLDER / catalogs.TEMPLATE


@pytest.fixture(scope="module")
def today() -> bytes:
    return catalogs.written(catalogs.of(sources(NOTEBOOKS[0].parent)))


@pytest.fixture(scope="module")
def ids(today: bytes) -> set[str]:
    return {text for text, *_ in catalogs.texts(catalogs.read(TEMPLATE))}


def test_the_template_is_that_of_today(today: bytes, tmp_path: Path) -> None:
    (tmp_path / "course.pot").write_bytes(today)
    now, kept = catalogs.read(tmp_path / "course.pot"), catalogs.read(TEMPLATE)
    entries = [[(each.id, each.locations) for each in it] for it in (now, kept)]
    assert entries[0] == entries[1], "run `minimx strings`"


def test_every_text_of_every_question_is_in_it(ids: set[str]) -> None:
    for each in bank.every().values():
        lessons = [*each.options.values(), *each.wrong.values()]
        shown = [each.text, each.why, *each.options, *lessons]
        assert {text for text in shown if text} <= ids, each.name


def test_the_case_files_are_in_it(ids: set[str]) -> None:
    assert {each.text for each in CAUSES.values()} <= ids


def test_no_module_of_the_course_is_overlooked() -> None:
    names = [path.name for path in modules()]
    assert {"card.py", "causes.py", "failure_lab.py", "page.py"} <= set(names)
    assert "grading" not in {path.parent.name for path in modules()}
