"""What the replay of a schedule predicts is what the engine then does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import minimx as mx
from minimx.core import engine
from minimx.core.device import cpu, gpu
from minimx.core.engine.kinds import BULK
from minimx.core.engine.lanes import Sizes
from minimx.core.errors import ArgumentError
from minimx.core.events import Finished
from minimx.core.record import Record
from minimx.experiments.machine import Machine, durations
from minimx.experiments.operations import EVERYTHING, Operations
from minimx.experiments.schedule import Engine, schedule
from tests.experiments.programs import (
    NAIVE,
    VIRTUAL,
    Program,
    convolution,
    perceptron,
    recorded,
)

PROGRAMS: dict[str, Callable[[], Program]] = {
    "operator by operator": lambda: Program(perceptron(32, 10), cpu()),
    "a graph": lambda: Program(perceptron(32, 10), cpu(), hybrid=True),
    "a GPU": lambda: Program(perceptron(32, 10), gpu()),
    "a graph on a GPU": lambda: Program(convolution(), gpu(), hybrid=True),
}
#: Knobs of an engine, and the same as what the replay takes.
ENGINES: list[tuple[dict[str, Any], Engine]] = [
    ({}, Engine(forward_bulk=15, backward_bulk=15)),
    (NAIVE, Engine("NaiveEngine")),
    (
        {"MXNET_ENGINE_TYPE": "ThreadedEngine"},
        Engine("ThreadedEngine", forward_bulk=15, backward_bulk=15),
    ),
    (
        {"MXNET_CPU_WORKER_NTHREADS": 3, "MXNET_GPU_WORKER_NTHREADS": 1},
        Engine(
            sizes=Sizes(cpu_workers=3, gpu_workers=1),
            forward_bulk=15,
            backward_bulk=15,
        ),
    ),
    (
        {"MXNET_EXEC_BULK_EXEC_TRAIN": False},
        Engine(forward_bulk=0, backward_bulk=0),
    ),
]


@pytest.mark.parametrize("which", PROGRAMS)
def test_every_run_predicts_every_other(which: str) -> None:
    """From any of the engines to any other, to 50 ns."""
    program = PROGRAMS[which]()
    runs = [recorded(program, **VIRTUAL, **knobs) for knobs, _ in ENGINES]
    for first, record in enumerate(runs):
        operations = Operations.of(record)
        for second, (_, settings) in enumerate(ENGINES):
            if "graph" in which and (first == 4) != (second == 4):
                continue  # then graphs are cut into other operations
            found = schedule(operations, settings)
            real = Operations.of(runs[second])
            assert abs(found.makespan - real.makespan) < 50
            assert found.pushes == real.inside.count(-1)
            if first == second:
                lanes = [(x.name, x.worker, x.start, x.end) for x in found.lanes]
                assert sorted(lanes) == as_recorded(real)


def as_recorded(operations: Operations) -> list[tuple[str, str, int, int]]:
    """The timeline of a record, without joined operations as such."""
    columns = operations.name, operations.worker, operations.start, operations.end
    rows = zip(*columns, operations.kind, strict=True)
    return sorted((n, w, int(s), int(e)) for n, w, s, e, kind in rows if kind != BULK)


def test_joining_is_predicted() -> None:
    program = Program(perceptron(32, 10), cpu())
    apart = recorded(program, **VIRTUAL, MXNET_EXEC_BULK_EXEC_TRAIN=False)
    for size in (2, 5):
        knobs: dict[str, Any] = {"MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_BWD": size}
        real = Operations.of(recorded(program, **VIRTUAL, **knobs))
        found = schedule(Operations.of(apart), Engine(backward_bulk=size))
        assert found.makespan == real.makespan
        sizes = [real.inside.count(each) for each in sorted({*real.inside} - {-1})]
        assert [len(each) for each in found.joined] == sizes


def test_waits_need_not_be_recorded() -> None:
    program = Program(perceptron(32, 10), cpu())
    with_calls, without = (
        recorded(program, calls, **VIRTUAL) for calls in (True, False)
    )
    assert Operations.of(without).waits == Operations.of(with_calls).waits
    assert not Operations.of(without).guessed


@pytest.mark.parametrize(
    "knobs",
    [
        {"MINIMX_SIM_LAUNCH": 40.0},
        {"MINIMX_SIM_HOST_BANDWIDTH": 0.1},
        {"MINIMX_SIM_GPU_PRESET": "K80/16", "MINIMX_SIM_DRIVER_CALL": 0.0},
    ],
    ids=str,
)
def test_another_card_is_predicted(knobs: dict[str, Any]) -> None:
    program = Program(perceptron(64, 10), gpu(), batch=128)
    before = recorded(program, **VIRTUAL)
    operations = Operations.of(before)
    old = Machine.of(before.conditions.knobs)
    new = Machine.of({**before.conditions.knobs, **knobs})
    ns = durations(operations, old, new)
    found = schedule(operations, ENGINES[0][1], new, ns)
    if "MINIMX_SIM_GPU_PRESET" not in knobs:
        with mx.knobs(**knobs):
            real = Operations.of(recorded(program, **VIRTUAL))
        assert found.makespan == real.makespan
    else:
        assert found.makespan > operations.makespan


def made(*edges: tuple[int, int], count: int = 3) -> Record:
    """A record by hand: operations of 1000 ns that are pushed at once."""
    record = Record()
    for op in range(1, count + 1):
        worker = "cpu(0)/0"
        row = (op, f"op{op}", "", "other", "cpu(0)", worker, 0, 0, 0, 1000, 0, 0, False)
        record.op(*Finished(*row))
    for src, dst in edges:
        record.dependency(src, dst, "RAW")
    return record


def test_what_waits_for_whom() -> None:
    operations = Operations.of(made((1, 3), (2, 3)))
    one, two = (schedule(operations, Engine(sizes=Sizes(n))) for n in (1, 2))
    assert (one.makespan, two.makespan) == (3000, 2000)
    assert one.waited_for == [-1, 0, 1]
    assert two.waited_for == [-1, -1, 0]
    assert [one.worker for one in two.lanes] == ["cpu(0)/0", "cpu(0)/1", "cpu(0)/0"]
    assert "predicted" in repr(two)


def test_records_that_are_empty_damaged_or_incomplete() -> None:
    nothing = schedule(Operations.of(Record()), Engine())
    assert (nothing.makespan, nothing.lanes) == (0, [])
    with pytest.raises(ArgumentError, match="comes after 3, which was pushed later"):
        Operations.of(made((3, 1)))
    assert Operations.of(made((77, 2))).lost == 1
    assert Operations.of(made((1, 77))).lost == 0


def test_nothing_of_the_running_program_is_touched() -> None:
    operations = Operations.of(made((1, 2)))
    before = engine.current, mx.knobs.snapshot()
    with engine.bulk(3), Record() as record:
        schedule(operations, Engine("NaiveEngine", backward_bulk=3))
        assert not record.rows("ops")
    assert (engine.current, mx.knobs.snapshot()) == before
    assert EVERYTHING not in operations.waits
