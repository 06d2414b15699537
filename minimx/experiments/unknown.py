"""What a replay cannot know, in sentences that stand beside its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from minimx.core.graph.running.settings import Settings
from minimx.core.record import Record
from minimx.experiments import graphs
from minimx.experiments.groups import BULKS, ENGINE, POOLS, SCHEDULING, THREADS
from minimx.experiments.machine import SPEEDS, Machine
from minimx.experiments.operations import Operations, once
from minimx.experiments.recut import cut_otherwise


def sentences(
    operations: Operations,
    turned: set[str],
    values: Mapping[str, Any],
    programs: Sequence[graphs.GraphProgram],
    settings: Settings,
) -> tuple[str, ...]:
    """What is not known of a replay.

    turned: the knobs that differ from the record. values: of all knobs that a replay
    looks at. programs, settings: graphs, and what they are prepared for.
    """
    wall = operations.record.conditions.clock != "virtual"
    return (
        *_of_record(operations),
        *_of_engine(operations, turned, programs, wall),
        *_of_memory(operations, turned, values),
        *_of_graphs(turned, programs, settings, wall),
    )


def _of_record(operations: Operations) -> Iterator[str]:
    record = operations.record
    if operations.lost:
        yield (
            f"{operations.lost:,} rows of the record are lost: what happened before is "
            "missing from all figures, and operations wait for too few others. Record "
            "with a larger capacity."
        )
    if operations.outside:
        yield (
            "operations waited for others that were pushed before the record began "
            f"({operations.outside:,} of them); a replay starts them at once. Call "
            "mx.nd.waitall() before a record."
        )
    if idle := once(record, _sum_of, "cached"):
        yield (
            f"pools held {idle:,} idle bytes when the record started; a replay begins "
            "with empty pools, so it counts more driver calls."
        )
    if operations.guessed and len(operations):
        yield (
            "where Python waited is concluded from its pauses; Record(calls=True) "
            "notes it."
        )


def _sum_of(record: Record, event: str) -> int:
    """The bytes of all events of a kind."""
    mem, texts = record.mem(), record.strings
    mine = mem["event"] == (texts.index(event) if event in texts else -1)
    return int(np.sum(mem["rounded"][mine]))


def _of_engine(
    operations: Operations,
    turned: set[str],
    programs: Sequence[graphs.GraphProgram],
    wall: bool,
) -> Iterator[str]:
    if not turned & {*SCHEDULING, *SPEEDS}:
        return
    if wall:
        yield (
            "how fast kernels run when more or fewer of them run at once: each takes "
            "as long as recorded, however many share the cores, caches and memory."
        )
    if wall and ENGINE in turned and operations.naive:
        yield (
            "what it costs to hand operations to other threads: the record is of an "
            "engine that does not."
        )
    if turned & {ENGINE, *THREADS, *BULKS}:
        yield (
            "in which order arrays are allocated and freed under this engine: each "
            "request goes along with its operation, so peaks are estimates (on small "
            "networks up to a sixth off)."
        )
    if turned & {*BULKS} and operations.rows["graph"].any() and not programs:
        yield (
            "how graphs are cut into operations by these knobs: those of the record "
            "stay as they are. Give the network as net= to have them cut anew."
        )


def _of_memory(
    operations: Operations, turned: set[str], values: Mapping[str, Any]
) -> Iterator[str]:
    record = operations.record
    if not turned & {*POOLS, *SPEEDS}:
        return
    if turned & {*POOLS} and (live := once(record, _sum_of, "live")):
        yield (
            f"{live:,} bytes were in use before the record started: a replay gives "
            "them blocks by the new rules, a program that turns the knob does not."
        )
    machines = Machine.of(values), Machine.of(record.conditions.knobs)
    virtual = record.conditions.clock == "virtual"
    if virtual and any(each.costs.driver_call_ns for each in machines):
        yield (
            "what other driver calls take: operations last as long as with those of "
            "the record."
        )


def _of_graphs(
    turned: set[str],
    programs: Sequence[graphs.GraphProgram],
    settings: Settings,
    wall: bool,
) -> Iterator[str]:
    if not turned & {*graphs.PLANNING, *BULKS}:
        return
    if graphs.scratch_changes(programs, settings):
        yield (
            "when workspaces of operators grow: they are counted as in the record, "
            "though the plan has others."
        )
    if wall and cut_otherwise(programs, settings):
        yield (
            "how long the changed operations of the graph take: each node gets the "
            "share of a recorded operation that its declared cost is of it."
        )
