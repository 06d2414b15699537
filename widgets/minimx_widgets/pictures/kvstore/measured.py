"""The communication that a record holds, as a scene: the last whole step of it.

A step begins with a backward pass, as in the simulation. Copies of a store are those in
the phase of updates; pieces of a batch are none. A copy is a push if it reads what a
backward pass wrote, and a pull if it reads a sum or a weight that was updated; its key
is that of the gradient. Copies inside one memory, such as between `cpu(0)` and
`cpu(1)`, cross no link.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from minimx.core.record import Record
from minimx.kvstore.simulation import Link
from minimx_widgets.packing import Array
from minimx_widgets.pictures.kvstore.layout import (
    ABOVE,
    ARROW,
    BELOW,
    HOST,
    RANK,
    WORKER,
    Bus,
    Layout,
    Place,
    Wire,
    spread,
)
from minimx_widgets.pictures.kvstore.scene import (
    BACKWARD,
    COMPUTING,
    FORWARD,
    MEASURED,
    OTHER,
    PULL,
    PUSH,
    REDUCE,
    UPDATE,
    Bars,
    Key,
    Load,
    Numbers,
    Scene,
    covered,
    rows_of,
    waits,
)

#: Operations that add up what came together.
SUMS = ("KVStoreReduce", "add_n", "ElementWiseSum", "_sum")
#: The phases in which a device computes a step.
PASSES = ("forward", "backward")
_PHASES = {"forward": FORWARD, "backward": BACKWARD, "update": UPDATE}
_RANKS = re.compile(r"\d+ ranks")
#: A rank's CPU, from whose memory MPI sends: its communication is that of the rank.
_RANKS_CPU = re.compile(r"(rank \d+) cpu\(\d+\)")
NOTHING = (
    "This record holds no communication. Record a step on two devices or more, with "
    "gluon.Trainer(..., kvstore='device') and ctx=[mx.gpu(0), mx.gpu(1)], or a program "
    "under `minimx launch`."
)
ELSEWHERE = (
    "The last whole step of this record holds no communication, and other parts of it "
    "do. DeviceView(record) shows all of them."
)


@dataclass
class _Op:
    """An operation or a copy of the step that is shown."""

    number: int
    kind: int
    place: str
    start: float
    end: float
    layer: str = ""
    key: str = ""
    link: str = ""
    nbytes: int = 0


def measured(record: Record) -> Scene:
    """The scene of the last whole step in a record."""
    start, end = window(record)
    ops = _operations(record, start, end)
    if not any(op.kind in (PUSH, REDUCE, PULL) for op in ops):
        nothing = Layout((), (), ())
        lesson = ELSEWHERE if len(record.comm()) else NOTHING
        return Scene(MEASURED, "no communication", nothing, (), (), Bars.of([]),
                     (), (), (), 1.0, None, lesson)  # fmt: skip
    if any("host" in op.link.split(ARROW) for op in ops):
        for op in ops:  # what the CPU does, the host does
            op.place = "host" if op.place.startswith("cpu") else op.place
    places = list(dict.fromkeys(op.place for op in ops))
    links = Counter[str]()
    busy: dict[str, list[tuple[float, float]]] = {}
    for op in ops:
        if op.link:
            links[op.link] += op.nbytes
            busy.setdefault(op.link, []).append((op.start, op.end))
    layout = _layout([*places, *_ends(links)], links, busy)
    begins = start - record.conditions.t_start
    return replace(_scene(ops, places, layout, links, busy), begins=begins)


def window(record: Record) -> tuple[int, int]:
    """Start and end of the last whole step, in nanoseconds of the record's clock.

    Steps are those of the busiest device; all of the record if it holds fewer than one.
    """
    ops = record.ops()
    if not len(ops):
        comm = record.comm()
        if not len(comm):
            return 0, 1
        return int(comm["t0"].min()), int(comm["t1"].max())
    whole = int(ops["t_start"].min()), int(ops["t_end"].max())
    busiest = _busiest(record, ops)
    if busiest is None:
        return whole
    phases = np.array(record.texts(ops["phase"]), object)
    ours = np.isin(phases, PASSES) & (ops["device"] == busiest)
    order = np.argsort(ops["t_start"][ours], kind="stable")
    times, back = ops["t_start"][ours][order], phases[ours][order] == "backward"
    begins = times[np.flatnonzero(back & ~np.append(False, back[:-1]))]
    if len(begins) > 1:
        return int(begins[-2]), int(begins[-1])
    return (int(begins[0]), whole[1]) if len(begins) else whole


def _busiest(record: Record, ops: Array) -> int | None:
    """The device with most operations of forward and backward passes, as a string id.

    None where no pass was recorded.
    """
    passes = np.isin(np.array(record.texts(ops["phase"]), object), PASSES)
    if not passes.any():
        return None
    devices, counts = np.unique(ops["device"][passes], return_counts=True)
    return int(devices[counts.argmax()])


class LastStep:
    """A record of its last whole step, for `Workload.from_record`.

    Of several devices, it holds the one whose steps are counted: another's backward
    pass may begin just before the step does.
    """

    def __init__(self, record: Record) -> None:
        self._record = record
        self.texts = record.texts

    def ops(self) -> Array:
        """The operations of one device that started in the step."""
        start, end = window(self._record)
        ops = self._record.ops()
        inside = (ops["t_start"] >= start) & (ops["t_start"] < end)
        busiest = _busiest(self._record, ops)
        if busiest is not None:
            inside &= ops["device"] == busiest
        found: Array = ops[inside]
        return found


def _operations(record: Record, start: int, end: int) -> list[_Op]:
    """What happened in a stretch of time, in the order of the pushes."""
    ops, comm = record.ops(), record.comm()
    ops = ops[~np.isin(ops["op"], ops["inside"][ops["inside"] > 0])]
    ops = ops[(ops["t_start"] < end) & (ops["t_start"] >= start)]
    comm = comm[(comm["t0"] < end) & (comm["t0"] >= start)]
    found = [_plain(record, row, start) for row in ops]
    ends: dict[int, list[_Op]] = {}
    for row, one in zip(ops, found.copy(), strict=True):
        if record.strings[int(row["name"])].startswith("Copy"):
            ends.setdefault(int(row["t_end"]), []).append(one)
    for row in comm:
        source, target, key = (
            record.strings[int(row[n])] for n in ("src", "dst", "key")
        )
        waiting = ends.get(int(row["t1"]), [])
        op = waiting.pop(0) if waiting else None
        if op is None:
            op = _Op(0, REDUCE if _RANKS.fullmatch(target) else PUSH, source, 0, 0)
            found.append(op)
        if op.kind not in (PUSH, REDUCE):  # a piece of a batch, not of a store
            continue
        op.start, op.end = float(row["t0"] - start), float(row["t1"] - start)
        op.link, op.nbytes = f"{source}{ARROW}{target}", int(row["nbytes"])
        op.key = key or op.key
    _follow(found, _reads(record), _layers(record))
    return sorted(found, key=lambda op: op.start)


def _plain(record: Record, row: Any, start: int) -> _Op:
    name, phase, device = (
        record.strings[int(row[column])] for column in ("name", "phase", "device")
    )
    device = _RANKS_CPU.sub(r"\1", device)
    kind = _PHASES.get(phase, OTHER)
    if name.startswith("Copy") and phase == "update":
        kind = PUSH
    elif name in SUMS and phase not in ("forward", "backward"):
        kind = REDUCE
    times = float(row["t_start"] - start), float(row["t_end"] - start)
    layer = record.strings[int(row["layer"])]
    return _Op(int(row["op"]), kind, device, *times, layer=layer)


def _reads(record: Record) -> dict[int, list[int]]:
    """Which operations wrote what an operation reads."""
    deps = record.table("deps")
    found: dict[int, list[int]] = {}
    kinds = record.texts(deps["kind"])
    for source, target, kind in zip(
        deps["src"].tolist(), deps["dst"].tolist(), kinds, strict=True
    ):
        if kind == "RAW":
            found.setdefault(target, []).append(source)
    return found


def _layers(record: Record) -> dict[int, tuple[str, str]]:
    """Layer and phase of every operation."""
    ops = record.ops()
    pairs = zip(record.texts(ops["layer"]), record.texts(ops["phase"]), strict=True)
    return dict(zip(ops["op"].tolist(), pairs, strict=True))


def _follow(
    found: Sequence[_Op],
    reads: dict[int, list[int]],
    layers: dict[int, tuple[str, str]],
) -> None:
    """Tell pulls from pushes, and whose gradient each copy is about, by what they read.

    What reads a sum, an updated weight or a pull is a pull. A gradient is that of the
    layer whose backward pass wrote it.
    """
    known = {op.number: op for op in found if op.number}
    for op in sorted(known.values(), key=lambda op: op.number):
        sources = reads.get(op.number, [])
        ours = [known[one] for one in sources if one in known]
        if op.kind == PUSH and any(o.kind in (REDUCE, UPDATE, PULL) for o in ours):
            op.kind = PULL
        if not op.layer:
            named = [o.layer for o in ours if o.kind != FORWARD]
            named += [
                layers[one][0]
                for one in sources
                if layers.get(one, ("", ""))[1] == "backward"
            ]
            op.layer = next((name for name in named if name), "")
        if not op.key and op.kind in (REDUCE, UPDATE):
            op.key = next((o.key for o in ours if o.key), "")


def _names(ops: Sequence[_Op]) -> dict[str, str]:
    """What keys of a store are called: with the layer whose gradient they are.

    A hybridized network is one layer, which says nothing.
    """
    layers: dict[str, str] = {}
    for op in ops:
        if op.key and op.layer:
            layers.setdefault(op.key, op.layer)
    if len(set(layers.values())) < 2:
        return {key: f"key {key}" for key in layers}
    return {key: f"{key} {layer.split('/')[-1]}" for key, layer in layers.items()}


def _ends(links: Iterable[str]) -> list[str]:
    return [end for link in links for end in link.split(ARROW)]


def _kind(name: str) -> str:
    if name.startswith(("host", "server", "scheduler")):
        return HOST
    return RANK if name.startswith("rank") else WORKER


def _layout(
    names: Sequence[str],
    links: dict[str, int],
    busy: dict[str, list[tuple[float, float]]],
) -> Layout:
    """Devices above, host and servers below; ranks on the bus that joins them all."""
    names = list(dict.fromkeys(names))
    buses = [name for name in names if _RANKS.fullmatch(name)]
    above = sorted(
        (n for n in names if _kind(n) != HOST and n not in buses), key=_order
    )
    below = sorted((n for n in names if _kind(n) == HOST), key=_order)
    places = [
        Place(name, _kind(name), x, y)
        for row, y in ((above, ABOVE), (below, BELOW))
        for name, x in zip(row, spread(max(len(row), 1)), strict=False)
    ]
    at = {place.name: (place.x, place.y) for place in places}
    wires = []
    for name, nbytes in links.items():
        a, b = name.split(ARROW)
        start = at.get(a) or (at[b][0], 0.75)
        end = at.get(b) or (at[a][0], 0.75)
        took = sum(stop - begin for begin, stop in _spans(busy[name])) * 1e-9
        seen = Link(0.0, nbytes / took if took else 0.0)
        wires.append(Wire(name, (start, end), seen, seen, curved=start[1] == end[1]))
    bars = tuple(Bus(name, 0.02, 0.98, 0.75) for name in buses)
    return Layout(tuple(places), bars, tuple(wires))


def _order(name: str) -> tuple[str, int]:
    digits = re.sub(r"\D", "", name)
    return re.sub(r"\d", "", name), int(digits or 0)


def _spans(spans: Sequence[tuple[float, float]]) -> Array:
    table = np.array(spans, np.float64).reshape(len(spans), 2)
    return covered(table[:, 0], table[:, 1])


def _scene(
    ops: Sequence[_Op],
    places: Sequence[str],
    layout: Layout,
    links: dict[str, int],
    busy: dict[str, list[tuple[float, float]]],
) -> Scene:
    number = {name: k for k, name in enumerate(sorted(places, key=_order))}
    routes = {name: k for k, name in enumerate(links)}
    keys, position = _keys(ops)
    bars = Bars.of(
        [
            (number[op.place], op.kind, position[op.key or op.layer], op.start, op.end,
             routes.get(op.link, -1), op.nbytes, op.number)
            for op in ops
        ]
    )  # fmt: skip
    span = max(op.end for op in ops)
    loads = tuple(
        Load(nbytes, float(np.diff(_spans(busy[name])).sum()),
             float(np.diff(_spans(busy[name])).sum()) / span)
        for name, nbytes in links.items()
    )  # fmt: skip
    count = sum(place.kind != HOST for place in layout.places)
    return Scene(
        *(MEASURED, f"{count} devices", layout, loads),
        rows_of(number, layout, bars),
        bars,
        tuple((k,) for k in range(len(links))),
        keys,
        tuple(waits(bars, least=1000.0)),
        span,
        _numbers(bars, span),
    )


def _keys(ops: Sequence[_Op]) -> tuple[tuple[Key, ...], dict[str, int]]:
    """The keys, then layers that only compute; and the number of each by key or layer.

    The Trainer's keys are numbers, and the lower the more urgent.
    """
    names = _names(ops)
    sizes: dict[str, int] = {}
    for op in ops:
        one = op.key or op.layer
        sizes[one] = max(sizes.get(one, 0), op.nbytes)
    shared = {op.key for op in ops if op.key}
    sizes = dict(
        sorted(sizes.items(), key=lambda x: (x[0] not in shared, _order(x[0])))
    )
    keys = [
        Key(
            names.get(one, one.split("/")[-1] or "other"),
            int(one) if one.isdigit() else 0,
            size,
        )
        for one, size in sizes.items()
    ]
    return tuple(keys), {one: k for k, one in enumerate(sizes)}


def _numbers(bars: Bars, span: float) -> Numbers:
    """Of a measured step: hidden is communication while some device computes."""
    computes = np.isin(bars.kind, COMPUTING)
    shared = covered(bars.start[~computes], bars.end[~computes])
    most = 0.0
    for row in np.unique(bars.row[computes]).tolist():
        mine = computes & (bars.row == row)
        most = max(most, _length(covered(bars.start[mine], bars.end[mine])))
    working = covered(bars.start[computes], bars.end[computes])
    both = _length(working) + _length(shared)
    both -= _length(covered(bars.start, bars.end))
    whole = _length(shared)
    hidden = min(1.0, both / whole) if whole else 1.0
    return Numbers(span, most, whole, whole - both, hidden)


def _length(spans: Array) -> float:
    return float(np.diff(spans).sum())
