"""What the replay of a schedule predicts is what the engine then does."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import minimx as mx
from minimx.core import engine
from minimx.core.device import cpu, gpu
from minimx.core.engine.kinds import BULK, NORMAL
from minimx.core.engine.lanes import Sizes
from minimx.core.errors import ArgumentError
from minimx.core.events import Finished
from minimx.core.record import Record
from minimx.experiments.machine import Machine, durations
from minimx.experiments.operations import EVERYTHING, NOTHING, Operations, Overheads
from minimx.experiments.schedule import Engine, schedule
from tests.experiments.by_policies import by_policies
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


@pytest.mark.parametrize("which", PROGRAMS)
def test_plain_numbers_decide_as_the_engine_does(which: str) -> None:
    """The same times, workers and joined operations, to the nanosecond."""
    for knobs in (VIRTUAL, {}):  # on the wall clock the engine takes time as well
        same_as_policies(Operations.of(recorded(PROGRAMS[which](), **knobs)))


@pytest.mark.parametrize("seed", range(12))
def test_plain_numbers_decide_as_the_engine_does_for_any_program(seed: int) -> None:
    """Of any shape: urgent operations, copies, several devices, late pushes."""
    chance = random.Random(seed)
    operations = Operations.of(anything(chance, count=chance.randint(2, 80)))
    took = [chance.choice((0, 1, 50, 1000, 1000)) for _ in operations.op]
    kinds = [chance.choice((NORMAL, NORMAL, kind)) for kind in operations.kind]
    alone = [-1] * len(took)
    slow = Overheads(*(chance.choice((0, 7, 300)) for _ in range(4)))
    waits = [
        chance.choice((NOTHING, NOTHING, NOTHING, EVERYTHING, chance.randrange(-1, n)))
        for n in range(len(took))
    ]
    program = replace(operations, ns=took, kind=kinds, inside=alone, waits=waits)
    same_as_policies(replace(program, overheads=slow))


def same_as_policies(operations: Operations) -> None:
    """Hold the replay to that by the engine's own parts, under every engine."""
    sizes = Sizes(cpu_workers=2, cpu_priority=1, gpu_workers=3, gpu_copy=1)
    others = [Engine(), Engine(sizes=sizes, forward_bulk=3, backward_bulk=4)]
    for settings in [settings for _, settings in ENGINES] + others:
        found = schedule(operations, settings)
        columns, workers, pushes, joined = by_policies(operations, settings)
        mine = (found.pushed, found.ready, found.start, found.end)
        assert [column.tolist() for column in mine] == columns
        assert (found.workers, found.pushes, found.joined) == (workers, pushes, joined)


def anything(chance: random.Random, count: int) -> Record:
    """A record of operations that some others wait for, on two devices."""
    record = Record()
    now = 0
    for op in range(1, count + 1):
        now += chance.choice((0, 0, 20, 3000))
        device = chance.choice(("cpu(0)", "cpu(0)", "gpu(0)"))
        phase = chance.choice(("forward", "backward", "other"))
        name = chance.choice(("op", "op", "CopyCPU2GPU"))
        urgency = chance.choice((0, 0, 0, 1, -2))
        end = now + 1000
        row = (op, name, "", phase, device, f"{device}/0", now, now, now, end, urgency)
        record.op(*Finished(*row, 0, False))
        for src in chance.sample(range(1, op), min(op - 1, chance.randint(0, 3))):
            record.dependency(src, op, chance.choice(("RAW", "WAR", "WAW")))
    return record


class Latest:
    """The youngest of the ready operations, with what it was told of them."""

    def __init__(self) -> None:
        SEEN.clear()

    def pick(self, ready: Any) -> int:
        """The last one."""
        SEEN.append(ready)
        return len(ready) - 1


SEEN: list[Any] = []


def test_a_policy_of_a_user_picks_in_a_replay() -> None:
    record = made((1, 3), (2, 4), count=4)
    mx.engine.register("Latest", Latest)
    try:
        found = schedule(Operations.of(record), Engine("Latest", Sizes(1)))
    finally:
        mx.policies.unregister("Latest")
    assert [one.name for one in found.lanes] == ["op1", "op3", "op2", "op4"]
    assert [[one.name for one in ready] for ready in SEEN if len(ready) > 1] == [
        ["op2", "op3"]
    ]
    assert [one.waiting for one in SEEN[0]] == [1]


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
