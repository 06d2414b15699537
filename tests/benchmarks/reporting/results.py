"""Results as data: a JSON file for each day and machine, and what they are together.

    {"conditions": {"date", "cpu", "cores", "rounds", "seconds", …},
     "values": {case: {contender: [value of each round]}},
     "rounds": {case: [{"others": …, "load": …} of each round]},
     "failures": {case: {contender: why}}, "unfinished": [case, …]}

Values are seconds, or bytes for cases of memory. Files of the first days have only
conditions and `seconds`, and no machine in their name. A second run of a day adds to
the file and replaces the cases that it has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from tests.benchmarks.reporting.ratios import Values

RESULTS = Path(__file__).parents[1] / "results"
Rounds = dict[str, list[dict[str, float | None]]]


@dataclass
class Result:
    """A file; see above."""

    conditions: dict[str, Any]
    values: Values
    rounds: Rounds = field(default_factory=dict)
    failures: dict[str, dict[str, str]] = field(default_factory=dict)
    unfinished: list[str] = field(default_factory=list)

    @property
    def machine(self) -> str:
        """The machine in words: `2 cores of AMD EPYC`."""
        return f"{self.conditions['cores']} cores of {self.conditions['cpu']}"

    @property
    def date(self) -> str:
        """The day, as `2026-11-24`."""
        return str(self.conditions["date"])

    def file(self, folder: Path = RESULTS) -> Path:
        """Where it is kept."""
        words = f"{self.conditions['cpu']} {self.conditions['cores']}".lower()
        return folder / f"{self.date}-{re.sub('[^a-z0-9]+', '-', words)}.json"


def load(path: Path) -> Result:
    """What a file has. ValueError if it is no result of this benchmark."""
    content = json.loads(path.read_text(encoding="utf-8"))
    if "seconds" in content:
        content["values"] = content.pop("seconds")
    if unknown := set(content) - {one.name for one in fields(Result)}:
        raise ValueError(f"{path.name} has parts that no result has: {unknown}")
    return Result(**content)


def save(result: Result, folder: Path = RESULTS) -> Path:
    """Keep a result, with what the file of that day and machine has already."""
    path = result.file(folder)
    if path.exists():
        result = merged(load(path), result)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(asdict(result), indent=1, ensure_ascii=False)
    # Numbers of a row on one line: a file is read by people, too.
    text = re.sub(r"\[\s+(-?[\d.e-]+(?:,\s+-?[\d.e-]+)*)\s+\]", _row, text)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def _row(match: re.Match[str]) -> str:
    numbers = re.split(r",\s+", match[1])
    return f"[{', '.join(numbers)}]"


def merged(old: Result, new: Result) -> Result:
    """Both; a case of the new one counts, but if only the old one finished it."""
    kept = {name for name in new.unfinished if old.values.get(name)} - {*old.unfinished}
    names = {*new.values, *new.failures} - kept

    def both(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
        left = {name: row for name, row in before.items() if name not in names}
        return left | {name: row for name, row in after.items() if name in names}

    left = {*old.unfinished, *new.unfinished} - kept
    done = {*new.values} - {*new.unfinished}
    return Result(
        new.conditions,
        both(old.values, new.values),
        both(old.rounds, new.rounds),
        both(old.failures, new.failures),
        sorted(left - done),
    )


def every(folder: Path = RESULTS) -> list[Result]:
    """All results, the oldest first."""
    found = [load(path) for path in sorted(folder.glob("20*.json"))]
    return sorted(found, key=lambda result: result.date)


@dataclass
class Latest:
    """The newest values of each case on one machine, and the day each is from."""

    machine: str
    values: Values = field(default_factory=dict)
    rounds: Rounds = field(default_factory=dict)
    failures: dict[str, dict[str, str]] = field(default_factory=dict)
    dates: dict[str, str] = field(default_factory=dict)
    unfinished: set[str] = field(default_factory=set)
    conditions: dict[str, Any] = field(default_factory=dict)

    def of(self, cases: Iterable[str]) -> Latest:
        """The same of some cases alone."""
        names = {*cases}

        def some(of_all: dict[str, Any]) -> dict[str, Any]:
            return {name: of_one for name, of_one in of_all.items() if name in names}

        return Latest(
            self.machine,
            some(self.values),
            some(self.rounds),
            some(self.failures),
            some(self.dates),
            self.unfinished & names,
            self.conditions,
        )

    @property
    def days(self) -> str:
        """The day or days that its values are from."""
        days = sorted({*self.dates.values()}) or [str(self.conditions["date"])]
        return days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"


def latest(results: list[Result]) -> list[Latest]:
    """By machine, that of the newest result first. results: the oldest first."""
    found: dict[str, Latest] = {}
    for result in results:
        at = found.pop(result.machine, None) or Latest(result.machine)
        found[result.machine] = at  # the last is that of the newest result
        at.conditions = result.conditions
        for case in {*result.values, *result.failures}:
            at.values[case] = result.values.get(case, {})
            at.rounds[case] = result.rounds.get(case, [])
            at.failures[case] = result.failures.get(case, {})
            at.dates[case] = result.date
            at.unfinished.discard(case)
            if case in result.unfinished:
                at.unfinished.add(case)
    return [*reversed(found.values())]
