"""A record as a Chrome trace: the events that Perfetto and chrome://tracing draw.

`Trace.events(batch)` turns the rows that are new into events, as JSON texts; a trace
grows as its record does. Rules that viewers insist on and this file keeps:

- one row (pid, tid) for each worker, on which complete events (`X`) nest;
- what overlaps (tasks, calls from several threads) is asynchronous (`b`, `e`), with an
  id of its own;
- an arrow (`s`, `f`) has an id that no other arrow has, and ends in the slice around
  its end (`bp: "e"`);
- a counter (`C`) tells a level, and no level is below zero;
- rows have names (`M`), devices are processes.

Times are microseconds since the record began, with the nanoseconds as decimals.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from minimx.core.record.record import Batch
from minimx.profiler.settings import API, IMPERATIVE, MEMORY, SYMBOLIC, Settings

SOURCE: Final = "minimx"  # who wrote a trace, in its head
PROGRAM: Final = "program"  # the process of threads that push, and of marks
C_API: Final = "MXNET_C_API"
STORAGE: Final = "Device Storage"
CUSTOM: Final = "Custom Operator"

#: Memory events that add what was asked for, and the one that takes it away. (A block
#: that goes on to the device at once is recorded twice, "free" and "release".)
ALLOCATIONS: Final = ("live", "alloc", "hit")
RETURNS: Final = ("free",)

KINDS_OF_DEVICE: Final = ("cpu", "gpu", "cpu pinned", "cpu shared")

#: So many operations are remembered for arrows that begin in them.
REMEMBERED: Final = 200_000


def shown(device: str) -> str:
    """A device as MXNet writes it in traces.

    >>> shown("gpu(1)"), shown("cpu_pinned(0)")
    ('gpu/1', 'cpu pinned/0')
    """
    return device.replace("_", " ").replace("(", "/").replace(")", "")


class Trace:
    """The events of one profile, from its first row on."""

    def __init__(self, settings: Settings, begun: int) -> None:
        """begun: the moment that is 0, in nanoseconds of the record's clock."""
        self.settings = settings
        self.begun = begun
        self.texts: list[str] = []
        self.levels: dict[str, int] = {}  # bytes in use, by device
        self._pids: dict[str, int] = {}
        self._tids: dict[tuple[int, str], int] = {}
        self._places: dict[int, tuple[int, int, int, int]] = {}
        self._waiting: dict[int, list[tuple[int, str]]] = {}
        self._open: dict[tuple[str, int], int] = {}  # what has begun -> its id
        self._next_id = 0
        self._named: list[str] = []

    def events(self, batch: Batch) -> Iterator[str]:
        """The events of a batch, as JSON texts."""
        self.texts.extend(batch.strings)
        for part in (self._marks, self._calls, self._deps, self._ops, self._memory):
            for text in part(batch):
                yield from self._named
                self._named.clear()
                yield text

    def continued(self) -> Trace:
        """The rest of this profile, for a file of its own.

        Arrows and stretches of time that began in the file before are not drawn in it.
        """
        rest = Trace(self.settings, self.begun)
        rest.texts, rest.levels = self.texts, self.levels
        rest._next_id = self._next_id
        return rest

    # Rows of the picture

    def names(self) -> Iterator[str]:
        """What announces the rows that there are so far."""
        for process, pid in self._pids.items():
            yield _named("process_name", pid, 0, process)
        for (pid, lane), tid in self._tids.items():
            yield _named("thread_name", pid, tid, lane)

    def _row(self, process: str, lane: str) -> tuple[int, int]:
        """The numbers of a row; a new one is announced by its name."""
        pid = self._pids.get(process)
        if pid is None:
            pid = self._pids[process] = len(self._pids)
            self._named.append(_named("process_name", pid, 0, process))
        tid = self._tids.get((pid, lane))
        if tid is None:
            tid = self._tids[pid, lane] = len(self._tids) + 1
            self._named.append(_named("thread_name", pid, tid, lane))
        return pid, tid

    def _us(self, ns: int) -> str:
        return f"{(ns - self.begun) / 1000:.3f}"

    def _id(self) -> int:
        self._next_id += 1
        return self._next_id

    # Operations

    def _ops(self, batch: Batch) -> Iterator[str]:
        texts, mode = self.texts, self.settings.mode
        for row in batch["ops"].tolist():
            op, name, layer, phase, device, worker = row[:6]
            pushed, ready, start, end, priority, forward, failed, graph = row[6:14]
            if not mode & (SYMBOLIC if graph else IMPERATIVE):
                self._waiting.pop(op, None)
                continue
            pid, tid = self._row(shown(texts[device]), texts[worker])
            more = ',"failed":true' if failed else ""
            more += ',"graph":true' if graph else ""
            more += f',"priority":{priority}' if priority else ""
            more += f',"forward_op":{forward}' if forward else ""
            yield (
                f'{{"ph":"X","cat":"operator","name":{_text(texts[name])},'
                f'"ts":{self._us(start)},"dur":{(end - start) / 1000:.3f},'
                f'"pid":{pid},"tid":{tid},"args":{{"op":{op},"layer":{_text(texts[layer])},'
                f'"phase":{_text(texts[phase])},"for_data_us":'
                f'{(ready - pushed) / 1000:.3f},"for_worker_us":'
                f"{(start - ready) / 1000:.3f}{more}}}}}"
            )
            yield from self._arrows(op, pid, tid, start, end)

    def _deps(self, batch: Batch) -> Iterator[str]:
        if self.settings.profile_dependencies:
            for src, dst, kind in batch["deps"].tolist():
                self._waiting.setdefault(dst, []).append((src, self.texts[kind]))
        return iter(())

    def _arrows(
        self, op: int, pid: int, tid: int, start: int, end: int
    ) -> Iterator[str]:
        """The arrows that end in an operation; those that begin in it come later."""
        if not self.settings.profile_dependencies:
            return
        places = self._places
        places[op] = pid, tid, start, end
        if len(places) > REMEMBERED:
            del places[next(iter(places))]
        for src, kind in self._waiting.pop(op, ()):
            origin = places.get(src)
            if origin is None or kind == "BULK":
                continue
            number = self._id()
            head = f'"cat":"dependency","name":"{kind}","id":{number}'
            their_pid, their_tid, begun, done = origin
            yield (
                f'{{"ph":"s",{head},"ts":{self._us(max(begun, done - 1))},'
                f'"pid":{their_pid},"tid":{their_tid},"args":{{"op":{src}}}}}'
            )
            yield (
                f'{{"ph":"f","bp":"e",{head},"ts":{self._us(start)},'
                f'"pid":{pid},"tid":{tid},"args":{{"op":{op}}}}}'
            )

    # Memory

    def _memory(self, batch: Batch) -> Iterator[str]:
        for t, _, event, device, _, requested, *_ in batch["mem"].tolist():
            word, place = self.texts[event], self.texts[device]
            if word in ALLOCATIONS:
                change = requested
            elif word in RETURNS:
                change = -requested
            else:
                continue
            # Below zero it can be only where the record has lost rows.
            level = max(self.levels.get(place, 0) + change, 0)
            self.levels[place] = level
            if self.settings.mode & MEMORY:
                name = f"Memory: {shown(place)}"
                yield self._counter(STORAGE, name, t, level)

    def _counter(self, category: str, name: str, t: int, level: float) -> str:
        pid, tid = self._row(category, "levels")
        title, value = _text(name), int(level) if level == int(level) else level
        return (
            f'{{"ph":"C","cat":{_text(category)},"name":{title},"ts":{self._us(t)},'
            f'"pid":{pid},"tid":{tid},"args":{{{title}:{value}}}}}'
        )

    # Calls and marks

    def _calls(self, batch: Batch) -> Iterator[str]:
        if not self.settings.mode & API:
            return
        for t0, t1, name, detail, thread in batch["calls"].tolist():
            pid, tid = self._row(PROGRAM, self.texts[thread])
            operator = self.texts[detail]
            category = CUSTOM if operator == CUSTOM else C_API
            more = {"operator": operator} if operator else {}
            yield from self._span(category, self.texts[name], t0, t1, pid, tid, more)

    def _span(
        self, category: str, name: str, t0: int, t1: int, pid: int, tid: int, more: Any
    ) -> Iterable[str]:
        """Something that may overlap with its like on the same row."""
        head = (
            f'"cat":{_text(category)},"name":{_text(name)},"id":{self._id()},'
            f'"pid":{pid},"tid":{tid}'
        )
        return (
            f'{{"ph":"b",{head},"ts":{self._us(t0)},"args":{json.dumps(more)}}}',
            f'{{"ph":"e",{head},"ts":{self._us(t1)}}}',
        )

    def _marks(self, batch: Batch) -> Iterator[str]:
        texts = self.texts
        for t, event, kind, domain, name, number, value, thread in batch[
            "marks"
        ].tolist():
            category, title = category_of(texts[kind], texts[domain]), texts[name]
            if texts[event] == "value":
                yield self._counter(category, title, t, value)
                continue
            pid, tid = self._row(PROGRAM, texts[thread])
            head = f'"cat":{_text(category)},"name":{_text(title)},"pid":{pid}'
            if texts[event] == "mark":
                scope = {"global": "g", "thread": "t"}.get(texts[kind], "p")
                yield (
                    f'{{"ph":"i",{head},"tid":{tid},"s":"{scope}","ts":{self._us(t)}}}'
                )
                continue
            key = texts[kind], number
            if texts[event] == "start":
                phase, self._open[key] = "b", self._id()
            elif key in self._open:
                phase = "e"
            else:
                continue  # it began before the profiler did
            number = self._open[key] if phase == "b" else self._open.pop(key)
            yield (
                f'{{"ph":"{phase}",{head},"tid":{tid},"id":{number},'
                f'"ts":{self._us(t)}}}'
            )


def _named(what: str, pid: int, tid: int, name: str) -> str:
    row = {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}
    return json.dumps(row)


def place_of(process: str) -> str:
    """The device that `shown` wrote, or the text itself.

    >>> place_of("gpu/1"), place_of("cpu pinned/"), place_of("worker 3")
    ('gpu(1)', 'cpu_pinned(0)', 'worker 3')
    """
    kind, slash, number = process.rpartition("/")
    if not slash or kind not in KINDS_OF_DEVICE or not (number or "0").isdigit():
        return process
    return f"{kind.replace(' ', '_')}({number or 0})"


def category_of(kind: str, domain: str) -> str:
    """What MXNet calls the category of something that a program measures itself.

    >>> category_of("frame", "camera"), category_of("task", "camera")
    ('camera,frame', 'camera')
    """
    if kind == "event":
        return "event"
    if kind == "frame":
        return f"{domain},frame"
    if kind in ("process", "thread", "global"):
        return f"{domain},instant_marker"
    return domain


_known_texts: dict[str, str] = {}


def _text(value: str) -> str:
    """A text as JSON; most are met again and again."""
    found = _known_texts.get(value)
    if found is None:
        if len(_known_texts) > 10_000:
            _known_texts.clear()
        found = _known_texts[value] = json.dumps(value[:127])
    return found
