"""What a record knows of an allocation: who asked for it, who wrote and read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from minimx.core.errors import ArgumentError
from minimx.core.record import Record
from minimx_widgets.code.decisions import decision
from minimx_widgets.code.lines import line_of
from minimx_widgets.code.pieces import Code
from minimx_widgets.units import counted, human_bytes, human_time

BEGINS = ("live", "alloc", "hit")


@dataclass(frozen=True)
class Use:
    """An operation that read or wrote the memory; t: its start, in ns of the record."""

    op: int
    name: str
    t: int

    def __str__(self) -> str:
        return f"{self.name} #{self.op} at {human_time(self.t)}"


@dataclass(frozen=True)
class Allocation:
    """What a record knows of one allocation.

    block: its number. event: how it was served, "alloc", "hit", or "live" where it was
    in use before. asked, got: bytes of the request and of the block. line: where the
    program asked for it. begin, end: ns after the record's start; end is None while it
    is in use. operations, steps: how many ended in its life; steps is None where no
    step is known. reads, writes: the first and last of those who did, and how many.
    """

    block: int
    event: str
    name: str
    layer: str
    phase: str
    category: str
    asked: int
    got: int
    address: int
    line: str
    begin: int
    end: int | None
    now: int
    operations: int
    steps: int | None
    writes: tuple[Use, ...]
    reads: tuple[Use, ...]

    def rows(self, *, placed: bool = True) -> list[tuple[str, str]]:
        """Label and text of all there is to say.

        placed: whether size and place of the block are said, as recorded; under other
        settings a pool serves other blocks.
        """
        rows = [
            ("operator", self.name or "unknown"),
            ("layer", self.layer or "none"),
            ("phase", self.phase),
            ("memory for", self.category),
            ("line", self.line or "not known"),
            ("asked for", f"{human_bytes(self.asked)} ({self.asked:,} B)"),
        ]
        if placed:
            rows += [
                ("got", f"{human_bytes(self.got)} ({self.got:,} B)"),
                ("address", f"{self.address:,}"),
            ]
        return [
            *rows,
            ("lived", self.life),
            ("written by", _several(self.writes, "no operation yet")),
            ("read last by", str(self.reads[-1]) if self.reads else "no operation"),
            *([("reads", str(len(self.reads)))] if len(self.reads) > 1 else []),
        ]

    @property
    def life(self) -> str:
        """How long it lived, in words."""
        until = self.now if self.end is None else self.end
        parts = [human_time(max(0, until - self.begin))]
        if self.event == "live":
            parts = ["since before the record"]
        parts.append(counted(self.operations, "operation"))
        if self.steps is not None:
            parts.append(counted(self.steps, "step"))
        return ", ".join([*parts, *(["in use still"] if self.end is None else [])])


def allocation(record: Record, block: int) -> Allocation:
    """What a record knows of an allocation, by its number.

    Raises `ArgumentError` for one that the record does not have.
    """
    mem, ops, texts = record.mem(), record.ops(), record.strings
    start = record.conditions.t_start
    mine = mem[mem["block"] == block] if block else mem[:0]
    first = [row for row in mine if texts[row["event"]] in BEGINS][:1]
    if not first:
        raise ArgumentError(f"this record has no allocation #{block} any more.")
    row = first[0]
    ends = [int(one["t"]) for one in mine if texts[one["event"]] == "free"]
    now = max(int(mem["t"].max()), int(ops["t_end"].max(initial=0)))
    until = ends[-1] if ends else now
    inside = (ops["t_end"] >= row["t"]) & (ops["t_end"] <= until)
    metrics = record.metrics()
    those = metrics[(metrics["t"] >= row["t"]) & (metrics["t"] <= until)]
    uses = record.table("uses")
    uses = uses[uses["block"] == block]
    wrote, read = (uses["op"][uses["writes"] == side] for side in (True, False))
    asker = ops[ops["op"] == row["op"]][:1]
    return Allocation(
        block=block,
        event=texts[row["event"]],
        name=texts[row["name"]],
        layer=texts[row["layer"]],
        phase=texts[row["phase"]],
        category=texts[row["category"]],
        asked=int(row["requested"]),
        got=int(row["rounded"]),
        address=int(row["address"]),
        line=next(iter(record.texts(asker["line"])), ""),
        begin=int(row["t"]) - start,
        end=ends[-1] - start if ends else None,
        now=now - start,
        operations=int(inside.sum()),
        steps=len(np.unique(those["step"])) if len(metrics) else None,
        writes=_used(record, ops, wrote),
        reads=_used(record, ops, read),
    )


def _used(record: Record, ops: Any, which: Any) -> tuple[Use, ...]:
    """The operations of some numbers in the order of their starts, without joined ones.

    What was joined has rows of its own for its parts.
    """
    rows = ops[np.isin(ops["op"], which) & ~np.isin(ops["op"], ops["inside"])]
    rows = rows[np.argsort(rows["t_start"], kind="stable")]
    names, start = record.texts(rows["name"]), record.conditions.t_start
    times = (rows["t_start"] - start).tolist()
    found = zip(rows["op"].tolist(), names, times, strict=True)
    return tuple(Use(*one) for one in found)


def _several(uses: tuple[Use, ...], none: str) -> str:
    if not uses:
        return none
    if len(uses) == 1:
        return str(uses[0])
    return f"{uses[0]}, last {uses[-1]}; {len(uses)} times"


def facts_for_page(
    record: Record, message: Mapping[str, Any], *, placed: bool = True
) -> dict[str, Any]:
    """The answer to a page that points at an allocation."""
    block = int(message["block"])
    try:
        rows = allocation(record, block).rows(placed=placed)
    except ArgumentError as gone:
        rows = [("", str(gone))]
    return {"kind": "block", "block": block, "rows": [list(row) for row in rows]}


def source_of(record: Record, block: int, event: str = "") -> Code:
    """The program's line that asked for an allocation, and the pool's that served it.

    event: what the pool did with it, of `MEMORY_EVENTS`; by default what began it.
    Raises `ArgumentError` where there is neither.
    """
    name, pieces, missing = f"a {event} of the pool", [], ""
    if block:
        one = allocation(record, block)
        event = event or one.event
        name = f"{one.name or 'memory'}, allocation #{block}"
        try:
            pieces.append(line_of(record, one.line))
        except ArgumentError as unknown:
            missing = str(unknown)
    served = decision("pool", event).pieces if event else ()
    return Code(name, (*pieces, *served), missing)
