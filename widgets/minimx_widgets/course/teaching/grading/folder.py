"""A folder of what learners handed in becomes a table of points.

    FOLDER/ada/08-pools-and-fragmentation.ipynb
    FOLDER/grace/08-pools-and-fragmentation.ipynb
    FOLDER/grace/03-workers-and-priorities.ipynb

Each row is written as soon as it is known, with a checksum of what was judged. After an
interruption the same command goes on where it was, and judges again only what has
changed since.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minimx.core.files import write_whole
from minimx_widgets.course.teaching import exercises as ex
from minimx_widgets.course.teaching.exercises import Exercise, NotANotebook
from minimx_widgets.course.teaching.grading import judging
from minimx_widgets.course.teaching.grading.confining import Limits
from minimx_widgets.course.teaching.grading.judging import Task, Verdict
from minimx_widgets.course.teaching.grading.supervising import attempt

COLUMNS = (
    *("learner", "notebook", "exercise", "points", "of", "result"),
    *("seen", "expected", "idea", "version"),
)
MISSING = "missing"
Row = dict[str, str]
#: (what is done, what there is in all, whose turn it is)
Tell = Callable[[int, int, str], None]
#: What browsers and JupyterLab add to the names of copies, and `minimx lab`.
COPY = re.compile(r"( \((mine|new)?( ?\d+)?\)|-Copy\d+)+$")


@dataclass(frozen=True)
class Original:
    """A notebook of the course, as it judges."""

    name: str
    cells: Sequence[str]
    ids: Sequence[str]
    exercises: Sequence[Exercise]

    @classmethod
    def of(cls, path: Path) -> Original:
        """The notebook in a file. Raises NotANotebook."""
        book = ex.read(path)
        ids = [str(cell.get("id", "")) for cell in book["cells"]]
        return cls(path.stem, ex.code(book), ids, list(ex.exercises(book)))


@dataclass(frozen=True)
class Handed:
    """One exercise to judge, of one learner. book: None where no notebook is."""

    learner: str
    original: Original
    exercise: Exercise
    path: Path | None


def course(folder: Path, wanted: Sequence[str] = ()) -> list[Original]:
    """The notebooks of the course that have exercises.

    wanted: how their names begin; all without any. Raises ValueError for a beginning
    that no notebook has.
    """
    paths = sorted(folder.glob("*.ipynb"))
    for each in wanted:
        if not any(path.name.startswith(each) for path in paths):
            known = ", ".join(path.stem for path in paths)
            raise ValueError(f"no notebook begins with {each!r}. There are: {known}")
    kept = [p for p in paths if not wanted or p.name.startswith(tuple(wanted))]
    found = [Original.of(path) for path in kept]
    return [each for each in found if each.exercises]


def handed_in(folder: Path, originals: Sequence[Original]) -> list[Handed]:
    """What there is to judge: of each learner, each notebook that anybody handed in.

    Raises ValueError where the folder has no folders of learners.
    """
    learners = sorted(
        path
        for path in folder.iterdir()
        if path.is_dir() and not path.name.startswith((".", "__"))
    )
    if not learners:
        raise ValueError(
            f"{folder} has no folders in it. One folder for each learner is wanted, "
            "with the notebooks that were handed in"
        )
    found = {path.name: _notebooks(path, originals) for path in learners}
    used = {name for paths in found.values() for name in paths}
    return [
        Handed(learner, original, exercise, paths.get(original.name))
        for learner, paths in found.items()
        for original in originals
        if original.name in used
        for exercise in original.exercises
    ]


def _notebooks(folder: Path, originals: Sequence[Original]) -> dict[str, Path]:
    """A learner's notebooks by the name of the original; of several, the newest."""
    known = {each.name for each in originals}
    found: dict[str, Path] = {}
    paths = [
        path
        for path in folder.rglob("*.ipynb")
        if path.is_file()
        and not path.is_symlink()
        and ".ipynb_checkpoints" not in path.parts
    ]
    for path in sorted(paths, key=lambda each: each.stat().st_mtime):
        name = COPY.sub("", path.stem)
        if name in known:
            found[name] = path
    return found


def grade(
    folder: Path,
    out: Path,
    originals: Sequence[Original],
    limits: Limits | None = None,
    tell: Tell = lambda *_: None,
) -> list[Row]:
    """Judge all that is in a folder, and write the table; returns its rows.

    out: a CSV file. Rows in it that are still true are kept and not judged again.
    Raises ValueError where there is nothing to judge, or `out` is another table.
    """
    every = handed_in(folder, originals)
    known = _read(out)
    judging.prepare(
        {each.original.name: each.original.cells for each in every}.values()
    )
    with out.open("a", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, COLUMNS)
        if not file.tell():
            table.writeheader()
        rows = []
        for done, each in enumerate(every):
            tell(done, len(every), f"{each.learner} {each.exercise.name}")
            version = _version(each)
            row = known.get((each.learner, each.exercise.name, version))
            if row is None:
                row = _row(each, version, _judged(each, limits))
                table.writerow(row)
                file.flush()
            rows.append(row)
        tell(len(every), len(every), "")
    _rewrite(out, rows)
    return rows


def _judged(each: Handed, limits: Limits | None) -> Verdict:
    if each.path is None:
        return Verdict(MISSING, "no notebook of this name was handed in")
    try:
        book = ex.read(each.path)
    except NotANotebook as error:
        return Verdict(MISSING, str(error), "a notebook that JupyterLab can open")
    own_id = each.original.ids[each.exercise.place]
    place = ex.place_of(book, each.exercise, own_id)
    if place is None:
        return Verdict(MISSING, "the cell of this exercise is gone")
    cells, own = ex.code(book), each.original.cells
    return attempt(Task(cells, place, own, each.exercise), limits)


def _row(each: Handed, version: str, verdict: Verdict) -> Row:
    points = each.exercise.points if verdict.result == judging.SOLVED else 0
    values = (
        *(each.learner, each.original.name, each.exercise.name),
        *(f"{points:g}", f"{each.exercise.points:g}", verdict.result),
        *(verdict.seen, verdict.expected, verdict.idea, version),
    )
    return {key: _cell(value) for key, value in zip(COLUMNS, values, strict=True)}


def _cell(text: str) -> str:
    """What a spreadsheet would take for a formula becomes text."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def _version(each: Handed) -> str:
    """Twelve characters that change with what is judged, and with what judges."""
    text = each.path.read_bytes() if each.path is not None else b""
    parts = (*each.original.cells, each.exercise.check, f"{each.exercise.points:g}")
    digest = hashlib.sha256("\0".join(parts).encode() + text)
    return "v" + digest.hexdigest()[:12]


def _read(out: Path) -> Mapping[tuple[str, str, str], Row]:
    if not out.exists():
        return {}
    with out.open(newline="", encoding="utf-8", errors="replace") as file:
        table = csv.DictReader(file)
        if table.fieldnames is None:  # empty
            return {}
        if tuple(table.fieldnames) != COLUMNS:
            raise ValueError(
                f"{out} is another table: its columns are not those of grades. Name "
                "another file with --out"
            )
        rows: list[dict[str, Any]] = list(table)
    whole = [row for row in rows if all(row.get(key) is not None for key in COLUMNS)]
    return {(row["learner"], row["exercise"], row["version"]): row for row in whole}


def _rewrite(out: Path, rows: Sequence[Row]) -> None:
    """The table without rows that are true no more."""
    lines = [",".join(COLUMNS)]
    lines += [",".join(_quoted(row[key]) for key in COLUMNS) for row in rows]
    write_whole(out, ("\r\n".join(lines) + "\r\n").encode(), "minimx grade")


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if re.search(r'[",\r\n]', text) else text


def totals(rows: Sequence[Row]) -> Iterator[tuple[str, float, float, int]]:
    """(learner, points, of how many, how many rows a person should look at)."""
    for learner in dict.fromkeys(row["learner"] for row in rows):
        mine = [row for row in rows if row["learner"] == learner]
        looked = sum(row["result"] == judging.REFUSED for row in mine)
        points, most = (
            sum(float(row[key]) for row in mine) for key in ("points", "of")
        )
        yield learner, points, most, looked
