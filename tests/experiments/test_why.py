"""A planted cause is found among others that differ and do not matter."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from minimx.core.device import cpu, gpu
from minimx.core.errors import ArgumentError
from minimx.core.record import Record
from minimx.experiments import rerun, why, why_each
from tests.experiments.programs import (
    NAIVE,
    VIRTUAL,
    Program,
    convolution,
    perceptron,
    recorded,
)


class Setup(NamedTuple):
    """A program, and the knobs under which it is recorded first."""

    make: Callable[[], Program]
    knobs: dict[str, Any]
    graph: bool = False


SETUPS = {
    "operators": Setup(lambda: Program(perceptron(96, 10), cpu()), NAIVE),
    "a graph": Setup(
        lambda: Program(perceptron(96, 64, 24, 10), cpu(), hybrid=True), NAIVE, True
    ),
    "images": Setup(lambda: Program(convolution(), gpu(), hybrid=True), NAIVE, True),
    "a GPU": Setup(lambda: Program(perceptron(96, 10), gpu()), VIRTUAL),
    "a graph on a GPU": Setup(
        lambda: Program(perceptron(96, 48, 10), gpu(), hybrid=True), VIRTUAL, True
    ),
}


def pools(name: str, value: Any) -> list[tuple[str, Any]]:
    """A knob of the pool of each device, of which a program uses one or two."""
    return [(f"MXNET_{kind}_MEM_{name}", value) for kind in ("CPU", "GPU")]


BATCH = "program"  # planted in the program itself: twice the batch
PLANS = [
    ("NNVM_EXEC_MATCH_RANGE", 0),
    ("NNVM_EXEC_MATCH_RANGE", 1),
    ("MXNET_EXEC_ENABLE_INPLACE", False),
    ("MXNET_BACKWARD_DO_MIRROR", True),
    (BATCH, 2),
]
POOLS = {
    "cpu": [
        ("MXNET_CPU_MEM_POOL_TYPE", "Round"),
        ("MXNET_CPU_MEM_POOL_TYPE", "Unpooled"),
        ("MXNET_CPU_MEM_POOL_PAGE_SIZE", 32768),
    ],
    "gpu": [
        ("MXNET_GPU_MEM_POOL_TYPE", "Unpooled"),
        ("MXNET_GPU_MEM_POOL_PAGE_SIZE", 32768),
    ],
}
TIMES = [
    ("MXNET_ENGINE_TYPE", "NaiveEngine"),
    ("MXNET_GPU_WORKER_NTHREADS", 1),
    ("MINIMX_SIM_LAUNCH", 40.0),
    ("MINIMX_SIM_HOST_BANDWIDTH", 0.05),
    (BATCH, 32),
]
#: By setup and figure, what is planted.
PLANTED: list[tuple[str, str, list[tuple[str, Any]]]] = [
    ("a graph", "peak", PLANS),
    ("images", "peak", PLANS),
    ("operators", "peak", PLANS[-1:]),
    ("operators", "reserved", POOLS["cpu"]),
    ("a graph", "reserved", POOLS["cpu"]),
    ("images", "reserved", POOLS["gpu"]),
    ("operators", "driver_calls", POOLS["cpu"][1:2]),
    ("images", "driver_calls", POOLS["gpu"][:1]),
    ("a GPU", "makespan", TIMES),
    ("a graph on a GPU", "makespan", TIMES),
    ("a GPU", "pushes", [("MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_BWD", 3)]),
]
#: Knobs that differ as well. Those of the first line act on nothing that is recorded.
IDLE: list[tuple[str, Any]] = [
    ("MXNET_CPU_PINNED_MEM_POOL_TYPE", "Round"),
    ("MXNET_CPU_PINNED_MEM_POOL_PAGE_SIZE", 8192),
    ("MXNET_CPU_PRIORITY_NTHREADS", 2),
    ("MXNET_CPU_MEM_POOL_ROUND_LINEAR_CUTOFF", 25),
    ("MXNET_GPU_MEM_POOL_ROUND_LINEAR_CUTOFF", 25),
    ("MXNET_SAFE_ACCUMULATION", True),
    ("MINIMX_SIM_LINKS", "nvswitch"),
]
#: Those act, but on other figures.
BESIDE = {
    "peak": [*pools("POOL_TYPE", "Round"), *pools("POOL_PAGE_SIZE", 16384)],
    "reserved": [("MXNET_CPU_WORKER_NTHREADS", 2), ("MXNET_GPU_COPY_NTHREADS", 1)],
    "driver_calls": [("MXNET_CPU_WORKER_NTHREADS", 2)],
    "makespan": [*pools("POOL_TYPE", "Round"), *pools("POOL_PAGE_SIZE", 16384)],
    "pushes": [*pools("POOL_TYPE", "Unpooled"), ("MINIMX_SIM_LAUNCH", 20.0)],
}
#: How often each planted cause is hidden among other knobs.
TIMES_HIDDEN = 2


def decoys(seed: int, figure: str, planted: str) -> dict[str, Any]:
    choice = random.Random(seed)
    found = dict(choice.sample(IDLE, 3) + choice.sample(BESIDE[figure], 1))
    return {name: value for name, value in found.items() if name != planted}


def pairs() -> list[tuple[str, str, str, Any, dict[str, Any]]]:
    """Setup, figure, planted knob and value, and the knobs that differ as well."""
    return [
        (setup, figure, *cause, decoys(10 * seed + turn, figure, cause[0]))
        for seed, (setup, figure, causes) in enumerate(PLANTED)
        for turn, cause in enumerate(causes * TIMES_HIDDEN)
    ]


def test_the_first_named_cause_is_the_planted_one() -> None:
    """Of at least 50 pairs of runs, all of which differ in the figure."""
    known: dict[str, tuple[Program, Record]] = {}
    wrong, count = [], 0
    for which, figure, name, value, others in pairs():
        setup = SETUPS[which]
        if which not in known:
            program = setup.make()
            known[which] = program, recorded(program, **setup.knobs)
        program, before = known[which]
        knobs = {**setup.knobs, **others}
        if name == BATCH:
            size = len(program.data)
            program.multiply(value)
            after = recorded(program, **knobs)
            program.multiply(1)
            assert len(program.data) == size
        else:
            after = recorded(program, **{**knobs, name: value})
        found = why(before, after, figure, program.net if setup.graph else None)
        assert found.before != found.after, (which, figure, name)
        count += 1
        if not found.causes or found.causes[0].name != name:
            wrong.append((which, figure, name, value, others, repr(found)))
        elif len(found.causes) == 1:
            assert found.sentence.count("because") >= 1
    assert count >= 50
    assert len(wrong) <= count // 10, wrong


@pytest.fixture(scope="module")
def graph() -> tuple[Program, Record]:
    program = Program(perceptron(96, 64, 24, 10), cpu(), hybrid=True)
    return program, recorded(program, **NAIVE)


def test_the_sentence_names_buffer_block_and_knob(
    graph: tuple[Program, Record],
) -> None:
    program, record = graph
    other = rerun(record, net=program.net, NNVM_EXEC_MATCH_RANGE=1)
    found = why(record, other, net=program.net)
    assert found.figure == "peak"
    assert re.sub(r"dense\d+", "dense", found.sentence) == (
        "peak +5.5 KiB, because dense_fwd_backward (6 KiB) could not share block 1 "
        "(4 KiB), because NNVM_EXEC_MATCH_RANGE=1 takes blocks of its size."
    )
    back = why(other, record, net=program.net)
    assert back.sentence.startswith("peak −5.5 KiB")
    assert "can share block 1" in back.sentence


def test_what_waits_for_what_is_named() -> None:
    record = recorded(Program(perceptron(96, 10), gpu()), **VIRTUAL)
    other = rerun(record, MXNET_GPU_WORKER_NTHREADS=1, MXNET_GPU_COPY_NTHREADS=3)
    found = why(record, other, "makespan")
    (cause,) = found.causes
    assert "mean waited" in cause.sentence
    assert "on gpu(0)/0 because of MXNET_GPU_WORKER_NTHREADS=1" in cause.sentence
    assert "without effect on it: MXNET_GPU_COPY_NTHREADS" in repr(found)


def test_each_figure_has_causes_of_its_own() -> None:
    record = recorded(Program(perceptron(96, 10), gpu()), **VIRTUAL)
    other = rerun(
        record,
        MXNET_GPU_WORKER_NTHREADS=1,
        MXNET_GPU_MEM_POOL_PAGE_SIZE=32768,
        MXNET_GPU_COPY_NTHREADS=3,
    )
    found = {
        one.figure: [cause.name for cause in one.causes]
        for one in why_each(record, other)
    }
    assert found["makespan"] == ["MXNET_GPU_WORKER_NTHREADS"]
    assert found["reserved"] == ["MXNET_GPU_MEM_POOL_PAGE_SIZE"]
    assert "pushes" not in found
    (same,) = why_each(record, record)
    assert "did not change" in same.sentence


def test_two_causes_are_both_named_the_stronger_first(
    graph: tuple[Program, Record],
) -> None:
    program, record = graph
    knobs: dict[str, Any] = {
        "MXNET_EXEC_ENABLE_INPLACE": False,
        "NNVM_EXEC_MATCH_RANGE": 0,
    }
    other = rerun(record, net=program.net, MXNET_GPU_COPY_NTHREADS=1, **knobs)
    found = why(record, other, "peak", program.net)
    assert {cause.name for cause in found.causes} == {*knobs}
    effects = [abs(cause.effect) for cause in found.causes]
    assert effects == sorted(effects, reverse=True)
    # Neither alone is enough.
    assert max(effects) < found.explained


def test_nothing_changed(graph: tuple[Program, Record]) -> None:
    program, record = graph
    other = rerun(record, MXNET_GPU_COPY_NTHREADS=1)
    found = why(record, other, "peak")
    assert found.causes == ()
    assert "did not change" in found.sentence


def test_what_cannot_be_compared_is_refused(graph: tuple[Program, Record]) -> None:
    program, record = graph
    other = recorded(Program(convolution(), cpu()), **NAIVE)
    with pytest.raises(ArgumentError, match="runs of different networks"):
        why(record, other)
    with pytest.raises(ArgumentError, match="Did you mean peak"):
        why(record, record, "peek")
    changed = recorded(program, **NAIVE, NNVM_EXEC_MATCH_RANGE=0)
    with pytest.raises(ArgumentError, match="Give the hybridized network"):
        why(record, changed, "peak")
    assert why(Record(), Record()).causes == ()
