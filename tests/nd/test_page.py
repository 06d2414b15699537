"""The operator page of the book is what the data sheets say."""

from __future__ import annotations

from pathlib import Path

import pytest

from minimx.core.ops.registry import REGISTRY
from minimx.nd.page import markdown, reached_as

PAGE = Path(__file__).parents[2] / "book" / "operators.md"


def test_the_page_of_the_book_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == markdown(), (
        "Run: python -m minimx.nd.page > book/operators.md"
    )


def test_the_page_says_the_same_on_every_machine() -> None:
    assert str(Path.home()) not in markdown()


@pytest.mark.parametrize(
    ("operator", "place", "name"),
    [
        ("_npi_einsum", "minimx.np", "einsum"),
        ("_npi_tensordot_int_axes", "minimx.np", "tensordot"),
        ("_npi_less_scalar", "minimx.np", "less"),
        ("_npi_det", "minimx.np.linalg", "det"),
        ("_npi_powerd", "minimx.np.random", "power"),
        ("_npx_reshape", "minimx.npx", "reshape"),
    ],
)
def test_operators_of_other_names_say_how_they_are_reached(
    operator: str, place: str, name: str
) -> None:
    assert reached_as(operator) == (place, name)


@pytest.mark.parametrize(
    ("operator", "module"),
    [
        ("sigmoid", "core.operators.elementwise"),
        ("_plus_scalar", "core.operators.scalar"),
        ("_npi_arctan2", "operators.numpy.np_elementwise"),
    ],
)
def test_sheets_made_of_formulas_know_their_table(operator: str, module: str) -> None:
    assert getattr(REGISTRY[operator], "declared_in") == f"minimx.{module}"  # noqa: B009
