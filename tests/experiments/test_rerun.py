"""`rerun` predicts what a run under other knobs then needs."""

from __future__ import annotations

import gc
import re
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import minimx as mx
from minimx.core import engine, events
from minimx.core.device import cpu, gpu
from minimx.core.errors import ArgumentError, KnobError
from minimx.core.events import Finished, Owner
from minimx.core.record import Record
from minimx.experiments import Rerun, measured, rerun
from minimx.experiments.operations import Operations
from tests import pace
from tests.experiments.programs import (
    NAIVE,
    VIRTUAL,
    Program,
    convolution,
    perceptron,
    recorded,
)


def of_pools(knob: str, value: Any) -> dict[str, Any]:
    return {f"MXNET_{kind}_MEM_POOL_{knob}": value for kind in ("CPU", "GPU")}


ROUND, UNPOOLED = of_pools("TYPE", "Round"), of_pools("TYPE", "Unpooled")
PAGES = of_pools("PAGE_SIZE", 65536)
PLANS: list[dict[str, Any]] = [
    {"NNVM_EXEC_MATCH_RANGE": 0},
    {"NNVM_EXEC_MATCH_RANGE": 1},
    {"MXNET_EXEC_ENABLE_INPLACE": False},
    {"MXNET_BACKWARD_DO_MIRROR": True},
    {"MXNET_BACKWARD_DO_MIRROR": True, **ROUND},
    {"NNVM_EXEC_NUM_TEMP": 4, **UNPOOLED},
    {"MXNET_USE_FUSION": False, "MXNET_EXEC_ENABLE_INPLACE": False},
]
POOLS: list[dict[str, Any]] = [{}, ROUND, UNPOOLED, PAGES]
NETS: dict[str, tuple[Callable[[], Program], list[dict[str, Any]]]] = {
    "operators": (lambda: Program(perceptron(40, 24, 10), cpu()), POOLS),
    "operators on a GPU": (lambda: Program(perceptron(40, 10), gpu()), POOLS),
    "a graph": (
        lambda: Program(perceptron(40, 32, 24, 10), cpu(), hybrid=True),
        POOLS[1:3] + PLANS,
    ),
    "a static graph": (
        lambda: Program(perceptron(48, 32, 10), cpu(), hybrid=True, static=True),
        PLANS[:1],
    ),
    "a graph with a convolution": (
        lambda: Program(convolution(), gpu(), hybrid=True),
        POOLS[1:3] + PLANS[:4],
    ),
}


@pytest.mark.parametrize("which", NETS)
def test_the_predicted_peak_is_the_measured_one(which: str) -> None:
    """24 runs, re-measured: peaks to the byte, and pushes."""
    make, settings = NETS[which]
    program = make()
    record = recorded(program, **NAIVE)
    net = program.net if "graph" in which else None
    for knobs in settings:
        found = rerun(record, net=net, **knobs)
        real = measured(found.measure(program).record)
        place = str(program.device)
        assert found.peak[place] == real["peak"][place]
        assert found.makespan > 0
        assert found.pushes == real["pushes"]
        if not {*knobs} & {*ROUND, *UNPOOLED, *PAGES}:
            assert found.reserved[place] == real["reserved"][place]


def test_pools_are_predicted_whole_where_everything_is_made_anew() -> None:
    device = gpu(2)  # of which no other test has left anything in use

    def program() -> None:
        gc.collect()  # when arrays in circles are freed is not the program's to say
        Program(perceptron(40, 10), device, steps=3)()
        gc.collect()

    with mx.knobs(**NAIVE, MINIMX_SIM_GPUS=3):
        program()
        mx.storage.empty_cache(device)
        with Record() as record:
            program()
        for knobs in (ROUND, UNPOOLED, {}):
            found = rerun(record, **knobs)
            real = measured(found.measure(program).record)
            for name in ("peak", "reserved", "driver_calls"):
                assert getattr(found, name)["gpu(2)"] == real[name]["gpu(2)"], name
            assert found.pushes == real["pushes"]


@pytest.mark.parametrize(
    "knobs",
    [
        {"MXNET_ENGINE_TYPE": "NaiveEngine"},
        {"MXNET_GPU_COPY_NTHREADS": 1, "MXNET_GPU_WORKER_NTHREADS": 1},
        {"MINIMX_SIM_LAUNCH": 30.0, "MXNET_CPU_WORKER_NTHREADS": 2},
        {"MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_BWD": 3},
    ],
    ids=str,
)
def test_makespans_on_the_virtual_clock_are_exact(knobs: dict[str, Any]) -> None:
    program = Program(perceptron(40, 10), gpu())
    found = rerun(recorded(program, **VIRTUAL), **knobs)
    compared = found.measure(program)
    rows = {name: (mine, real) for name, mine, real in compared.rows}
    assert rows["makespan"][0] == rows["makespan"][1]
    assert rows["pushes"][0] == rows["pushes"][1]
    assert "predicted" in repr(compared)
    assert "measured" in repr(compared)


@pytest.mark.parametrize("engine", ["NaiveEngine", "ThreadedEnginePerDevice"])
def test_a_makespan_on_the_wall_clock_is_that_of_the_record(engine: str) -> None:
    """Within 15 %; that a second run takes as long only an idle machine can show."""
    program = Program(perceptron(24, 10), gpu(), steps=1)
    knobs: dict[str, Any] = {"MXNET_ENGINE_TYPE": engine, "MINIMX_SIM_DELAY": 300.0}
    record = recorded(program, **knobs)
    found = rerun(record)
    ratio = found.makespan / measured(record)["makespan"]
    assert 0.85 < ratio < 1.15
    again = measured(found.measure(program).record)["makespan"]
    assert again > 0.5 * found.makespan  # with the delay of the record


def test_a_record_that_began_with_operations_under_way() -> None:
    """What they waited for is no push; that it is missing is said."""
    begun, var = threading.Event(), engine.Var()
    engine.push(begun.wait, cpu(), (), (var,), "under way")
    with Record() as record:
        engine.push(lambda: None, cpu(), (var,), (), "late")
        time.sleep(0.05)
        engine.push(lambda: None, cpu(), (), (engine.Var(),), "at once")
        begun.set()
        mx.nd.waitall()
    assert Operations.of(record).overheads.push < 40_000_000
    assert any("pushed before the record" in each for each in rerun(record).unknown)


def test_a_record_that_was_replayed_can_be_freed() -> None:
    record = Record()
    rerun(record)
    gone = weakref.ref(record)
    del record
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("base", [{}, NAIVE], ids=["threads", "naive"])
def test_peaks_under_another_engine_are_near(base: dict[str, Any]) -> None:
    """On the virtual clock, where the order of requests is always the same."""
    program = Program(convolution(), gpu(), steps=3)
    record = recorded(program, **VIRTUAL, **base)
    for knobs in (
        {"MXNET_ENGINE_TYPE": "NaiveEngine"},
        {"MXNET_ENGINE_TYPE": "ThreadedEngine"},
        {"MXNET_ENGINE_TYPE": "ThreadedEnginePerDevice"},
        {"MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_BWD": 3},
    ):
        found = rerun(record, **knobs)
        real = measured(found.measure(program).record)["peak"]["gpu(0)"]
        assert abs(found.peak["gpu(0)"] - real) <= real / 6


def test_what_it_cannot_know_stands_beside_the_figures() -> None:
    program = Program(perceptron(24, 10), cpu())
    record = recorded(program, calls=False, **NAIVE)
    found = rerun(record, MXNET_ENGINE_TYPE="ThreadedEngine", **ROUND)
    assert found.changes["MXNET_ENGINE_TYPE"] == "ThreadedEngine"
    for words in (
        "kernels run when",
        "Python waited",
        "estimates",
        "before the record",
    ):
        assert sum(words in each for each in found.unknown) == 1
        assert words in repr(found)
    shown = repr(found).splitlines()
    assert all("predicted" in line for line in shown if "unknown" not in line)
    assert rerun(recorded(program, **VIRTUAL)).unknown == ()


def test_knobs_that_cannot_be_replayed_say_why_and_which_can() -> None:
    record = Record()
    with pytest.raises(ArgumentError, match=r"only a run can say.*MXNET_ENGINE_TYPE"):
        rerun(record, MXNET_SAFE_ACCUMULATION=True)
    with pytest.raises(KnobError, match="Did you mean MXNET_ENGINE_TYPE"):
        rerun(record, MXNET_ENGINE_TIPE="NaiveEngine")
    with pytest.raises(ArgumentError, match=r"Give the hybridized network.*net=net"):
        rerun(record, NNVM_EXEC_MATCH_RANGE=2)
    with pytest.raises(ArgumentError, match="nothing in the record ran on a GPU"):
        rerun(record, MINIMX_SIM_GPU_PRESET="V100")
    with pytest.raises(ArgumentError, match="which parameters are shared"):
        rerun(record, kvstore="ring")


def test_a_network_that_was_not_recorded_is_refused() -> None:
    program = Program(perceptron(24, 10), cpu(), hybrid=True)
    record = recorded(program, **NAIVE)
    other = Program(perceptron(200, 10), cpu(), hybrid=True)
    with pytest.raises(ArgumentError, match="no graph that was called"):
        rerun(record, net=other.net, NNVM_EXEC_MATCH_RANGE=0)
    other()
    with pytest.raises(ArgumentError, match="Give the network that was recorded"):
        rerun(record, net=other.net, NNVM_EXEC_MATCH_RANGE=0)


def test_empty_and_incomplete_records() -> None:
    nothing = rerun(Record(), MXNET_ENGINE_TYPE="NaiveEngine")
    assert (nothing.peak, nothing.pushes, nothing.makespan) == ({}, 0, 0)
    assert "no memory was recorded" in repr(nothing)
    with pytest.raises(ArgumentError, match="nothing of gpu"):
        nothing.memory_curve("gpu(0)")
    program = Program(perceptron(24, 10), cpu())
    program()
    with Record(capacity=10) as short:
        program()
    assert "rows of the record are lost" in rerun(short).unknown[0]


def test_a_step_with_a_store_is_predicted() -> None:
    program = Program(perceptron(24, 10), gpu())
    record = recorded(program, **VIRTUAL)
    found = rerun(record, net=program.net, kvstore="device", workers=4, steps=2)
    assert found.store is not None
    assert (found.store.workers, found.store.store) == (4, "device")
    assert "modelled" in repr(found)


def test_less_memory_refuses() -> None:
    program = Program(perceptron(24, 10), gpu())
    record = recorded(program, **NAIVE)
    assert not rerun(record).refused
    tight: Rerun = rerun(record, MINIMX_SIM_GPU_MEMORY=1 << 20, **PAGES)
    assert tight.refused
    assert "refused, predicted" in repr(tight)
    assert tight.memory_curve(gpu()).peak == tight.peak["gpu(0)"]


def long_record(count: int) -> Record:
    """Operations that each read what the one before them wrote, in a new block."""
    record = Record(capacity=2 * count)
    record.conditions.devices["cpu(0)"] = 1 << 30
    moment = [0]
    record.clock = lambda: moment[0]
    owner = Owner("add", "net", "forward", "activation")
    for op in range(1, count + 1):
        start = moment[0] = 10_000 * op
        events.attribution.running = op
        record.memory("alloc", "cpu(0)", op, 4096 + op % 7, 8192, 0, owner)
        events.attribution.running = 0
        times = (3_000 * op, 3_000 * op + 500, start, start + 9_000)
        row = (op, f"add{op % 50}", "net", "forward", "cpu(0)", "cpu(0)/0", *times)
        record.op(*Finished(*row, 0, 0, False))
        record.dependency(max(op - 1 - op % 3, 1), op, "RAW") if op > 4 else None
        moment[0] = start + 9_500
        record.memory("free", "cpu(0)", op, 4096 + op % 7, 8192, 0, owner)
    return record


@pytest.mark.alone
def test_ten_thousand_operations_are_replayed_in_time() -> None:
    record = long_record(10_000)
    knobs: dict[str, Any] = {"MXNET_CPU_WORKER_NTHREADS": 4, **ROUND}
    assert rerun(record, **knobs).makespan < rerun(record).makespan / 2
    assert pace.shortest(lambda: rerun(record, **knobs), 5) <= 0.1


def test_the_program_of_the_page_in_the_book_runs() -> None:
    page = Path(__file__).parents[2] / "book" / "replay.md"
    (program,) = re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(program, names)
    assert names["found"].changes == {"MXNET_EXEC_ENABLE_INPLACE": False}
