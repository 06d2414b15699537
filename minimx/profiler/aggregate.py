"""What took how long in all: the table of `profiler.dumps`, in MXNet's layout.

Rows that are new are added to sums, so nothing has to be kept for it. Times are
milliseconds; memory is given in kB of 1000 bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from minimx.core.errors import ProfilerError
from minimx.core.record.record import Batch
from minimx.profiler.settings import API, IMPERATIVE, MEMORY, SYMBOLIC, Settings
from minimx.profiler.trace import (
    ALLOCATIONS,
    C_API,
    CUSTOM,
    RETURNS,
    STORAGE,
    category_of,
    shown,
)

OPERATOR: Final = "operator"


@dataclass
class Statistics:
    """Count, sum and bounds of what was observed; levels have no meaningful sum.

    Times are in milliseconds, levels of memory in kB, other levels divided by 1000, as
    MXNet prints them.
    """

    is_level: bool = False
    count: int = 0
    total: float = 0.0
    least: float = float("inf")
    most: float = float("-inf")

    def add(self, value: float) -> None:
        """One more observation."""
        self.count += 1
        self.total = value if self.is_level else self.total + value
        self.least = min(self.least, value)
        self.most = max(self.most, value)

    @property
    def average(self) -> float:
        """The mean; of a level, as in MXNet, half the distance between its bounds."""
        if self.is_level:
            return (self.most - self.least) / 2
        return self.total / self.count


#: The words of `sort_by`, and what they sort by.
ORDERS: Final[dict[str, Callable[[Statistics], float]]] = {
    "total": lambda each: each.total,
    "avg": lambda each: each.average,
    "min": lambda each: each.least,
    "max": lambda each: each.most,
    "count": lambda each: each.count,
}


class Aggregate:
    """The sums of a profile, by category and name."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.texts: list[str] = []
        self.levels: dict[str, int] = {}
        self.begun: dict[tuple[str, int], int] = {}
        self._bulks: set[int] = set()
        self.clear()

    def clear(self) -> None:
        """Begin anew; what lives now goes on living."""
        self._times: dict[str, dict[str, Statistics]] = {}
        self._memory: dict[str, dict[str, Statistics]] = {}

    def add(self, batch: Batch) -> None:
        """Take in the rows of a batch."""
        self.texts.extend(batch.strings)
        self._add_ops(batch)
        self._add_memory(batch)
        if self.settings.mode & API:
            for t0, t1, name, detail, _ in batch["calls"].tolist():
                custom = self.texts[detail] == CUSTOM
                category = CUSTOM if custom else C_API
                self._time(category, self.texts[name]).add((t1 - t0) / 1e6)
        self._add_marks(batch)

    def _time(self, category: str, name: str, level: bool = False) -> Statistics:
        found = self._times.setdefault(category, {})
        return found.setdefault(name, Statistics(level))

    def _add_ops(self, batch: Batch) -> None:
        texts, mode = self.texts, self.settings.mode
        for src, _, kind in batch["deps"].tolist():
            if texts[kind] == "BULK":
                self._bulks.add(src)  # its parts are counted, each by its own name
        for row in batch["ops"].tolist():
            if row[0] in self._bulks:
                self._bulks.discard(row[0])
                continue
            name, layer, start, end, graph = (row[i] for i in (1, 2, 8, 9, 13))
            if not mode & (SYMBOLIC if graph else IMPERATIVE):
                continue
            took = (end - start) / 1e6
            self._time(OPERATOR, texts[name]).add(took)
            _, custom, owner = texts[layer].partition(f"{CUSTOM}::")
            if custom:
                self._time(CUSTOM, f"{owner}::{texts[name]}").add(took)

    def _add_memory(self, batch: Batch) -> None:
        for row in batch["mem"].tolist():
            event, device, requested = (row[i] for i in (2, 3, 5))
            word, place = self.texts[event], shown(self.texts[device])
            if word in ALLOCATIONS or word in RETURNS:
                change = requested if word in ALLOCATIONS else -requested
                level = max(self.levels.get(place, 0) + change, 0)
                self.levels[place] = level
                if self.settings.mode & MEMORY:
                    found = self._memory.setdefault(STORAGE, {})
                    name = f"Memory: {place}"
                    found.setdefault(name, Statistics(True)).add(level / 1000)

    def _add_marks(self, batch: Batch) -> None:
        texts = self.texts
        for row in batch["marks"].tolist():
            t, number, value = row[0], row[5], row[6]
            event, kind, domain, name = (texts[number] for number in row[1:5])
            category = category_of(kind, domain)
            if event == "value":
                self._time(category, name, level=True).add(value / 1000)
            elif event == "mark":
                self._times.setdefault(category, {})
            elif event == "start":
                self.begun[kind, number] = t
            elif (kind, number) in self.begun:
                took = t - self.begun.pop((kind, number))
                self._time(category, name).add(took / 1e6)

    # What there is to read

    def text(self, style: str, sort_by: str, ascending: bool) -> str:
        """The whole, as a `table` or as `json`, sorted within each category.

        Raises `ProfilerError` for words that `dumps` does not know.
        """
        for option, value, choices in (
            ("format", style, ("table", "json")),
            ("sort_by", sort_by, tuple(ORDERS)),
        ):
            if value not in choices:
                raise ProfilerError(
                    f"profiler.dumps: {option}={value!r}; there are "
                    f"{', '.join(choices)}."
                )
        key = ORDERS[sort_by]
        parts = [
            {
                category: dict(
                    sorted(
                        rows.items(),
                        key=lambda item: key(item[1]),
                        reverse=not ascending,
                    )
                )
                for category, rows in sorted(part.items())
            }
            for part in (self._memory, self._times)
        ]
        return _as_json(*parts) if style == "json" else _as_table(*parts)


Part = dict[str, dict[str, Statistics]]


def _as_table(memory: Part, times: Part) -> str:
    lines = ["", "Profile Statistics:"]
    lines.append("\tNote the difference in units for different entries.")
    for category, rows in memory.items():
        lines += [category, "=" * 17, *_rows(rows, levels=True), ""]
    for category, rows in times.items():
        lines += [category, "=" * 17, *_rows(rows, levels=False), ""]
    return "\n".join([*lines, ""])


def _rows(rows: dict[str, Statistics], levels: bool) -> Iterator[str]:
    if levels:
        heads = ["Total Count", "Min Use  (kB)", "Max Use  (kB)", "Avg Use  (kB)"]
    else:
        heads = ["Total Count", "Time (ms)"]
        heads += ["Min Time (ms)", "Max Time (ms)", "Avg Time (ms)"]
    rules = ["-" * len(head) for head in heads]
    yield f"{'Name':<25}" + _columns(heads)
    yield f"{'----':<25}" + _columns(rules)
    for name, each in rows.items():
        numbers = [] if levels else [each.total]
        numbers += [each.least, each.most, each.average]
        yield f"{name:<25}" + _columns(
            [str(each.count), *map("{:.4f}".format, numbers)]
        )


def _columns(cells: list[str]) -> str:
    return f"{cells[0]:>16}" + "".join(f" {cell:>16}" for cell in cells[1:])


def _as_json(memory: Part, times: Part) -> str:
    def plain(rows: dict[str, Statistics], levels: bool) -> dict[str, Any]:
        return {
            name: {
                "Count": each.count,
                **({} if levels else {"Total": round(each.total, 6)}),
                "Min": round(each.least, 6),
                "Max": round(each.most, 6),
                "Avg": round(each.average, 6),
            }
            for name, each in rows.items()
        }

    found = {
        "Time": {category: plain(rows, False) for category, rows in times.items()},
        "Memory": {category: plain(rows, True) for category, rows in memory.items()},
        "Unit": {"Time": "ms", "Memory": "kB"},
    }
    return json.dumps(found, indent=4)
