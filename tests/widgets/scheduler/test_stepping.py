"""Lines of moves on the engine's own queues."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minimx as mx
from minimx.core import engine
from minimx.core.drivers import driver_for
from minimx.core.errors import ArgumentError
from minimx.core.ops.spec import Cost
from minimx_widgets.scheduler.levels import LEVELS
from minimx_widgets.scheduler.lines import (
    Line,
    begin,
    bound,
    overlapping,
    policy,
    run,
)
from minimx_widgets.scheduler.program import Program, op
from minimx_widgets.scheduler.stepping import DONE, READY, Stepper

programs = st.builds(
    Program.generated, st.integers(0, 10**6), st.integers(2, 12), st.integers(2, 8)
)
TWO_READERS = Program.of(
    op("P", reads="a", writes="b", cost=3),
    op("Q", reads="a", writes="c", cost=2),
    op("R", reads="b", writes="a", cost=1),
)


def lawful(line: Line) -> None:
    """Each operation ran once, no worker did two at once, no hazard was broken."""
    assert sorted(bar.op for bar in line.bars) == list(
        range(len(line.program.operations))
    )
    at = {bar.op: bar for bar in line.bars}
    for bar in line.bars:
        assert bar.end - bar.start == line.program.operations[bar.op].cost
        for other in line.bars:
            if other is not bar and other.worker == bar.worker:
                assert other.end <= bar.start or bar.end <= other.start
    for first, second in line.program.ordered():
        assert at[first].end <= at[second].start


@given(programs, st.integers(0, 8), st.integers(0, 3))
def test_the_engine_breaks_no_hazard(program: Program, workers: int, push: int) -> None:
    line = run(program, workers, push)
    assert line.over
    lawful(line)
    assert line.makespan >= bound(program, workers)
    assert line.moments[-1].live == 0
    if workers == 0:
        assert overlapping(line) == []
    if workers == 0 and push == 0:
        assert line.makespan == program.work


@given(programs, st.integers(1, 4), st.randoms(use_true_random=False))
def test_whatever_is_chosen_among_the_ready_is_lawful(
    program: Program, workers: int, draw: object
) -> None:
    line = begin(program, workers).until_choice()
    while not line.over:
        stepper = line.at(len(line.moves))
        here = len(line.moves)
        idle = any(worker >= 0 for worker in stepper.workers)
        if idle and draw.random() < 0.3:  # type: ignore[attr-defined]
            line = line.wait(here)
        else:
            number = draw.choice(stepper.ready)  # type: ignore[attr-defined]
            worker = draw.choice(stepper.free)  # type: ignore[attr-defined]
            line = line.start(here, number, worker)
        line = line.until_choice()
    lawful(line)
    assert line.own >= 0 and line.makespan >= bound(program, workers)


@given(programs, st.integers(1, 3))
def test_any_moment_can_be_gone_back_to(program: Program, workers: int) -> None:
    line = run(program, workers)
    for step in range(0, len(line.moments), 5):
        assert line.cut(step).moments == line.moments[: step + 1]
        assert line.cut(step).to_end().moments == line.moments


@given(programs, st.integers(1, 3), st.data())
def test_what_may_not_start_is_refused_for_a_hazard_that_is_there(
    program: Program, workers: int, data: st.DataObject
) -> None:
    line = run(program, workers)
    step = data.draw(st.integers(0, len(line.moves)))
    stepper = line.at(step)
    before = stepper.moment()
    for number, state in enumerate(stepper.states):
        if state == READY:
            continue
        with pytest.raises(ArgumentError, match=program.operations[number].name):
            stepper.start(number, 0)
        for hazard in stepper.waits(number):
            assert hazard in _all_hazards(program)
            assert stepper.states[hazard.first] != DONE
    assert stepper.moment() == before, "nothing changed"


def _all_hazards(program: Program) -> set[object]:
    """Also those that follow from another operation between the two."""
    found: set[object] = set(program.hazards())
    names = program.operations
    for a, b in program.ordered():
        for var in {*names[b].reads, *names[b].writes}:
            for kind in ("RAW", "WAR", "WAW"):
                wrote, writes = var in names[a].writes, var in names[b].writes
                read, reads = var in names[a].reads, var in names[b].reads
                is_one = {
                    "RAW": wrote and reads,
                    "WAR": read and writes,
                    "WAW": wrote and writes,
                }
                if is_one[kind]:
                    found.add(type(next(iter(program.hazards())))(kind, var, a, b))
    return found


def test_every_move_is_said_in_words() -> None:
    line = run(TWO_READERS)
    texts = [moment.text for moment in line.moments]
    assert texts[1] == "P is pushed, and ready."
    assert texts[5].startswith("R is pushed, and waits: it reads b, which P has yet to")
    assert (
        "it writes a, which Q has yet to read (WAR: Q would read the new value)"
        in texts[5]
    )
    assert "Q is done on worker 2. R is ready." in texts
    assert (line.makespan, line.peak) == (4, 3072)


def test_illegal_moves_say_which_variable_and_which_operation() -> None:
    line = run(TWO_READERS)
    with pytest.raises(ArgumentError, match=r"R cannot start: it reads b.*\(RAW"):
        line.start(5, 2, 0)
    with pytest.raises(ArgumentError, match="Q cannot start: it is not pushed yet"):
        line.start(1, 1, 0)
    with pytest.raises(ArgumentError, match="P runs already, on worker 1"):
        line.start(2, 0, 1)
    with pytest.raises(ArgumentError, match="it works on P until 3 µs"):
        line.start(3, 1, 0)
    with pytest.raises(ArgumentError, match="on worker 3: there are 2"):
        line.start(1, 0, 2)
    with pytest.raises(ArgumentError, match="P is done"):
        line.start(len(line.moves), 0, 0)
    with pytest.raises(ArgumentError, match="nothing is left"):
        line.wait(len(line.moves))


@pytest.mark.parametrize(
    ("workers", "push", "said"),
    [
        (9, 1, "give 1 to 8"),
        (-1, 1, "give 1 to 8"),
        (1.5, 1, "workers=1.5"),
        (1, -1, "push=-1"),
    ],
)
def test_bad_numbers_are_refused(workers: int, push: int, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        Stepper(TWO_READERS, workers, push)


def test_the_highest_priority_starts_first() -> None:
    many = [op(f"o{k}", writes=f"v{k}", cost=5, priority=k) for k in range(4)]
    line = run(Program.of(*many), workers=1, push=1)
    assert [bar.op for bar in line.bars] == [0, 3, 2, 1]


def test_idling_can_beat_the_engine() -> None:
    """The engine starts what is there; a long operation comes a moment later."""
    program = Program.of(
        *(op(f"o{k}", writes=f"v{k}", cost=c) for k, c in enumerate((4, 4, 8)))
    )
    assert run(program).makespan == 12
    mine = begin(program).until_choice()
    mine = mine.start(len(mine.moves), 0, 0).until_choice()
    assert mine.moments[-1].ready == (1,)
    mine = mine.wait(len(mine.moves)).until_choice()  # until the long one is pushed
    mine = mine.start(len(mine.moves), 2, 1).to_end()
    assert mine.makespan == 10 and bound(program, 2) == 8


def test_the_virtual_engine_agrees_on_a_chain_and_on_what_is_independent() -> None:
    """The same order as the engine on a virtual clock, which runs real functions."""
    done: list[str] = []
    with mx.knobs(MINIMX_CLOCK="virtual", MXNET_CPU_WORKER_NTHREADS=2):
        named = {name: engine.Var() for name in "abc"}
        for one in TWO_READERS.operations:
            engine.push(
                partial(done.append, one.name), mx.cpu(),
                [named[v] for v in one.reads], [named[v] for v in one.writes], one.name,
            )  # fmt: skip
        mx.nd.waitall()
    assert done == [
        TWO_READERS.operations[bar.op].name for bar in run(TWO_READERS).bars
    ]


def test_the_order_of_a_line_runs_in_the_real_engine() -> None:
    """Level 1 by hand: the chain first. The real engine then takes as long."""
    program = LEVELS[0].program
    mine = begin(program, 2, push=0).until_choice()
    for name in ("a1", "b", "a2", "c", "a3", "d"):
        mine = mine.start(
            len(mine.moves), program.number(name), _free(mine)
        ).until_choice()
    assert mine.makespan == 6 < run(program, 2, push=0).makespan == 8
    space: dict[str, Any] = {}
    exec(policy(mine, "ChainFirst"), space)
    mx.engine.register("ChainFirst", space["ChainFirst"])
    try:
        assert _in_the_engine(program, "ThreadedEnginePerDevice") == 8
        assert _in_the_engine(program, "ChainFirst") == 6
    finally:
        mx.policies.unregister("ChainFirst")
    with pytest.raises(ArgumentError, match="name of a class"):
        policy(mine, "chain first")


def _free(line: Line) -> int:
    return line.at(len(line.moves)).free[0]


def _in_the_engine(program: Program, kind: str) -> int:
    """The µs of a program on the virtual clock, all of it pushed at one moment."""
    costs = driver_for(mx.cpu()).costs
    named = {name: engine.Var() for name in program.variables}
    engine.wait_all()
    with mx.knobs(
        MINIMX_CLOCK="virtual", MXNET_ENGINE_TYPE=kind, MXNET_CPU_WORKER_NTHREADS=2
    ):
        with mx.Record() as record:
            signal = engine.Var()
            _push("signal", 1000, [], [signal], costs, device_id=1)
            for one in program.operations:
                reads = [signal, *(named[name] for name in one.reads)]
                _push(
                    one.name,
                    1000 * one.cost,
                    reads,
                    [named[n] for n in one.writes],
                    costs,
                )
            engine.wait_all()
        ops = record.ops()
        first = ops["t_end"].min()
        return round(float(ops["t_end"].max() - first) / 1e6)


def _push(
    name: str,
    us: int,
    reads: list[Any],
    writes: list[Any],
    costs: Any,
    device_id: int = 0,
) -> None:
    flops = round((us * 1000 - costs.launch_ns) * costs.flops / 1e9)
    engine.push(
        lambda: None, mx.cpu(device_id), reads, writes, name, cost=Cost(flops, 0)
    )
