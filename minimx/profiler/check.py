"""The rules that a Chrome trace has to keep for viewers to draw it whole.

    check_trace("profile.json")      raises ProfilerError with everything that is wrong

Perfetto moves slices that overlap to other rows or drops them, binds an arrow whose id
is used twice to the wrong slice, and shows a counter that never comes back as a leak.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from minimx.core.errors import ProfilerError
from minimx.profiler.reading import Reader

#: The phases that we know, by what they are.
PHASES: Final = frozenset("BEXbnefstiICMNDO()PR")
#: Times are given in thousandths of a microsecond; two that are closer are one.
CLOSE: Final = 0.0015
#: So many faults are reported.
MOST: Final = 20

Event = Mapping[str, Any]


def check_trace(source: str | Path | Sequence[Event]) -> int:
    """Hold a trace against the rules; returns how many events it has.

    source: a file, or its events. Raises `ProfilerError` that lists what is wrong.
    """
    events = (
        source
        if isinstance(source, Sequence) and not isinstance(source, str)
        else load_events(Path(source))
    )
    wrong = list(complaints(events))
    if wrong:
        more = f"\n… and {len(wrong) - MOST} more" if len(wrong) > MOST else ""
        raise ProfilerError(
            f"the trace breaks {len(wrong)} rules:\n" + "\n".join(wrong[:MOST]) + more
        )
    return len(events)


def load_events(path: Path) -> list[Event]:
    """The events of a trace file, which is an object or a bare list of them.

    Raises `ProfilerError` for what is neither.
    """
    return list(Reader(path).events())


def complaints(events: Sequence[Event]) -> Iterator[str]:
    """Everything that is wrong with a trace."""
    sound = []
    for number, event in enumerate(events):
        wrong = malformed(event)
        if wrong:
            yield f"event {number}: {wrong}"
        else:
            sound.append(event)
    for rule in (_nesting, _pairs, _arrows, _counters, _names):
        yield from rule(sound)


def malformed(event: Event) -> str:
    """What an event lacks to be one, or nothing."""
    phase = event.get("ph")
    if not isinstance(phase, str) or phase not in PHASES or len(phase) != 1:
        return f"ph={phase!r} is no phase"
    usual = 0 if phase == "M" else None  # a process is named without a thread
    for row in ("pid", "tid"):
        found = event.get(row, usual)
        if isinstance(found, bool) or not isinstance(found, int | str):
            return f"{row}={found!r} names no row"
    for word in ("id", "cat"):
        if not isinstance(event.get(word), int | float | str | None):
            return f"{word}={event[word]!r} is neither a number nor text"
    if phase == "M":
        return "" if isinstance(event.get("args"), dict) else "a name without args"
    ts = event.get("ts")
    if not is_number(ts):
        return f"ts={ts!r} is no time"
    if phase == "X" and not (is_number(event.get("dur")) and event["dur"] >= 0):
        return f"dur={event.get('dur')!r} is no duration"
    if not isinstance(event.get("name"), str):
        return f"name={event.get('name')!r} is no text"
    return ""


def is_number(value: Any) -> bool:
    """Whether a value is a number that a trace may tell: finite, and not absurd."""
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) < 1e18
    )


def _row(event: Event) -> str:
    return f"pid {event['pid']}, tid {event['tid']}"


def _nesting(events: Sequence[Event]) -> Iterator[str]:
    """Complete slices of one row are inside one another or apart."""
    rows: dict[str, list[tuple[float, float, str]]] = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            end = event["ts"] + event["dur"]
            rows[_row(event)].append((event["ts"], end, event["name"]))
    for row, slices in rows.items():
        slices.sort(key=lambda each: (each[0], -each[1]))
        open_: list[tuple[float, float, str]] = []
        for start, end, name in slices:
            while open_ and open_[-1][1] <= start + CLOSE:
                open_.pop()
            if open_ and end > open_[-1][1] + CLOSE:
                yield (
                    f"{row}: {name!r} ({start}–{end}) begins inside {open_[-1][2]!r} "
                    f"and ends after it ({open_[-1][1]})"
                )
            else:
                open_.append((start, end, name))


def _pairs(events: Sequence[Event]) -> Iterator[str]:
    """What begins on a row ends there in turn; what is asynchronous ends once."""
    open_: dict[str, list[str]] = defaultdict(list)
    flying: dict[tuple[Any, ...], int] = defaultdict(int)
    timed = [event for event in events if event["ph"] != "M"]
    for event in sorted(timed, key=lambda e: e["ts"]):
        phase, name = event["ph"], event.get("name")
        if phase == "B":
            open_[_row(event)].append(str(name))
        elif phase == "E":
            stack = open_[_row(event)]
            if name not in stack:
                yield f"{_row(event)}: {name!r} ends and had not begun"
                continue
            if stack[-1] != name:
                yield f"{_row(event)}: {name!r} ends out of turn"
            stack.reverse()
            stack.remove(str(name))  # the innermost of that name
            stack.reverse()
        elif phase in "be":
            if "id" not in event:
                yield f"{name!r} ({phase}) has no id"
                continue
            key = event.get("cat"), event["id"], name
            flying[key] += 1 if phase == "b" else -1
            if flying[key] < 0:
                yield f"{name!r}, id {event['id']}: ends and had not begun"
            elif flying[key] > 1:
                yield f"{name!r}: id {event['id']} is used twice at a time"
    for row, stack in open_.items():
        for name in stack:
            yield f"{row}: {name!r} begins and never ends"


def _arrows(events: Sequence[Event]) -> Iterator[str]:
    """An arrow has one start and one end, an id of its own, and does not go back."""
    starts: dict[Any, Event] = {}
    ends: set[Any] = set()
    for event in events:
        if event["ph"] not in "sf":
            continue
        key, name = (event.get("cat"), event.get("id")), event["name"]
        if event.get("id") is None:
            yield f"the arrow {name!r} has no id"
        elif event["ph"] == "s":
            if key in starts:
                yield f"the arrow {name!r}: id {event['id']} is used twice"
            starts[key] = event
    for event in events:
        if event["ph"] != "f" or event.get("id") is None:
            continue
        key, name = (event.get("cat"), event["id"]), event["name"]
        if event.get("bp") != "e":
            yield f"the arrow {name!r}, id {event['id']}: ends without bp='e'"
        if key in ends:
            yield f"the arrow {name!r}, id {event['id']}: ends twice"
        ends.add(key)
        start = starts.get(key)
        if start is None:
            yield f"the arrow {name!r}, id {event['id']}: ends and had not begun"
        elif start["ts"] > event["ts"] + CLOSE:
            yield f"the arrow {name!r}, id {event['id']}: goes back in time"
    for key, start in starts.items():
        if key not in ends:
            yield f"the arrow {start['name']!r}, id {key[1]}: never ends"


def _counters(events: Sequence[Event]) -> Iterator[str]:
    """A counter tells numbers, and bytes are never below zero."""
    for event in events:
        if event["ph"] != "C":
            continue
        args = event.get("args")
        if (
            not isinstance(args, dict)
            or not args
            or not all(map(is_number, args.values()))
        ):
            yield f"the counter {event['name']!r} tells no number: {args!r}"
        elif event["name"].startswith("Memory") and min(args.values()) < 0:
            yield f"the counter {event['name']!r} is below zero: {args!r}"


def _names(events: Sequence[Event]) -> Iterator[str]:
    """No two processes or threads share a number and differ in name."""
    known: dict[tuple[Any, ...], Any] = {}
    for event in events:
        if event["ph"] == "M" and event.get("name") in ("process_name", "thread_name"):
            tid = event.get("tid") if event["name"] == "thread_name" else None
            key, name = (
                (event["name"], event.get("pid"), tid),
                event["args"].get("name"),
            )
            if known.setdefault(key, name) != name:
                yield f"{key[0]} of {key[1:]} is {known[key]!r} and {name!r}"
