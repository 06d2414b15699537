"""One hue for one thing, readable on both papers."""

from __future__ import annotations

import pytest

from minimx.core.events import CATEGORIES, PHASES
from minimx_widgets import palette


def luminance(colour: str) -> float:
    """Relative luminance, as WCAG defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [
        p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", CATEGORIES)
def test_a_category_stands_out_from_the_paper(name: str, dark: bool) -> None:
    paper = palette.surface("paper", dark=dark)
    assert contrast(palette.category(name, dark=dark), paper) >= 2.5


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(
    "name",
    ["ink", "muted", "accent", "alert", "mark", "good", "caution", "planned"],
)
def test_words_can_be_read(name: str, dark: bool) -> None:
    paper = palette.surface("paper", dark=dark)
    assert contrast(palette.surface(name, dark=dark), paper) >= 4.5


@pytest.mark.parametrize("dark", [False, True])
def test_no_two_categories_share_a_colour(dark: bool) -> None:
    assert len({palette.category(name, dark=dark) for name in CATEGORIES}) == 8


def test_the_browser_gets_the_same_colours() -> None:
    css = palette.css()
    for number, name in enumerate(CATEGORIES):
        for dark in (False, True):
            assert f"--mx-cat-{number}: {palette.category(name, dark=dark)};" in css
    for number, name in enumerate(PHASES):
        assert f"--mx-phase-{number}: {palette.phase(name)};" in css
