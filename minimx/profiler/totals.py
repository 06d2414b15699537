"""Overview: where time and memory of one run went, and how near to the roof it came.

    found = overview_of(record)          a record in, tables out; measures nothing
    print(found)                         the tables as text
    found.lanes, found.operators, found.modules, found.memory, found.notes

What the record does not know is stated in `notes`, not guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from minimx.core.device import as_device
from minimx.core.errors import DeviceError
from minimx.core.record import Record
from minimx.core.record.tables import Array, Strings
from minimx.core.storage import human
from minimx.profiler import roofs
from minimx.profiler.roofs import Roof
from minimx.profiler.shares import BUCKETS, Calls, LaneShares, Span, lanes, present
from minimx.profiler.work import Module, OperatorWork, kinds, modules, operators, pieces
from minimx.tools.record_curves import allocated_after, memory_curve

#: Rows of the table of operators, and of blocks, in text.
SHOWN: Final = 15


@dataclass(frozen=True)
class Peak:
    """What was in use when the most was.

    nbytes: in all. t: nanoseconds after the start. categories, layers: bytes by name,
    the largest first. blocks: bytes by layer and category.
    """

    nbytes: int
    t: int
    categories: dict[str, int]
    layers: dict[str, int]
    blocks: dict[tuple[str, str], int]


@dataclass(frozen=True)
class Overview:
    """The account of one record; see the top of the file."""

    span: int
    clock: str
    count: int
    lanes: tuple[LaneShares, ...]
    operators: tuple[OperatorWork, ...]
    modules: Module
    memory: Peak
    notes: tuple[str, ...]

    @property
    def busy(self) -> int:
        """Nanoseconds in which operations ran, of all lanes."""
        return sum(each.ns for each in self.operators)

    @property
    def roofs(self) -> tuple[Roof, ...]:
        """The roofs that operators were held against."""
        return tuple(dict.fromkeys(o.roof for o in self.operators if o.roof))

    def shares(self) -> dict[str, float]:
        """Where the time of all workers went, as shares of one; empty without any."""
        workers = [lane for lane in self.lanes if not lane.is_thread]
        whole = self.span * len(workers)
        if not whole:
            return {}
        columns = zip(*(lane.ns for lane in workers), strict=True)
        return {
            bucket: sum(column) / whole
            for bucket, column in zip(BUCKETS, columns, strict=True)
        }

    def __repr__(self) -> str:
        most = self.operators[0].name if self.operators else "nothing"
        return (
            f"Overview({self.count:,} operations in {_ms(self.span)} ms on "
            f"{len(self.lanes)} lanes, most of it {most}, peak "
            f"{human(self.memory.nbytes)})"
        )

    def __str__(self) -> str:
        parts = [repr(self)]
        parts += [_lanes_text(self), _operators_text(self), _modules_text(self)]
        parts += [_memory_text(self.memory), *self.notes]
        return "\n\n".join(part for part in parts if part)


RoofFor = Callable[[str, str], Roof | None]


def overview_of(record: Record, roof: RoofFor | None = None) -> Overview:
    """The overview of a record, which may be running.

    roof: by the name of a device and a type; `roof_of(record)` if it is left away.
    """
    roof = roof or roof_of(record)
    batch = record.since()
    texts = [*record.strings]
    ops = _without_holders(batch["ops"], batch["deps"], texts)
    span = _span(record, ops)
    kind = kinds(ops, texts)
    calls = Calls(batch["calls"], texts, span)
    found = pieces(ops, batch["parts"])
    memory = _peak(batch["mem"], texts, span, not record.dropped["mem"])
    parameters = {
        layer: nbytes
        for (layer, category), nbytes in memory.blocks.items()
        if category == "parameter"
    }
    ruled = operators(ops, kind, found, texts, roof)
    return Overview(
        span.ns,
        record.conditions.clock,
        len(ops),
        tuple(lanes(ops, kind, texts, calls, span)),
        tuple(ruled),
        modules(ops, found, texts, parameters),
        memory,
        tuple(_notes(record, ruled, bool(ops["work"].any()), len(batch["calls"]))),
    )


def roof_of(record: Record, measure: bool = False) -> RoofFor:
    """The roofs under which a record was made, as far as they are known.

    Numbers without a point are held against float32's. On the virtual clock roofs are
    what devices declare. On the wall clock they are those of this machine's processor,
    for a simulated GPU as well; `measure` them, or take what was measured before.
    """
    threads = int(record.conditions.knobs.get("OMP_NUM_THREADS", 0)) or None
    virtual = record.conditions.clock == "virtual"
    known: dict[tuple[str, str], Roof | None] = {}

    def asked(device: str, dtype: str) -> Roof | None:
        dtype = dtype if dtype in roofs.TYPES else "float32"
        if (device, dtype) not in known:
            known[device, dtype] = ask(device, dtype)
        return known[device, dtype]

    def ask(device: str, dtype: str) -> Roof | None:
        try:
            place = as_device(device)
            if virtual:
                return roofs.declared(place, dtype)
            if roofs.backend(place) != "cpu":
                return None
            look = roofs.measured if measure else roofs.known
            return look(dtype, threads)
        except (DeviceError, ValueError):  # a device that this machine does not have
            return None

    return asked


def _without_holders(ops: Array, deps: Array, texts: Sequence[str]) -> Array:
    """The operations but for those that only hold others, which have own rows."""
    bulk = [number for number in present(deps["kind"]) if texts[number] == "BULK"]
    holders = deps["src"][np.isin(deps["kind"], bulk)]
    return ops[~np.isin(ops["op"], holders)] if len(holders) else ops


def _span(record: Record, ops: Array) -> Span:
    """From the start of the record to its end, or to what ended last."""
    at = record.conditions
    start = at.t_start or int(ops["t_push"].min(initial=1 << 62)) % (1 << 62)
    if len(ops):
        start = min(start, int(ops["t_push"].min()))
    return Span(start, max(start, at.t_stop, int(ops["t_end"].max(initial=0))))


def _peak(mem: Array, texts: Sequence[str], span: Span, complete: bool) -> Peak:
    """Memory at its highest point, by category and layer."""
    strings = Strings(texts)
    curve = memory_curve(mem, strings, complete=complete)
    if not len(curve.t):
        return Peak(0, 0, {}, {}, {})
    rows = mem[allocated_after(mem, strings, curve.at_peak)]
    blocks: dict[tuple[str, str], int] = {}
    keys = rows["layer"].astype(np.int64) * (len(texts) + 1) + rows["category"]
    for key in np.unique(keys).tolist():
        layer, category = (texts[n] for n in divmod(key, len(texts) + 1))
        blocks[layer, category] = int(rows["requested"][keys == key].sum())
    moment = int(curve.t[curve.at_peak]) - span.start
    layers, categories = (_summed(blocks, which) for which in (0, 1))
    return Peak(sum(blocks.values()), moment, categories, layers, blocks)


def _summed(blocks: dict[tuple[str, str], int], which: int) -> dict[str, int]:
    """Bytes by one half of the keys, the largest first."""
    sums: dict[str, int] = {}
    for key, nbytes in blocks.items():
        sums[key[which]] = sums.get(key[which], 0) + nbytes
    return dict(sorted(sums.items(), key=lambda item: (-item[1], item[0])))


# -- what is not known -----------------------------------------------------------------


def _notes(
    record: Record, ruled: Sequence[OperatorWork], joined: bool, calls: int
) -> list[str]:
    """What to know before these numbers are believed."""
    notes = []
    if lost := sum(record.dropped.values()):
        notes.append(
            f"The record dropped {lost:,} rows: what was before them is not counted."
        )
    if record.running:
        notes.append("The record is running: this is how far it came.")
    if not calls and ruled:
        notes.append(
            "Calls were not recorded, so waiting for data or for results counts as 'no "
            "operation'. Record(calls=True) tells them apart."
        )
    if joined:
        notes.append(
            "The time of joined operations is shared by what their data sheets declare."
        )
    whole = sum(each.ns for each in ruled)
    blank = sum(each.ns for each in ruled if not (each.flops or each.nbytes))
    if blank:
        notes.append(
            f"{blank / whole:.1%} of the busy time is of operations that declare no "
            "cost."
        )
    return notes + _notes_on_roofs(record, ruled)


def _notes_on_roofs(record: Record, ruled: Sequence[OperatorWork]) -> list[str]:
    devices = {each.device for each in ruled}
    if record.conditions.clock == "virtual":
        return [
            "The clock was virtual: times are those of the cost model, and fractions "
            "are of the roof that devices declare."
        ]
    notes = []
    if ruled and not any(each.roof for each in ruled):
        notes.append("No roof was measured for these devices; fractions are not known.")
    elif any(name.startswith("gpu") for name in devices):
        notes.append(
            "A simulated GPU is as fast as the processor that plays it, and is held "
            "against the processor's roof."
        )
    if any((each.fraction or 0) > 1 for each in ruled):
        notes.append(
            "More than all of the roof: the bytes came from caches, which are faster "
            "than the memory, or the machine was busy when the roof was measured."
        )
    return notes


# -- as text ---------------------------------------------------------------------------


def _lanes_text(found: Overview) -> str:
    rows = []
    for lane in found.lanes:
        rows.append([lane.name, *(_percent(ns / (found.span or 1)) for ns in lane.ns)])
    if len(rows) > 1 and (shares := found.shares()):
        rows.append(["all workers", *map(_percent, shares.values())])
    title = f"Where time went, of {_ms(found.span)} ms"
    return _table(title, ["lane", *BUCKETS], rows)


def _operators_text(found: Overview) -> str:
    heads = ["operator", "dtype", "device", "calls", "ms", "share", "MFLOP", "MB"]
    heads += ["GFLOP/s", "GB/s", "of roof", "bound"]
    rows = []
    for each in found.operators[:SHOWN]:
        part = each.fraction
        rows.append(
            [each.name, each.dtype, each.device, f"{each.calls:,}", _ms(each.ns)]
            + [_percent(each.ns / (found.busy or 1)), f"{each.flops / 1e6:,.2f}"]
            + [f"{each.nbytes / 1e6:,.2f}", f"{each.rate / 1e9:,.2f}"]
            + [f"{each.bandwidth / 1e9:,.2f}", "" if part is None else _percent(part)]
            + [each.bound]
        )
    roof_names = "; ".join(map(str, found.roofs))
    title = "Operators" + (f", under the roof {roof_names}" if roof_names else "")
    return _table(title, heads, rows)


def _modules_text(found: Overview) -> str:
    heads = ["block", "forward ms", "backward ms", "other ms", "share", "MFLOP", "MB"]
    rows = []
    for depth, each in found.modules.walk()[: 2 * SHOWN]:
        forward, backward = (each.ns.get(p, 0) for p in ("forward", "backward"))
        rows.append(
            ["  " * depth + each.name, _ms(forward), _ms(backward)]
            + [_ms(each.total - forward - backward)]
            + [_percent(each.total / (found.busy or 1)), f"{each.flops / 1e6:,.2f}"]
            + [f"{each.nbytes / 1e6:,.2f}", human(each.parameters)]
        )
    return _table("Blocks", [*heads, "parameters"], rows)


def _memory_text(peak: Peak) -> str:
    title = f"Memory at its peak, {human(peak.nbytes)} after {_ms(peak.t)} ms"
    rows = [
        [what, name or "(none)", human(nbytes), _percent(nbytes / peak.nbytes)]
        for what, sums in (("category", peak.categories), ("block", peak.layers))
        for name, nbytes in list(sums.items())[:SHOWN]
    ]
    return _table(title, ["by", "name", "bytes", "share"], rows)


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns under heads; empty without rows. What begins with a digit goes right."""
    if not rows:
        return ""
    columns = list(zip(heads, *rows, strict=True))
    wide = [max(map(len, column)) for column in columns]
    right = [all(c[:1].isdigit() or not c for c in column[1:]) for column in columns]
    lines = [
        "  ".join(
            cell.rjust(width) if flush else cell.ljust(width)
            for cell, width, flush in zip(line, wide, right, strict=True)
        ).rstrip()
        for line in (heads, *rows)
    ]
    return "\n".join([title, *lines])


def _ms(ns: float) -> str:
    return f"{ns / 1e6:,.3f}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
