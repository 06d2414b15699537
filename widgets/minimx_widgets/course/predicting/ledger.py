"""What a learner predicted: a file of their own, one line of JSON for each answer.

    ledger = here()                     # that of the folder in which the kernel runs
    ledger.last("08/round-17")          # the answer that is locked in, or None
    ledger.add(answer)
    ledger.ask("09/recall", {"08/pool": 1})  # what is asked there, with its attempt
    ledger.notice                       # "" or why answers are not kept

The file `predictions.jsonl` lies beside the learner's copies of the notebooks, where
`minimx lab` put them. Elsewhere (in the course's own folder, in tests) answers live as
long as the kernel. Nothing is sent anywhere. A line is added whole or not at all; lines
that cannot be read are skipped, counted and left in the file.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

NAME: Final = "predictions.jsonl"
#: Lies in every folder of copies; see `minimx.commands.cli.copies`.
MARK: Final = ".minimx-course.json"
LARGEST: Final = 16 << 20  # bytes of a file that is read


@dataclass(frozen=True)
class Answer:
    """One prediction, and what came of it.

    card: which question. asked: its text, with its numbers. value, seen: prediction and
    answer, in `unit`. sure: in percent. right: whether the prediction was near enough.
    attempt: 0 for the first answer to this question, then 1, 2, … with other numbers.
    lesson: the misconception that was recognized. place: the recall or exit ticket that
    asked, as in "09/recall"; empty for a card of a notebook. when: seconds since 1970.
    """

    card: str
    asked: str
    value: float
    seen: float
    unit: str
    sure: int
    right: bool
    attempt: int = 0
    topic: str = ""
    lesson: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict)
    when: float = 0.0
    place: str = ""

    @classmethod
    def of(cls, found: Any) -> Answer:
        """One that was read from a file; ValueError for anything else."""
        if not isinstance(found, dict):
            raise ValueError("not an answer")
        for each in dataclasses.fields(cls):
            wanted = _KINDS[str(each.type)]
            value = found.get(each.name, "" if each.name in _MAY_LACK else 0)
            if each.name == "numbers":
                value = found.get("numbers", {})
            if not isinstance(value, wanted) or (
                isinstance(value, bool) is not (wanted is bool)
            ):
                raise ValueError(f"{each.name} is {value!r}")
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"{each.name} is not finite")
        known = {each.name for each in dataclasses.fields(cls)}
        return cls(**{key: value for key, value in found.items() if key in known})


_MAY_LACK: Final = ("topic", "lesson", "place")
_KINDS: Final[dict[str, Any]] = {
    "str": str,
    "float": (int, float),
    "int": int,
    "bool": bool,
    "Mapping[str, float]": dict,
}


class Ledger:
    """The answers of a learner, in the order in which they were given.

    path: their file; None keeps them in memory. learner: a number that was drawn once,
    from which the numbers of questions are drawn; 0 without a file. damaged: lines that
    could not be read. notice: what the learner should know about their file.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.learner = 0
        self.damaged = 0
        self.notice = ""
        self._answers: list[Answer] = []
        self._asked: dict[str, dict[str, int]] = {}
        self._lock = threading.Lock()
        if path is not None:
            self._open(path)

    def __repr__(self) -> str:
        where = "in memory" if self.path is None else str(self.path)
        return f"Ledger({len(self._answers)} answers, {where})"

    def __len__(self) -> int:
        return len(self._answers)

    def __iter__(self) -> Iterator[Answer]:
        return iter(tuple(self._answers))

    def last(self, card: str, place: str = "") -> Answer | None:
        """The newest answer to a question at a place; None if there is none."""
        mine = [each for each in self if (each.card, each.place) == (card, place)]
        return mine[-1] if mine else None

    def asked(self, place: str) -> dict[str, int]:
        """The questions that were last chosen for a place, each with its attempt."""
        return dict(self._asked.get(place, {}))

    def ask(self, place: str, questions: Mapping[str, int]) -> None:
        """Keep which questions were chosen for a place, so that they stay the same."""
        with self._lock:
            self._asked[place] = dict(questions)
            self._write({"asked_at": place, "questions": dict(questions)})

    def add(self, answer: Answer) -> None:
        """Keep an answer. Where the file cannot be written, `notice` says so."""
        answer = dataclasses.replace(answer, when=answer.when or time.time())
        with self._lock:
            self._answers.append(answer)
            self._write(dataclasses.asdict(answer))

    def export(self, path: str | Path) -> Path:
        """Write all answers as one JSON file, to be handed in. Returns its path.

        It has no name of the learner and of no other file.
        """
        answers = [dataclasses.asdict(each) for each in self]
        target = Path(path)
        target.write_text(json.dumps({"answers": answers}, indent=1), encoding="utf-8")
        return target

    # -- the file ----------------------------------------------------------------------

    def _open(self, path: Path) -> None:
        try:
            if path.exists():
                if path.stat().st_size > LARGEST:
                    raise OSError("it is larger than a ledger can become")
                self._read(path.read_text(encoding="utf-8", errors="replace"))
        except OSError as error:
            self.path = None
            self.notice = (
                f"Your earlier predictions in {path.name} cannot be read ({error}). "
                "New ones are kept only until the kernel stops."
            )
            return
        if not self.learner:
            self.learner = random.SystemRandom().randrange(1, 1 << 32)
            self._write({"learner": self.learner})

    def _read(self, text: str) -> None:
        for line in text.splitlines():
            try:
                found = json.loads(line)
                if isinstance(found, dict) and type(found.get("learner")) is int:
                    self.learner = self.learner or found["learner"]
                elif isinstance(found, dict) and "asked_at" in found:
                    self._asked[str(found["asked_at"])] = _chosen(found["questions"])
                else:
                    self._answers.append(Answer.of(found))
            except (ValueError, TypeError, KeyError, RecursionError):
                self.damaged += bool(line.strip())
        if self.damaged:
            lines = "1 line" if self.damaged == 1 else f"{self.damaged} lines"
            self.notice = (
                f"{lines} of {NAME} cannot be read and will be skipped. All other "
                "predictions are there."
            )

    def _write(self, content: Mapping[str, Any]) -> None:
        if self.path is None:
            return
        line = json.dumps(content, ensure_ascii=False).encode() + b"\n"
        try:
            with self.path.open("ab+") as file:
                end = file.seek(0, os.SEEK_END)
                if end and (file.seek(end - 1), file.read(1))[1] != b"\n":
                    line = b"\n" + line  # the last one was cut off
                file.write(line)
        except OSError as error:
            self.notice = (
                f"This prediction could not be saved in {self.path.name} ({error}). It "
                "is kept until the kernel stops."
            )


def _chosen(found: Any) -> dict[str, int]:
    """Questions that were chosen, by name, each with its attempt."""
    if not isinstance(found, dict) or not found:
        raise ValueError("no questions")
    if not all(type(attempt) is int and attempt >= 0 for attempt in found.values()):
        raise ValueError("an attempt is a number from 0 on")
    return found


_lock = threading.Lock()
_known: dict[Path | None, Ledger] = {}


def here(folder: Callable[[], Path] = Path.cwd) -> Ledger:
    """The ledger of the folder that the kernel runs in; the same object each time."""
    try:
        place = folder()
        path = place / NAME if (place / MARK).exists() else None
    except OSError:  # the folder is gone
        path = None
    with _lock:
        if path not in _known:
            _known[path] = Ledger(path)
        return _known[path]
