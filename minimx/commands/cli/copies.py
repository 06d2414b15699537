"""A learner's copies of the course: brought up to date, never overwritten, and signed.

Copies have no outputs: those that the course is stored with would answer the questions
that it asks. Beside the copies lies `.minimx-course.json`, which has for every file the
checksum of the version that was copied; of a notebook only the text of its cells
counts, so that running it is no change. By it three cases can be distinguished when the
course has changed:

    the copy is as it was copied   it is replaced by the new version
    the copy was worked on         it stays; the new version lies beside it, as
                                   `NAME (new).ipynb`
    --fresh was asked for          the new version takes its name, and what was worked
                                   on is kept as `NAME (mine).ipynb`
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minimx.core.files import write_whole

LEDGER = ".minimx-course.json"


@dataclass
class Done:
    """What `bring` did; its text is for the terminal.

    shipped: the files that are as the course has them now, which may be trusted.
    """

    copied: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    shipped: list[str] = field(default_factory=list)
    signed: int = 0

    def __str__(self) -> str:
        counts = f"{len(self.copied)} files copied, {len(self.updated)} updated"
        lines = [f"{counts}, {self.signed} notebooks trusted."]
        if self.beside:
            lines.append(
                "You have worked on notebooks of which there is a newer version. Yours "
                "are untouched; the newer ones lie beside them:"
            )
            lines += [f"  {name}" for name in self.beside]
        if self.kept:
            lines.append("What you had worked on is kept as:")
            lines += [f"  {name}" for name in self.kept]
        return "\n".join(lines)


def bring(source: Path, target: Path, fresh: bool = False) -> Done:
    """Bring the copies in `target` up to the course in `source`; says what it did.

    A file that was worked on is never overwritten. fresh: the course's version takes
    its name all the same, and the other one is kept under a name that was free.
    """
    ledger = _read(target / LEDGER)
    done = Done()
    for path in _files(source):
        name = path.relative_to(source).as_posix()
        _bring_one(path, target, name, ledger, done, fresh)
    write_whole(target / LEDGER, json.dumps(ledger, indent=1).encode(), "minimx lab")
    return done


def mark(source: Path, target: Path) -> None:
    """Note that the notebooks in `target` are of the course as it is in `source`.

    A folder that is marked keeps a learner's predictions, and `bring` adds to it only
    what has changed since.
    """
    ledger = {path.name: _checksum(path) for path in _files(source)}
    write_whole(
        target / LEDGER, json.dumps(ledger, indent=1).encode(), "minimx student"
    )


def place(target: Path, name: str, notebook: bytes) -> str:
    """Write a notebook that was made for the learner, in place of the one before.

    One that was worked on is kept under a name that was free, which is returned; "" if
    there was none.
    """
    ledger, mine, kept = _read(target / LEDGER), target / name, ""
    if mine.exists() and _checksum(mine) != ledger.get(name):
        kept = _free_name(mine, "mine").name
        mine.rename(target / kept)
    write_whole(mine, notebook, "minimx lab")
    ledger[name] = _checksum(mine)
    write_whole(target / LEDGER, json.dumps(ledger, indent=1).encode(), "minimx lab")
    return kept


def _bring_one(
    path: Path, target: Path, name: str, ledger: dict[str, str], done: Done, fresh: bool
) -> None:
    mine, course = target / name, _checksum(path)
    if not mine.exists():
        done.copied.append(name)
    elif (here := _checksum(mine)) == course:
        ledger[name] = course
        if mine.read_bytes() == _without_outputs(path):
            done.shipped.append(name)
        return
    elif here == ledger.get(name):
        done.updated.append(name)
    elif fresh:
        kept = _free_name(mine, "mine")
        mine.rename(kept)
        done.kept.append(kept.relative_to(target).as_posix())
        done.copied.append(name)
    else:
        _bring_beside(path, mine, course, ledger, name, done)
        return
    mine.parent.mkdir(parents=True, exist_ok=True)
    mine.write_bytes(_without_outputs(path))
    ledger[name] = course
    done.shipped.append(name)


def _bring_beside(
    path: Path, mine: Path, course: str, ledger: dict[str, str], name: str, done: Done
) -> None:
    """Put a new version beside a copy that was worked on, once for each version."""
    if ledger.get(name) == course:
        return
    beside = _free_name(mine, "new")
    beside.write_bytes(_without_outputs(path))
    ledger[name] = course
    relative = (Path(name).parent / beside.name).as_posix()
    done.beside.append(relative)
    done.shipped.append(relative)


def sign(notebooks: Iterable[Path]) -> int:
    """Tell Jupyter that these notebooks may be trusted; returns how many there are."""
    nbformat: Any = importlib.import_module("nbformat")
    signing: Any = importlib.import_module("nbformat.sign")
    notary, signed = signing.NotebookNotary(), 0
    for path in notebooks:
        if path.suffix == ".ipynb":
            notary.sign(nbformat.read(path, as_version=4))
            signed += 1
    return signed


def _files(folder: Path) -> list[Path]:
    """The course's files, without what Jupyter and Python leave there."""
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and path.suffix != ".cfg"  # what tests need
        and not any(
            part.startswith((".", "__")) for part in path.relative_to(folder).parts
        )
    ]


def _cells(path: Path) -> tuple[Any, list[Any]]:
    """A notebook and its cells; none for other files, and for what is no notebook."""
    try:
        book = json.loads(path.read_bytes()) if path.suffix == ".ipynb" else {}
        cells = list(book["cells"])
        _texts(cells)
        return book, cells
    except (ValueError, KeyError, TypeError):
        return None, []


def _texts(cells: Iterable[Any]) -> list[tuple[str, str]]:
    return [(cell["cell_type"], "".join(cell["source"])) for cell in cells]


def _without_outputs(path: Path) -> bytes:
    book, cells = _cells(path)
    for cell in cells:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    if not cells:
        return path.read_bytes()
    return json.dumps(book, indent=1, ensure_ascii=False).encode() + b"\n"


def _checksum(path: Path) -> str:
    """Of a notebook's text, of all of another file."""
    texts = _texts(_cells(path)[1])
    content = json.dumps(texts).encode() if texts else path.read_bytes()
    return hashlib.sha256(content).hexdigest()


def _free_name(path: Path, word: str) -> Path:
    """`NAME (word).ipynb`, or with a number where that is taken."""
    name = path.with_name(f"{path.stem} ({word}){path.suffix}")
    number = 2
    while name.exists():
        name = path.with_name(f"{path.stem} ({word} {number}){path.suffix}")
        number += 1
    return name


def _read(ledger: Path) -> dict[str, str]:
    """The checksums of what was copied; empty where nothing was, or it is damaged."""
    ledger.parent.mkdir(parents=True, exist_ok=True)
    try:
        found = json.loads(ledger.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
