"""Brief work runs on the pushing thread while all workers are idle."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import minimx as mx
from minimx.core import engine
from minimx.core.device import Device, cpu, gpu
from minimx.core.engine import Var
from minimx.core.engine.threaded import BYTES, FLOPS
from minimx.core.errors import MXNetError
from minimx.core.knobs import knobs
from minimx.core.ops.spec import Cost

BRIEF = Cost(FLOPS - 1, BYTES - 1)


@pytest.fixture(autouse=True, params=["ThreadedEngine", "ThreadedEnginePerDevice"])
def _kind(request: pytest.FixtureRequest) -> Iterator[None]:
    with knobs(MXNET_ENGINE_TYPE=request.param):
        yield


def push(
    fn: Callable[[], object],
    *writes: Var,
    reads: tuple[Var, ...] = (),
    cost: Cost | None = BRIEF,
    device: Device | None = None,
) -> None:
    engine.push(fn, device or cpu(), reads, writes, "work", cost=cost)


def runs_here(**how: Any) -> bool:
    """Whether what is pushed like this runs on the thread that pushes."""
    threads: list[threading.Thread] = []
    var = Var()
    push(lambda: threads.append(threading.current_thread()), var, **how)
    engine.wait_to_read(var)
    assert var.version == 1
    return threads == [threading.current_thread()]


def test_brief_work_needs_no_worker() -> None:
    engine.wait_all()
    assert runs_here()
    assert runs_here(cost=Cost(0, 0))


@pytest.mark.parametrize("cost", [Cost(FLOPS, 0), Cost(0, BYTES), None])
def test_long_or_unknown_work_goes_to_a_worker(cost: Cost | None) -> None:
    engine.wait_all()
    assert not runs_here(cost=cost)


def test_work_for_a_gpu_goes_to_its_workers() -> None:
    with knobs(MINIMX_SIM_GPUS=1):
        assert not runs_here(device=gpu(0))


def test_while_a_record_is_on_workers_do_everything() -> None:
    with mx.Record():
        assert not runs_here()
    assert runs_here()


def test_brief_work_stays_behind_what_was_pushed_before() -> None:
    gate, order, var = threading.Event(), [], Var()

    def first() -> None:
        gate.wait()
        order.append("long")

    push(first, var, cost=None)
    push(lambda: order.append("brief"), var)
    push(lambda: order.append("elsewhere"), Var())
    assert order == []
    gate.set()
    engine.wait_all()
    assert order.index("long") < order.index("brief")
    assert len(order) == 3


def test_joined_work_comes_before_brief_work() -> None:
    engine.wait_all()
    order: list[str] = []
    var = Var()
    with engine.bulk(8):
        push(lambda: order.append("joined"), var, cost=None)
        push(lambda: order.append("brief"), var)
    engine.wait_to_read(var)
    assert order == ["joined", "brief"]


def test_threads_that_push_take_turns() -> None:
    engine.wait_all()
    total, var = [0], Var()

    def add() -> None:
        before = total[0]
        threading.Event().wait(0.0001)  # the interpreter is free meanwhile
        total[0] = before + 1

    def pushing() -> None:
        for _ in range(50):
            push(add, var)

    threads = [threading.Thread(target=pushing) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    engine.wait_to_read(var)
    assert total == [200]
    assert var.version == 200


def test_an_error_is_raised_where_the_result_is_waited_for() -> None:
    engine.wait_all()
    bad, after, ran = Var(), Var(), []

    def fails() -> None:
        raise ValueError("in brief work")

    push(fails, bad)
    push(lambda: ran.append(1), after, reads=(bad,))
    with pytest.raises(ValueError, match="in brief work") as caught:
        engine.wait_to_read(after)
    assert ran == []
    assert "test_brief.py" in caught.value.__notes__[0]
    push(lambda: ran.append(2), bad)
    engine.wait_all()
    assert ran == [2]


def test_ctrl_c_in_brief_work_reaches_the_caller() -> None:
    engine.wait_all()
    var = Var()

    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        push(interrupted, var)
    engine.wait_to_read(var)
    assert runs_here()


def test_brief_work_may_push_more() -> None:
    engine.wait_all()
    order: list[str] = []
    inner, outer = Var(), Var()

    def work() -> None:
        push(lambda: order.append("inner"), inner)
        order.append("outer")

    push(work, outer)
    engine.wait_all()
    assert sorted(order) == ["inner", "outer"]


def test_the_tape_keeps_its_numbers() -> None:
    x = mx.nd.array([-1.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.relu(x)
    y[:] = 5  # the output that the tape saved is moved first
    y.backward()
    assert x.grad.asnumpy().tolist() == [0.0, 1.0]


def test_errors_of_operators_wait_as_before() -> None:
    with pytest.raises(MXNetError, match="positive definite"):
        mx.nd.linalg.potrf(-mx.nd.eye(3)).asnumpy()
    low = mx.nd.linalg.potrf(-mx.nd.eye(3))
    with pytest.raises(MXNetError, match="positive definite"):
        low.wait_to_read()
