"""A trace as a record: what any profiler wrote, for every view of ours.

    record = mx.profiler.load("trace.json.gz")
    EngineTimeline(record)

Traces of this profiler come back as they were: operations with their ids, waits and
arrows. MXNet's own and PyTorch's tell less, and it is put where ours would be: slices
are operations, each thread is a lane (and more of them where slices nest or overlap),
arrows are dependencies, calls of the interface stand in `calls`, the rest in `marks`.
What a trace does not tell stays open: an operation was pushed when it started, and
memory is `temporary`. Units are microseconds in every trace, whatever
`displayTimeUnit` says; that is for the eye.
"""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, Final

import numpy as np

from minimx.core.errors import ProfilerError
from minimx.core.events import PHASES
from minimx.core.record import Record
from minimx.core.record.tables import TABLES, Array, Contents, dtype_of
from minimx.profiler.gathered import UNKNOWN, Gathered
from minimx.profiler.nesting import NONE, Nested, nest
from minimx.profiler.reading import Reader
from minimx.profiler.session import ProfilerWarning
from minimx.profiler.trace import C_API, CUSTOM, SOURCE, place_of

LONGEST: Final = 4e15  # microseconds from the first event to the last
MOST_LANES: Final = 1000
DEPENDENCIES: Final = ("RAW", "WAR", "WAW")
OTHERS: Final = "other threads"
MODULE: Final = "nn.Module: "  # PyTorch's slices of layers
#: What names tell about the phase of training, where the trace itself does not.
PHASE_PATTERNS: Final = (
    ("update", re.compile(r"Optimizer\.step|_update$")),
    ("backward", re.compile(r"[Bb]ackward|autograd::engine")),
    ("data", re.compile(r"DataLoader")),
)


def load(path: str | os.PathLike[str]) -> Record:
    """Read a Chrome trace: ours, MXNet's, PyTorch's, or another; packed or not.

    Raises `ProfilerError` for what is damaged, and warns of what is left out.

    Examples
    --------
    >>> import json, tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "trace.json"
    >>> slice = {"ph": "X", "name": "dot", "ts": 5, "dur": 2, "pid": 1, "tid": 7}
    >>> _ = path.write_text(json.dumps([slice]))
    >>> load(path).ops()["t_end"]
    array([2000])
    """
    reader, found = Reader(Path(path)), Gathered()
    try:
        for event in reader.events():
            found.add(event)
        found.close()
        record = _Importer(found, reader.facts).record()
    except ProfilerError as trouble:
        if str(trouble).startswith(str(path)):
            raise
        raise ProfilerError(
            f"{path}, event {reader.count}: {trouble}. The trace is damaged, or "
            "the program that wrote it made a mistake."
        ) from trouble
    if found.left_out:
        left_out = ", ".join(f"{n:,} {what}" for what, n in found.left_out.items())
        warnings.warn(f"{path}: not taken over: {left_out}.", ProfilerWarning, 2)
    return record


class _Importer:
    """Turns what was gathered into the tables of a record."""

    def __init__(self, found: Gathered, facts: dict[str, Any]) -> None:
        self.found = found
        self.strings = found.strings
        other_data = facts.get("otherData")
        self.other_data: dict[str, Any] = (
            other_data if isinstance(other_data, dict) else {}
        )
        self.ours = self.other_data.get("source") == SOURCE
        self.slices, self.spans = found.slices.array(), found.spans.array()
        self.marks, self.levels = found.marks.array(), found.levels.array()
        self.blocks, self.arrows = found.blocks.array(), found.arrows.array()
        self._sort_spans()
        self._choose_origin()
        self._name_rows()

    def record(self) -> Record:
        """Everything as a record that does not run."""
        ops, deps = self._operations()
        tables = {name: np.empty(0, dtype_of(name)) for name in TABLES}
        tables |= {"ops": ops, "deps": deps, "calls": self._calls()}
        tables |= {"marks": self._marks(), "mem": self._memory(ops)}
        times = [ops["t_end"], tables["mem"]["t"], tables["marks"]["t"]]
        last = max((int(each.max()) for each in times if len(each)), default=0)
        clock = "virtual" if self.other_data.get("clock") == "virtual" else "wall"
        conditions: dict[str, Any] = {
            "knobs": {}, "seed": 0, "clock": clock, "cores": 0, "devices": {},
            "t_start": self.start, "t_stop": max(last, self.start),
        }  # fmt: skip
        dropped = dict.fromkeys(TABLES, 0)
        return Record.of(Contents(tables, self.strings.texts, dropped, conditions))

    # Before anything else

    def _sort_spans(self) -> None:
        """Which spans are calls, which are marks, and which are work."""
        names, spans = self.strings.texts, self.spans
        category = np.array([names[i] for i in spans["category"].tolist()], object)
        calls = (category == C_API) | (category == CUSTOM)
        self.calls, spans = spans[calls], spans[~calls]
        category = category[~calls]
        number = self.strings.find("operator")
        if (self.slices["category"] == number).any():
            # MXNet tells each operation twice, once for its device, once as such.
            duplicates = category == "operator"
            spans, category = spans[~duplicates], category[~duplicates]
        if self.ours or len(self.calls):
            self.spans = spans
            return
        self.spans = spans[:0]
        more = np.zeros(len(spans), self.slices.dtype)
        for column in ("ts", "dur", "name", "category"):
            more[column] = spans[column]
        more["phase"] = UNKNOWN
        for i, (row, word) in enumerate(zip(spans["row"], category, strict=True)):
            more["row"][i] = self._asynchronous(int(row), str(word))
        self.slices = np.concatenate([self.slices, more])

    def _asynchronous(self, row: int, category: str) -> int:
        """The row of the asynchronous spans of a process and category."""
        self.row_of = getattr(self, "row_of", list(self.found.rows))
        pid = self.row_of[row][0]
        key = pid, ("asynchronous", category)
        self.found.threads.setdefault(key, category or "asynchronous")
        return self.found.rows.setdefault(key, len(self.found.rows))

    def _choose_origin(self) -> None:
        """The moment that is 0: in our traces, where the record began."""
        firsts = [self.slices["ts"] - self.slices["queue"] - self.slices["data"]]
        lasts = [self.slices["ts"] + self.slices["dur"]]
        for each in (self.spans, self.calls, self.marks, self.levels, self.blocks):
            firsts.append(each["ts"])
            lasts.append(each["ts"])
        low = min((float(each.min()) for each in firsts if len(each)), default=0.0)
        high = max((float(each.max()) for each in lasts if len(each)), default=0.0)
        if high - low > LONGEST:
            raise ProfilerError(f"the trace lasts {high - low:.3g} microseconds")
        self.origin = min(low, 0.0) if self.ours else low
        self.start = self._ns(0.0) if self.ours else 0

    def _ns(self, ts: Any) -> Any:
        """Microseconds of the trace as nanoseconds of the record."""
        rounded = np.rint((ts - self.origin) * 1000)
        return (
            rounded.astype(np.int64)
            if isinstance(rounded, np.ndarray)
            else int(rounded)
        )

    def _name_rows(self) -> None:
        """The device and the lane of each row."""
        found, number = self.found, self.strings.number
        nameless: Counter[str] = Counter()
        used: set[str] = set()
        self.devices, self.lanes, self.titles = [], [], []
        for pid, tid in found.rows:
            process = found.processes.get(pid, str(pid))
            label, thread = found.labels.get(pid, ""), found.threads.get((pid, tid), "")
            device = place_of(process)
            if gpu := re.fullmatch(r"GPU (\d+)", label):
                device = f"gpu({gpu[1]})"
            elif label == "CPU":
                device = "cpu(0)"
            title = thread = thread or (tid if isinstance(tid, str) else "")
            if stream := re.fullmatch(r"stream (\d+)", thread):
                title = f"{device}/{stream[1]}"
            elif not thread:
                title = f"{device}/{nameless[device]}"
                nameless[device] += 1
            if title in used and not self.ours:
                title = f"{title} ({process})"
            if title in used and not self.ours:
                title = f"{title} #{tid}"
            used.add(title)
            self.devices.append(number(device))
            self.titles.append(title)
            self.lanes.append(number(thread or title))

    # Operations

    def _operations(self) -> tuple[Array, Array]:
        slices = self.slices
        start = self._ns(slices["ts"])
        # Rounded for itself, so that what is as long stays as long.
        end = start + np.rint(slices["dur"] * 1000).astype(np.int64)
        nested = nest(slices["row"], start, end)
        ops = np.zeros(len(slices), dtype_of("ops"))
        queue, data = (
            np.rint(slices[name] * 1000).astype(np.int64) for name in ("queue", "data")
        )
        ops["t_start"], ops["t_end"] = start, end
        ops["t_ready"] = start - queue
        ops["t_push"] = start - queue - data
        for column, old in (
            ("name", "name"), ("priority", "priority"), ("forward_op", "forward"),
            ("failed", "failed"), ("graph", "graph"),
        ):  # fmt: skip
            ops[column] = slices[old]
        ops["device"] = np.array([0, *self.devices])[slices["row"] + 1]
        self._choose_lanes(ops, nested)
        self._tell_phases(ops, nested)
        numbers = slices["op"]
        sound = len(np.unique(numbers)) == len(numbers) and (numbers < 1 << 32).all()
        if self.ours and sound and (numbers > 0).all():
            order = np.arange(len(ops))
            ops["op"] = numbers
        else:
            order = np.argsort(end, kind="stable")
            ops["op"][order] = np.arange(1, len(ops) + 1)
        deps = self._dependencies(ops, nested)
        self.nested, self.by_row = nested, ops
        return ops[order], deps

    def _choose_lanes(self, ops: Array, nested: Nested) -> None:
        """The worker of each operation: its thread, and how deep it lies there."""
        if self.ours:  # what overlaps there did so in the record
            ops["worker"] = np.array([0, *self.lanes])[self.slices["row"] + 1]
            return
        depth = np.empty(len(ops), np.int64)
        depth[nested.order] = nested.depth
        lanes, which = np.unique(
            np.stack([self.slices["row"], depth]), axis=1, return_inverse=True
        )
        names: list[int] = []
        for row, level in lanes.T.tolist():
            title = self.titles[row] + (f" +{level}" if level else "")
            names.append(
                self.strings.number(title if len(names) < MOST_LANES else OTHERS)
            )
        if len(names) > MOST_LANES:
            self.found.left_out["lanes, put on one of their own"] += (
                len(names) - MOST_LANES
            )
        ops["worker"] = np.array([*names, 0])[which.reshape(-1)]

    def _tell_phases(self, ops: Array, nested: Nested) -> None:
        """Phase and layer: what is given, else what names say, else what is around."""
        texts, number = self.strings.texts, self.strings.number
        if self.ours:
            known = np.array([number(phase) for phase in PHASES])
            ops["phase"] = known[np.maximum(self.slices["phase"], 0)]
            ops["layer"] = self.slices["layer"]
            return
        hints: dict[int, tuple[int, int]] = {}
        for name in np.unique(ops["name"]).tolist():
            fitting = (p for p, wanted in PHASE_PATTERNS if wanted.search(texts[name]))
            layer = texts[name].removeprefix(MODULE)
            phase = number(next(fitting, ""))
            hints[name] = phase, 0 if layer == texts[name] else number(layer)
        phases: list[int] = []
        layers: list[int] = []
        names = ops["name"][nested.order].tolist()
        for name, parent in zip(names, nested.parent.tolist(), strict=True):
            phase, layer = hints[name]
            phases.append(phase or (phases[parent] if parent != NONE else 0))
            layers.append(layer or (layers[parent] if parent != NONE else 0))
        other = number("other")
        ops["phase"][nested.order] = [phase or other for phase in phases]
        ops["layer"][nested.order] = layers

    def _dependencies(self, ops: Array, nested: Nested) -> Array:
        """Arrows as rows of `deps`; what they tell of pushes and gradients as well."""
        arrows = self.arrows
        arrows = arrows[np.lexsort((arrows["step"], arrows["ts"], arrows["key"]))]
        place_of_op = {op: i for i, op in enumerate(ops["op"].tolist())}
        ends = [
            self._slice_of(arrow, nested, place_of_op if self.ours else {})
            for arrow in arrows
        ]
        texts, number = self.strings.texts, self.strings.number
        raw = number("RAW")
        deps, used = [], 0
        for i in range(len(arrows) - 1):
            one, two = arrows[i], arrows[i + 1]
            if one["key"] != two["key"] or one["step"] == 2 or two["step"] == 0:
                continue
            used += 1
            source, target = ends[i], ends[i + 1]
            if NONE in (source, target) or source == target:
                self.found.left_out["arrows between no two slices"] += 1
                continue
            kind = int(one["name"])
            kind = kind if texts[kind] in DEPENDENCIES else raw
            deps.append((ops["op"][source], ops["op"][target], kind))
            if texts[one["category"]] == "fwdbwd":
                ops["forward_op"][target] = ops["op"][source]
            elif texts[one["category"]] == "ac2g":  # launched here, runs there
                begun = min(ops["t_start"][source], ops["t_start"][target])
                ops["t_push"][target] = ops["t_ready"][target] = begun
        starts = int((arrows["step"] != 2).sum())
        if starts > used:
            self.found.left_out["arrows that end nowhere"] += starts - used
        return np.array(deps, dtype_of("deps"))

    def _slice_of(self, arrow: Any, nested: Nested, known: dict[int, int]) -> int:
        """The row of `ops` that an end of an arrow belongs to, -1 if none."""
        producer = known.get(int(arrow["op"]), NONE)
        if producer != NONE:
            return producer
        row, moment = int(arrow["row"]), self._ns(float(arrow["ts"]))
        find = nested.around if arrow["inside"] else nested.next
        place = find(row, moment)
        return NONE if place == NONE else int(nested.order[place])

    # Calls, marks, memory

    def _calls(self) -> Array:
        calls = np.zeros(len(self.calls), dtype_of("calls"))
        calls["t0"] = self._ns(self.calls["ts"])
        calls["t1"] = calls["t0"] + np.rint(self.calls["dur"] * 1000).astype(np.int64)
        calls["name"], calls["detail"] = self.calls["name"], self.calls["detail"]
        calls["thread"] = np.array([0, *self.lanes])[self.calls["row"] + 1]
        return calls

    def _marks(self) -> Array:
        """Marks, and the two ends of each span, in the order of time."""
        number = self.strings.number
        start, stop = number("start"), number("stop")
        rows = []
        for i, span in enumerate(self.spans):
            t0 = self._ns(float(span["ts"]))
            t1 = t0 + round(float(span["dur"]) * 1000)
            what = (
                *self._kind(span["category"], "task"),
                int(span["name"]),
                i + 1,
                0.0,
            )
            lane = self.lanes[span["row"]]
            rows += [(t0, start, *what, lane), (t1, stop, *what, lane)]
        texts = self.strings.texts
        for mark in self.marks:
            t, usual = self._ns(float(mark["ts"])), texts[mark["kind"]]
            kind = self._kind(mark["category"], usual)
            what = (*kind, int(mark["name"]), 0, float(mark["value"]))
            lane = self.lanes[mark["row"]]
            rows.append((t, int(mark["event"]), *what, lane))
        rows.sort(key=lambda row: row[0])
        return np.array(rows, dtype_of("marks"))

    def _kind(self, category: int, usual: str) -> tuple[int, int]:
        """Kind and domain of a mark; `minimx.profiler.trace.category_of`, backwards."""
        word, number = self.strings.texts[category], self.strings.number
        if usual == "task" and word == "event":
            return number("event"), number("")
        for ending, kind in ((",frame", "frame"), (",instant_marker", usual)):
            if word.endswith(ending):
                return number(kind), number(word.removesuffix(ending))
        return number(usual), number(word)

    def _memory(self, ops: Array) -> Array:
        """Rows of `mem`, with a number of its own for each allocation."""
        rows = [*self._from_levels(), *self._from_blocks()]
        rows.sort(key=lambda row: row[0])
        return np.array(rows, dtype_of("mem"))

    def _from_levels(self) -> list[tuple[int, ...]]:
        """A counter gives sums; what it lost was allocated in the pieces it gained."""
        number = self.strings.number
        alloc, free = number("alloc"), number("free")
        about = number(""), number(""), number("other"), number("temporary")
        rows: list[tuple[int, ...]] = []
        held: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        self.allocations = 0

        def allocate(t: int, device: int, nbytes: int) -> None:
            self.allocations += 1
            held[device].append((nbytes, self.allocations))
            block_facts = self.allocations, nbytes, nbytes, 0
            rows.append((t, 0, alloc, device, *block_facts, *about))

        for level in self.levels[np.argsort(self.levels["ts"], kind="stable")]:
            t, device = self._ns(float(level["ts"])), int(level["device"])
            mine = held[device]
            gone = sum(nbytes for nbytes, _ in mine) - int(level["level"])
            while gone > 0:
                fits = (i for i in range(len(mine) - 1, -1, -1) if mine[i][0] == gone)
                nbytes, block = mine.pop(next(fits, -1))
                rows.append((t, 0, free, device, block, nbytes, nbytes, 0, *about))
                gone -= nbytes
            if gone < 0:
                allocate(t, device, -gone)
        return rows

    def _from_blocks(self) -> list[tuple[int, ...]]:
        """PyTorch names each piece by its address, and who asked is who ran."""
        number = self.strings.number
        alloc, free, other = number("alloc"), number("free"), number("other")
        temporary = number("temporary")
        held: dict[tuple[int, int], tuple[int, ...]] = {}
        rows: list[tuple[int, ...]] = []
        for one in self.blocks[np.argsort(self.blocks["ts"], kind="stable")]:
            t, nbytes = self._ns(float(one["ts"])), int(one["nbytes"])
            key = int(one["device"]), int(one["address"])
            place = self.nested.around(int(one["row"]), t)
            op, who = 0, (0, 0, other)
            if place != NONE:
                row = self.by_row[self.nested.order[place]]
                op, who = int(row["op"]), (row["name"], row["layer"], row["phase"])
            if nbytes >= 0:
                self.allocations += 1
                facts = self.allocations, nbytes, nbytes, key[1]
                block_facts = *facts, *map(int, who), temporary
                held[key] = block_facts
                rows.append((t, op, alloc, key[0], *block_facts))
            elif key in held:
                rows.append((t, op, free, key[0], *held.pop(key)))
            else:
                self.found.left_out["frees of memory allocated before the trace"] += 1
        return rows
