"""Several pushes become one operation, and nothing else changes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from minimx.core import engine
from minimx.core.device import cpu, gpu
from minimx.core.engine import Operation, Var, bulking
from minimx.core.knobs import knobs
from tests.probe.interrupts import traced

SOON = 20.0


@pytest.fixture
def submitted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the operations that reach the engine."""
    names: list[str] = []
    submit = engine.current.submit

    def listen(operation: Operation) -> None:
        names.append(operation.name)
        submit(operation)

    monkeypatch.setattr(engine.current, "submit", listen)
    return names


def nothing() -> None:
    pass


def push(
    *writes: Var,
    fn: Callable[[], object] = nothing,
    priority: int = 0,
    prop: int = engine.NORMAL,
) -> None:
    engine.push(fn, cpu(), [], writes, "plain", priority, prop)


def test_a_full_bulk_is_handed_over(submitted: list[str]) -> None:
    with engine.bulk(3):
        for _ in range(7):
            push(Var())
        assert submitted == ["ImperativeBulk"] * 2
    assert submitted == ["ImperativeBulk"] * 3
    push(Var())
    assert submitted[3:] == ["plain"]


@pytest.mark.parametrize("size", [0, 1])
def test_small_sizes_join_nothing(submitted: list[str], size: int) -> None:
    with engine.bulk(size):
        push(Var())
        assert submitted == ["plain"]


def test_the_default_size_is_a_knob(submitted: list[str]) -> None:
    with knobs(MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN=2), engine.bulk():
        for _ in range(4):
            push(Var())
    assert submitted == ["ImperativeBulk"] * 2


def test_another_device_ends_a_bulk(submitted: list[str]) -> None:
    with engine.bulk(10):
        push(Var())
        engine.push(nothing, gpu(), [], [Var()], "plain")
        assert submitted == ["ImperativeBulk"]


@pytest.mark.parametrize(("priority", "prop"), [(1, 0), (0, engine.COPY_TO_GPU)])
def test_special_operations_end_a_bulk(
    submitted: list[str], priority: int, prop: int
) -> None:
    with engine.bulk(10):
        push(Var())
        push(Var(), priority=priority, prop=prop)
        assert submitted == ["ImperativeBulk", "plain"]


def test_lowering_the_size_ends_a_bulk(submitted: list[str]) -> None:
    assert engine.set_bulk_size(10) == 0
    push(Var())
    push(Var())
    assert engine.set_bulk_size(3) == 10
    assert submitted == []
    assert engine.set_bulk_size(2) == 3
    assert submitted == ["ImperativeBulk"]


@pytest.mark.parametrize("outside", [0, 2])
def test_ctrl_c_anywhere_leaves_the_size_of_before(outside: int) -> None:
    def block() -> None:
        with engine.bulk(3):
            push(Var())

    engine.set_bulk_size(outside)
    for at in range(1, traced(block) + 1):
        with suppress(KeyboardInterrupt):
            traced(block, at)
        assert engine.set_bulk_size(outside) == outside, at
    engine.set_bulk_size(0)
    assert bulking.users == 0


@contextmanager
def bulk_of(writes: list[Var], ran: list[int]) -> Iterator[None]:
    """Another thread holds a bulk with one operation inside the block."""
    ready, done = threading.Event(), threading.Event()

    def hold() -> None:
        with engine.bulk(10):
            push(*writes, fn=lambda: ran.append(1))
            ready.set()
            done.wait(SOON)

    thread = threading.Thread(target=hold)
    thread.start()
    assert ready.wait(SOON)
    yield
    done.set()
    thread.join()


def test_a_wait_sees_what_other_threads_have_collected() -> None:
    var, ran = Var(), list[int]()
    with bulk_of([var], ran):
        assert not ran
        engine.wait_to_read(var)
        assert ran == [1]


def test_a_push_comes_after_what_other_threads_have_collected() -> None:
    var, ran = Var(), list[int]()
    with bulk_of([var], ran):
        engine.push(lambda: ran.append(2), cpu(), [var], [], "reader")
        engine.wait_all()
    assert ran == [1, 2]


def test_parts_fail_alone(asynchronous: str) -> None:
    good, bad, dependent, ran = Var(), Var(), Var(), list[int]()

    def fail() -> None:
        raise ValueError("the second part")

    with engine.bulk(10):
        push(good, fn=lambda: ran.append(1))
        push(bad, fn=fail)
        engine.push(lambda: ran.append(3), cpu(), [bad], [dependent], "skipped")
        push(good, fn=lambda: ran.append(4))
    engine.wait_to_read(good)
    assert ran == [1, 4]
    with pytest.raises(ValueError, match="the second part"):
        engine.wait_to_read(dependent)
    engine.wait_all()
    assert (good.version, bad.version, dependent.version) == (2, 1, 1)


def test_bulks_of_many_threads(threaded: str) -> None:
    """Threads that share a var join, hand over and wait in all orders."""
    var, counts = Var(), [0]

    def count() -> None:
        counts[0] += 1

    def work() -> None:
        with engine.bulk(4):
            for i in range(200):
                push(var, fn=count)
                if i % 50 == 0:
                    engine.wait_to_read(var)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON)
    engine.wait_all()
    assert counts == [800]
    assert var.version == 800
    assert engine.bulking.users == 0
