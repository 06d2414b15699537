"""What learners write is read as they mean it, or they are asked."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minimx_widgets.course.predicting.reading import Unreadable, read_number
from minimx_widgets.course.predicting.units import UNITS, shown, unit_of


@pytest.mark.parametrize(
    ("text", "unit", "number"),
    [
        ("34", "", 34),
        ("34x", "×", 34),
        ("3 times", "×", 3),
        (".5", "", 0.5),
        ("0,5 ms", "ms", 0.5),
        ("-2e3", "", -2000),
        ("−5", "", -5),
        ("about 3", "", 3),
        ("~30 ms", "ms", 30),
        # thousands, as the course and as other languages write them
        ("68,096", "B", 68096),
        ("16 384", "numbers", 16384),
        ("16\u202f384", "numbers", 16384),
        ("8\u2019388\u2019608", "numbers", 8388608),
        ("1.000.000", "B", 1e6),
        ("1,000.5", "ms", 1000.5),
        ("1.000,5", "ms", 1000.5),
        # powers, fractions, sums
        ("2^14", "", 16384),
        ("2**14", "", 16384),
        ("3·10⁵", "", 3e5),
        ("3 x 10^-2", "", 0.03),
        ("1/3", "×", 1 / 3),
        ("½", "×", 0.5),
        ("2 1/2", "×", 2.5),
        ("64 × 1024", "B", 65536),
        ("(1 + 2) * 3", "", 9),
        # units of one kind
        ("66.5 KiB", "B", 68096),
        ("1,5 KiB", "B", 1536),
        ("500 us", "ms", 0.5),
        ("1 min", "s", 60),
        ("50 %", "×", 0.5),
        ("33 percent", "%", 33),
        # counts
        ("7 of 10", "of 10", 7),
        ("7/10", "of 10", 7),
        ("1 push", "pushes", 1),
        ("15k", "pushes", 15000),
        ("12 images/s", "images/s", 12),
    ],
)
def test_numbers_are_read_as_people_write_them(
    text: str, unit: str, number: float
) -> None:
    assert read_number(text, unit) == pytest.approx(number, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "unit", "words"),
    [
        ("1.234", "B", "1,234 or 1.234. Write 1234 or 1.2340"),
        ("1,234", "×", "1,234 or 1.234. Write 1234 or 1.2340"),
        ("1,000", "×", "1,000 or 1. Write 1000 or 1.0"),
        ("1,500", "ms", "1,500 or 1.5. Write 1500 or 1.5"),
        ("2 MB", "KiB", "1,000,000 bytes .MB. and for 1,048,576 .MiB."),
        ("64K", "B", "Which do you mean"),
        ("0.5", "%", "50 % or 0.5 %"),
        ("1/3", "%", "33.33 % or 0.3333 %"),
        ("3-4", "ms", "range"),
        ("3 to 4 ms", "ms", "range"),
        ("5 ms", "B", "'ms' does not fit here: this question counts 'B'"),
        ("12 apples", "pushes", "counts 'pushes'"),
        ("banana", "ms", "is no number"),
        ("", "ms", "Write a number first"),
        ("1,2,3", "", "do not fit together"),
        ("1 0", "B", "is no number"),
        ("1/0", "", "divides by zero"),
        ("9^9^9^9^9", "", "is no number"),
        ("1e999", "", "too large"),
        ("nan", "", "is no number"),
        ("True", "", "is no number"),
        ("__import__('os').getcwd()", "", "is no number"),
        ("(" * 70, "", "is no number"),
        ("1" * 100, "", "100 characters"),
    ],
)
def test_what_is_unclear_is_asked_back(text: str, unit: str, words: str) -> None:
    with pytest.raises(Unreadable, match=words):
        read_number(text, unit)


@given(st.floats(1e-3, 1e12), st.sampled_from(["ms", "KiB", "×", "pushes", ""]))
def test_what_the_course_writes_is_read_as_the_same_number(
    value: float, unit: str
) -> None:
    """To the four digits that are shown; what may be thousands is asked back."""
    text = shown(value, unit)
    try:
        assert read_number(text, unit) == pytest.approx(value, rel=5e-4)
    except Unreadable as error:
        assert "Do you mean" in str(error)


@given(st.text(max_size=90), st.sampled_from([*UNITS, "pushes", "of 10", ""]))
def test_any_text_is_a_number_or_refused(text: str, unit: str) -> None:
    try:
        assert math.isfinite(read_number(text, unit))
    except Unreadable as error:
        assert str(error)


@given(st.integers(-(10**15), 10**15))
def test_whole_numbers_are_shown_in_full(value: int) -> None:
    assert int(shown(value, "B").split()[0].replace(",", "")) == value
    assert unit_of(shown(1, "B").split()[1]).factor == 1
