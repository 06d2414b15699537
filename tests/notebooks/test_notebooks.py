"""Every notebook of the course: executed, on the spine, and the same on any machine.

What the cells print is compared by nbval (`make notebooks`). An unexecuted notebook
would pass that comparison, and a path of somebody's machine would only fail on others;
so both are asked here.
"""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import nbformat
import pytest

from minimx_widgets.course.teaching import exercises, lessons
from tests.notebooks.answers import short

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

# The way of every notebook; further headings may stand in between.
SPINE = (
    "Case",
    "Recall",
    "Predict",
    "Run",
    "Look",
    "Explain",
    "Read the core",
    "Worked example",
    "Faded exercise",
    "Free exercise",
    "Claim verdict",
    "Exit ticket",
)
IGNORED = "nbval-ignore-output"
SILENT = re.compile(r"nbval-skip|raises-exception")
# What only the machine has on which a notebook was executed.
MACHINES = re.compile(
    r"/(?:root|home|Users|tmp|work|usr|opt|var|private|mnt)/|[A-Z]:\\|site-packages"
    r"|ipykernel_\d|0x[0-9a-f]{6,}"
)

# The numbered ones are the course; a case stands for itself, and may be shorter.
COURSE = [path for path in NOTEBOOKS if path.stem[:2].isdigit()]
CASE_SPINE = (
    "Case",
    "Recall",
    "Predict",
    "Run",
    "Look",
    "Explain",
    "Claim verdict",
    "Exit ticket",
)

every_notebook = pytest.mark.parametrize(
    "path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS]
)


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def cells(path: Path, kind: str) -> list[Any]:
    return [cell for cell in read(path).cells if cell.cell_type == kind]


def headings(path: Path) -> list[str]:
    lines = "\n".join(cell.source for cell in cells(path, "markdown")).split("\n")
    return [line[3:].strip() for line in lines if line.startswith("## ")]


def texts(output: Any) -> list[str]:
    """Everything of an output that somebody may read."""
    if output.output_type == "stream":
        return [output.text]
    if output.output_type == "error":
        return ["\n".join(output.traceback)]
    return [str(data) for kind, data in output.data.items() if "image/p" not in kind]


def test_the_course_begins() -> None:
    assert [path.stem[:3] for path in NOTEBOOKS[:2]] == ["00-", "01-"]


@every_notebook
def test_it_is_valid_and_for_python(path: Path) -> None:
    notebook = read(path)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    title = notebook.cells[0].source.split("\n")[0]
    number = path.stem[:2] if path in COURSE else "Case"
    assert title.startswith(f"# {number} · ")


@every_notebook
def test_it_follows_the_spine(path: Path) -> None:
    found = headings(path)
    spine = SPINE if path in COURSE else CASE_SPINE
    places = [found.index(name) for name in spine]
    assert all(first < second for first, second in pairwise(places))


@every_notebook
def test_it_asks_for_two_numbers_and_checks_two_exercises(path: Path) -> None:
    sources = [cell.source for cell in cells(path, "code")]
    assert sum("PredictCard(" in source for source in sources) >= 2
    checked = sum(bool(re.search(r"\bcheck_\w+\(", source)) for source in sources)
    assert checked >= (2 if path in COURSE else 1)
    assert any(source.startswith("hints(") for source in sources)
    assert any("verdicts(" in source for source in sources)


@every_notebook
def test_the_source_of_a_card_is_folded(path: Path) -> None:
    """It has wrong answers with what is wrong about them, and stands above the card.

    What is folded is not read: only the card, and what no other cell uses.
    """
    found = {cell.id: names(cell.source) for cell in cells(path, "code")}
    for cell in cells(path, "code"):
        if "PredictCard(" not in cell.source:
            continue
        hidden = cell.metadata.get("jupyter", {}).get("source_hidden")
        assert hidden, f"{cell.id}: set jupyter.source_hidden in its metadata"
        *before, card = ast.parse(cell.source).body
        assert ast.unparse(card).startswith("PredictCard("), cell.id
        assert all(isinstance(each, ast.FunctionDef) for each in before), cell.id
        own = {each.name for each in before if isinstance(each, ast.FunctionDef)}
        for other, used in found.items():
            both = own & used if other != cell.id else set()
            assert not both, f"{other} uses {both}: define it in a cell of its own"


def names(source: str) -> set[str]:
    """The names that a cell reads or binds; magics are left out."""
    python = re.sub(r"^%.*$", "", source, flags=re.MULTILINE)
    found = ast.walk(ast.parse(python))
    return {
        getattr(node, "id", getattr(node, "name", "")) or ""
        for node in found
        if isinstance(node, ast.Name | ast.FunctionDef | ast.ClassDef)
    }


@every_notebook
def test_a_picture_comes_first(path: Path) -> None:
    """Within three cells and three hundred words."""
    words = 0
    for place, cell in enumerate(read(path).cells):
        if any(is_picture(output) for output in cell.get("outputs", ())):
            assert place < 3 and words <= 300
            return
        if cell.cell_type == "markdown":
            words += len(cell.source.split())
    pytest.fail("no picture at all")


def is_picture(output: Any) -> bool:
    """Whether something drawn is stored, or a view that draws."""
    data = output.get("data", {})
    drawn = "image/svg+xml" in data or "image/png" in data
    return drawn or "<svg" in data.get("text/html", "")


@every_notebook
def test_times_are_those_of_its_cells(path: Path) -> None:
    """What the beginning says, against words, questions and exercises."""
    found = lessons.parts(exercises.read(path))
    minutes = lessons.core(found)
    rest = sum(part.minutes for part in found) - minutes
    said = re.search(
        r"takes?\sabout\s(\d+)\sminutes,\sand\sabout\s(\d+)\smore",
        read(path).cells[0].source,
    )
    assert said, "how long does it take?"
    assert abs(int(said[1]) - minutes) <= 5 and minutes <= 47.5
    assert abs(int(said[2]) - rest) <= 5


@every_notebook
def test_recall_and_exit_ticket_are_answered(path: Path) -> None:
    """They are cards below their headings, and no text that unfolds."""
    found = read(path).cells
    for heading, call in (("Recall", "recall"), ("Exit ticket", "exit_ticket")):
        above = [
            place
            for place, cell in enumerate(found)
            if cell.cell_type == "markdown" and f"## {heading}\n" in cell.source
        ]
        (place,) = above
        assert "<details>" not in found[place].source.partition(f"## {heading}")[2]
        assert found[place + 1].source == f'{call}("{short(path)}")'
        assert "0 answered" in str(found[place + 1].outputs)


@every_notebook
def test_it_is_executed_from_top_to_bottom(path: Path) -> None:
    counts = [
        cell.execution_count
        for cell in cells(path, "code")
        if not SILENT.search(" ".join(cell.metadata.get("tags", ())))
    ]
    assert counts == list(range(1, len(counts) + 1))
    assert any(cell.outputs for cell in cells(path, "code"))


@every_notebook
def test_what_is_shown_is_stored(path: Path) -> None:
    for cell in cells(path, "code"):
        if re.search(r"^(print|table|verdicts|hints)\(", cell.source, re.MULTILINE):
            assert cell.outputs, cell.source


@every_notebook
def test_no_cell_failed(path: Path) -> None:
    failed = [
        output.evalue
        for cell in cells(path, "code")
        for output in cell.outputs
        if output.output_type == "error"
    ]
    assert failed == []


@every_notebook
def test_nothing_tells_on_which_machine_it_was_executed(path: Path) -> None:
    told = [
        found.group()
        for cell in cells(path, "code")
        for output in cell.outputs
        for text in texts(output)
        for found in MACHINES.finditer(text)
    ]
    assert told == []


@every_notebook
def test_no_widget_is_stored_that_no_kernel_knows(path: Path) -> None:
    assert "widgets" not in read(path).metadata
    kinds = {
        kind
        for cell in cells(path, "code")
        for output in cell.outputs
        for kind in output.get("data", {})
    }
    assert not any("widget" in kind for kind in kinds)


@every_notebook
def test_links_to_other_notebooks_lead_somewhere(path: Path) -> None:
    for cell in cells(path, "markdown"):
        for target in re.findall(r"\]\((\S+?\.ipynb)\)", cell.source):
            assert (path.parent / target).is_file(), target
        for anchor in re.findall(r"\]\(#(\S+?)\)", cell.source):
            assert anchor.replace("-", " ") in headings(path)


@every_notebook
def test_measured_cells_are_few(path: Path) -> None:
    """Most cells are compared; what is ignored must be the exception."""
    tags = [cell.metadata.get("tags", ()) for cell in cells(path, "code")]
    assert sum(IGNORED in tag for tag in tags) <= len(tags) / 4
