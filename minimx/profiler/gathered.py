"""The events of a trace, checked and sorted by what they tell.

    found = Gathered()
    for event in Reader(path).events():
        found.add(event)
    found.slices.array()           # times are still those of the file, microseconds

Of any writer: slices (`X`, or `B` and `E`), asynchronous spans (`b` and `e`), arrows
(`s`, `t`, `f`), levels of memory (`C`), marks. What cannot be is an error; what we have
no place for is counted in `left_out`.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from minimx.core.errors import ProfilerError
from minimx.core.events import PHASES
from minimx.core.record.tables import Array, Strings
from minimx.profiler.check import is_number, malformed
from minimx.profiler.trace import STORAGE, place_of

MOST_NAMES: Final = 200_000
LONGEST_NAME: Final = 1000  # characters that are kept of it
MEMORY: Final = "Memory: "  # what the counters of devices are called
UNKNOWN: Final = -1

Event = dict[str, Any]
Row = tuple[Any, Any]  # pid, tid

SLICES: Final = {
    "ts": "f8", "dur": "f8", "row": "i4", "name": "i4", "layer": "i4", "phase": "i4",
    "data": "f8", "queue": "f8", "op": "i8", "forward": "i8", "priority": "i8",
    "failed": "?", "graph": "?", "category": "i4",
}  # fmt: skip
SPANS: Final = {
    "ts": "f8", "dur": "f8", "row": "i4", "name": "i4", "category": "i4",
    "detail": "i4",
}  # fmt: skip
ARROWS: Final = {
    "ts": "f8", "row": "i4", "key": "i8", "step": "i1", "op": "i8", "inside": "?",
    "name": "i4", "category": "i4",
}  # fmt: skip
MARKS: Final = {
    "ts": "f8", "row": "i4", "event": "i4", "kind": "i4", "category": "i4",
    "name": "i4", "value": "f8",
}  # fmt: skip
LEVELS: Final = {"ts": "f8", "device": "i4", "level": "f8"}
BLOCKS: Final = {
    "ts": "f8", "row": "i4", "device": "i4", "address": "i8", "nbytes": "i8",
}  # fmt: skip


class Rows:
    """Rows that become arrays now and then, so that many of them need little memory."""

    def __init__(self, columns: dict[str, str]) -> None:
        self.dtype = np.dtype(list(columns.items()))
        self._parts: list[Array] = []
        self._new: list[tuple[Any, ...]] = []

    def add(self, *row: Any) -> None:
        """One row more."""
        self._new.append(row)
        if len(self._new) == 1 << 16:
            self._pack()

    def array(self) -> Array:
        """All of them, in the order in which they came."""
        self._pack()
        return np.concatenate([np.empty(0, self.dtype), *self._parts])

    def _pack(self) -> None:
        if not self._new:
            return
        part = np.empty(len(self._new), self.dtype)
        columns = zip(*self._new, strict=True)
        for name, column in zip(self.dtype.names or (), columns, strict=True):
            part[name] = column
        self._parts.append(part)
        self._new = []


class Gathered:
    """Everything that a trace contains. Numbers of texts are those of `strings`."""

    def __init__(self) -> None:
        self.strings = Strings(("",))
        self.rows: dict[Row, int] = {}
        self.processes: dict[Any, str] = {}
        self.labels: dict[Any, str] = {}
        self.threads: dict[Row, str] = {}
        self.slices, self.spans = Rows(SLICES), Rows(SPANS)
        self.arrows, self.marks = Rows(ARROWS), Rows(MARKS)
        self.levels, self.blocks = Rows(LEVELS), Rows(BLOCKS)
        self.left_out: Counter[str] = Counter()
        self._keys: dict[Any, int] = {}
        self._open: defaultdict[Any, list[tuple[str, float, Event]]] = defaultdict(list)
        self._last = float("-inf")
        self._readers: dict[str, Callable[[Event], None]] = {
            "X": lambda event: self._slice(event, event["ts"], event["dur"]),
            **dict.fromkeys("BSb", self._begin),
            **dict.fromkeys("EFe", self._end),
            **dict.fromkeys("stf", self._arrow),
            **dict.fromkeys("iIRnT", self._mark),
            "C": self._counter,
            "M": self._name,
        }

    def add(self, event: Event) -> None:
        """One more event. Raises `ProfilerError` if it cannot be one."""
        for key, usual in (("pid", 0), ("tid", 0), ("name", "")):
            event.setdefault(key, usual)
        if wrong := malformed(event):
            raise ProfilerError(wrong)
        phase = event["ph"]
        if phase != "M":
            took = event["dur"] if phase == "X" else 0
            self._last = max(self._last, event["ts"] + took)
        reader = self._readers.get(phase)
        if reader is None:
            self.left_out[f"of phase {phase!r}"] += 1
        else:
            reader(event)

    def close(self) -> None:
        """The trace is over: what is still open ends with it."""
        for stack in self._open.values():
            for name, ts, event in stack:
                self.left_out["ends, put where the trace ends"] += 1
                self._over(name, ts, self._last - ts, event)
        self._open.clear()

    # Numbers of things

    def text(self, value: Any) -> int:
        """The number of a text; of what is none, that of the empty one."""
        if not isinstance(value, str):
            return 0
        number = self.strings.number(value[:LONGEST_NAME])
        if number > MOST_NAMES:
            raise ProfilerError(f"there are more than {MOST_NAMES:,} different names")
        return number

    def _row(self, event: Event) -> int:
        return self.rows.setdefault((event["pid"], event["tid"]), len(self.rows))

    # Stretches of time

    def _slice(self, event: Event, ts: float, dur: float) -> None:
        args = _args(event)
        phase = args.get("phase")
        self.slices.add(
            ts,
            dur,
            self._row(event),
            self.text(event["name"]),
            self.text(args.get("layer")),
            PHASES.index(phase) if phase in PHASES else UNKNOWN,
            _time(args.get("for_data_us")),
            _time(args.get("for_worker_us")),
            _whole(args.get("op")),
            _whole(args.get("forward_op")),
            _whole(args.get("priority"), -(1 << 31)),
            args.get("failed") is True,
            args.get("graph") is True,
            self.text(event.get("cat")),
        )

    def _key(self, event: Event) -> Any:
        """What a beginning and its end have in common, besides the name."""
        if event["ph"] in "BE":
            return event["pid"], event["tid"]
        return str(event.get("cat")), _id(event), str(event.get("scope"))

    def _begin(self, event: Event) -> None:
        self._open[self._key(event)].append((event["name"], event["ts"], event))

    def _end(self, event: Event) -> None:
        """The innermost of that name ends, or the innermost if no name is given."""
        key, name = self._key(event), event["name"]
        stack = self._open.get(key, [])
        for place in range(len(stack) - 1, -1, -1):
            if not name or stack[place][0] == name:
                name, ts, begun = stack.pop(place)
                if event["ts"] < ts:
                    raise ProfilerError(f"{name!r} ends before it begins")
                begun["args"] = {**_args(begun), **_args(event)}
                self._over(name, ts, event["ts"] - ts, begun)
                break
        else:
            self.left_out["ends of what had not begun"] += 1
        if not stack:
            self._open.pop(key, None)

    def _over(self, name: str, ts: float, dur: float, begun: Event) -> None:
        if begun["ph"] == "B":
            self._slice(begun, ts, dur)
        else:
            self.spans.add(
                ts,
                dur,
                self._row(begun),
                self.text(name),
                self.text(begun.get("cat")),
                self.text(_args(begun).get("operator")),
            )

    # Arrows, levels, marks

    def _arrow(self, event: Event) -> None:
        key = str(event.get("cat")), event["name"], _id(event)
        self.arrows.add(
            event["ts"],
            self._row(event),
            self._keys.setdefault(key, len(self._keys)),
            "stf".index(event["ph"]),
            _whole(_args(event).get("op")),
            event["ph"] != "f" or event.get("bp") == "e",
            self.text(event["name"]),
            self.text(event.get("cat")),
        )

    def _counter(self, event: Event) -> None:
        name, ts = event["name"], event["ts"]
        numbers = {k: v for k, v in _args(event).items() if is_number(v)}
        if not numbers:
            self.left_out["counters that tell no number"] += 1
        elif event.get("cat") == STORAGE and name.startswith(MEMORY):
            device = self.text(place_of(name.removeprefix(MEMORY)))
            self.levels.add(ts, device, max(0, sum(numbers.values())))
        else:
            for key, value in numbers.items():
                title = name if len(numbers) == 1 else f"{name}: {key}"
                self._add_mark(event, "value", "counter", title, value)

    def _mark(self, event: Event) -> None:
        """A moment; PyTorch tells of memory in this way."""
        args = _args(event)
        nbytes = args.get("Bytes", 0)
        if event["name"] == "[memory]" and is_number(nbytes):
            device = "cpu(0)"
            if args.get("Device Type") == 1:
                device = f"gpu({_whole(args.get('Device Id'))})"
            row, address = self._row(event), _whole(args.get("Addr"))
            number = self.text(device)
            self.blocks.add(event["ts"], row, number, address, int(nbytes))
            return
        kind = {"g": "global", "t": "thread"}.get(str(event.get("s")), "process")
        self._add_mark(event, "mark", kind, event["name"], 0.0)

    def _add_mark(
        self, event: Event, word: str, kind: str, name: str, value: float
    ) -> None:
        texts = (self.text(each) for each in (word, kind, event.get("cat"), name))
        self.marks.add(event["ts"], self._row(event), *texts, value)

    def _name(self, event: Event) -> None:
        pid, args = event["pid"], event["args"]
        if event["name"] == "process_name":
            self.processes[pid] = self._label(args.get("name"))
        elif event["name"] == "process_labels":
            self.labels[pid] = self._label(args.get("labels"))
        elif event["name"] == "thread_name":
            self.threads[pid, event["tid"]] = self._label(args.get("name"))

    def _label(self, value: Any) -> str:
        return self.strings.texts[self.text(str(value).strip())]


def _args(event: Event) -> Event:
    args = event.get("args")
    return args if isinstance(args, dict) else {}


def _time(value: Any) -> float:
    return value if is_number(value) and value >= 0 else 0.0


def _whole(value: Any, least: int = 0) -> int:
    """A whole number that fits, or 0."""
    fine = isinstance(value, int) and not isinstance(value, bool)
    return value if fine and least <= value < 1 << 63 else 0


def _id(event: Event) -> str:
    """What tells one arrow or span from another; numbers and texts are both usual."""
    found = event.get("id", event.get("id2"))
    return found if isinstance(found, str) else json.dumps(found)
