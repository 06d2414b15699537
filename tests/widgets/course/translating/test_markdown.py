"""Markdown cells and their texts: nothing is lost, and each block is one text."""

from __future__ import annotations

import pytest

from minimx_widgets.course.teaching import exercises
from minimx_widgets.course.translating.markdown import blocks, replaced, texts
from tests.test_readme import NOTEBOOKS

CELL = """\
# Title

Two lines
of *text*.

- an item
  that goes on
- another one with `code`

1. a step

> a quotation
> on two lines

| name | number |
|---|---|
| a | 1 |

```python
code = "is left as it is"
```

$$
x^2
$$

    for _ in range(3): indented

<details>
<summary>More</summary>

`only_code`

</details>
"""
TEXTS = [
    "Title",
    "Two lines of *text*.",
    "an item that goes on",
    "another one with `code`",
    "a step",
    "a quotation on two lines",
    "| name | number |\n|---|---|\n| a | 1 |",
    "<summary>More</summary>",
]


def test_each_block_is_one_text_and_code_is_none() -> None:
    assert texts(CELL) == TEXTS


def test_a_translated_block_keeps_its_place_and_its_mark() -> None:
    german = {"Title": "Titel", "an item that goes on": "ein Punkt", "a step": "los"}
    shown = replaced(CELL, german.get).split("\n")
    assert shown[0] == "# Titel"
    assert "- ein Punkt" in shown
    assert "- another one with `code`" in shown
    assert "1. los" in shown


@pytest.mark.parametrize(
    "cell", [CELL, "", "\n\n", "```\nnever closed", "$$ x $$\na b"]
)
def test_without_translations_a_cell_stays_as_it_is(cell: str) -> None:
    assert replaced(cell, lambda text: None) == cell


def test_the_cells_of_the_course_stay_as_they_are() -> None:
    for path in NOTEBOOKS:
        for cell in exercises.read(path)["cells"]:
            if cell["cell_type"] == "markdown":
                source = cell["source"]
                assert "\n".join(each.lines for each in blocks(source)) == source
