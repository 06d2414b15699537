"""A table of scores that a class of learners shares: one file of plain JSON.

    mx.policies.submit(mx.policies.score(BestFit), "Ada", "class.json")
    mx.policies.leaderboard("class.json")

Several may write at the same time. A writer takes a lock, reads the table, adds its
line, and puts a new file in place of the old one in one step, so that a reader never
sees half of it. A damaged file is an error, and stays as it is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from math import isfinite
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final

from minimx.core.errors import ArgumentError, DataError
from minimx.core.files import write_whole
from minimx.policies.scoring import Score

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

FORMAT: Final = "minimx leaderboard 1"
#: How long a writer waits for another, in seconds.
PATIENCE = 20.0
TEXTS: Final = ("kind", "learner", "policy")
FIELDS: Final = {*TEXTS, "score", "seed", "traces"}


@dataclass(frozen=True)
class Leaderboard:
    """The lines of a table, as they were sent in."""

    lines: tuple[dict[str, Any], ...]

    @property
    def rows(self) -> list[list[str]]:
        """The best of each learner by kind, seed and number of traces, heads first."""
        best: dict[Any, dict[str, Any]] = {}
        for line in self.lines:
            key = *_where(line), line["learner"]
            if key not in best or line["score"] < best[key]["score"]:
                best[key] = line
        found, place, last = [], 0, None
        for line in sorted(best.values(), key=lambda one: (*_where(one), one["score"])):
            place = place + 1 if _where(line) == last else 1
            last = _where(line)
            found.append(
                [
                    line["kind"],
                    f"{line['seed']}",
                    f"{line['traces']}",
                    f"{place}",
                    line["learner"],
                    line["policy"],
                    f"{line['score']:.3f}",
                ]
            )
        heads = ["kind", "seed", "traces", "place", "learner", "policy", "score"]
        return [heads, *found]

    def __repr__(self) -> str:
        widths = [max(map(len, column)) for column in zip(*self.rows, strict=True)]
        return "\n".join(
            "  ".join(
                cell.ljust(n) for cell, n in zip(row, widths, strict=True)
            ).rstrip()
            for row in self.rows
        )

    def _repr_html_(self) -> str:
        lines = [
            "<tr>" + "".join(f"<{tag}>{escape(one)}</{tag}>" for one in row) + "</tr>"
            for tag, row in zip(
                ["th"] + ["td"] * len(self.rows), self.rows, strict=False
            )
        ]
        return f"<table>{''.join(lines)}</table>"


def _where(line: dict[str, Any]) -> tuple[Any, ...]:
    """Scores are compared only on the same traces."""
    return line["kind"], line["seed"], line["traces"]


def leaderboard(file: str | os.PathLike[str]) -> Leaderboard:
    """The table in a file; an empty one if there is no file.

    Raises `DataError` for a file that is damaged or something else.
    """
    path = Path(file)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Leaderboard(())
    except (OSError, ValueError, RecursionError) as reason:
        raise _damaged(path, f"it cannot be read ({reason})") from reason
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise _damaged(path, f"it does not say {FORMAT!r}")
    lines = content.get("lines")
    if not isinstance(lines, list):
        raise _damaged(path, "it has no list of lines")
    for number, line in enumerate(lines):
        if not _is_line(line):
            raise _damaged(
                path, f"line {number} lacks something or has what is no score"
            )
    return Leaderboard(tuple(lines))


def _is_line(line: Any) -> bool:
    if not isinstance(line, dict) or line.keys() != FIELDS:
        return False
    numbers = [line["score"], line["seed"], line["traces"]]
    return (
        all(isinstance(line[text], str) for text in TEXTS)
        and all(type(number) in (int, float) for number in numbers)
        and isfinite(line["score"])
    )


def _damaged(path: Path, what: str) -> DataError:
    return DataError(
        f"leaderboard: {str(path)!r} is damaged: {what}. It is left as it is. Repair "
        "it, or move it away and begin a new one."
    )


def submit(result: Score, name: str, file: str | os.PathLike[str]) -> Leaderboard:
    """Add a score to a table under the name of a learner; returns the table.

    file: made if there is none. Raises `DataError` for a damaged file, or where another
    writer does not let go of it for 20 s, and `ArgumentError` for what is no score or
    no name. In all cases the file stays whole.
    """
    if not isinstance(result, Score):
        raise ArgumentError(
            f"submit: {result!r} is no result. Give what mx.policies.score returns."
        )
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise ArgumentError(f"submit: {name!r} is no name. Write yours, in one line.")
    line = {
        "kind": result.kind,
        "learner": name.strip(),
        "policy": result.name,
        "score": result.score,
        "seed": result.seed,
        "traces": result.traces,
    }
    path = Path(os.path.realpath(file))
    with _locked(path):
        lines = (*leaderboard(path).lines, line)
        text = json.dumps({"format": FORMAT, "lines": lines}, indent=1)
        write_whole(path, text.encode(), "submit")
    return Leaderboard(lines)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of a table: the file `.NAME.lock` beside it.

    The system lets go of it when a program ends, however that happens; the file stays.
    Where the system has no such locks, the lock is that the file exists.
    """
    lock = path.with_name(f".{path.name}.lock")
    deadline = monotonic() + PATIENCE
    try:
        while (held := _taken(lock)) is None:
            if monotonic() > deadline:
                raise DataError(
                    f"submit: someone else has written {str(path)!r} for {PATIENCE:g} "
                    f"s. Try again; if nobody does, remove {str(lock)!r}."
                )
            sleep(0.01)
    except OSError as reason:
        raise DataError(
            f"submit: cannot write beside {str(path)!r}: {reason.strerror}."
        ) from reason
    try:
        yield
    finally:
        os.close(held)
        if fcntl is None:
            lock.unlink()


def _taken(lock: Path) -> int | None:
    """The descriptor that holds a lock; None while another program holds it."""
    try:
        if fcntl is None:
            return os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        found = os.open(lock, os.O_CREAT | os.O_WRONLY, 0o666)
        try:
            fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(found)
            raise
    except (BlockingIOError, FileExistsError):
        return None
    return found
