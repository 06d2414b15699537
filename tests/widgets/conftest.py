"""Small records made by hand, so that views can be tested without training anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from ipywidgets import Widget

from minimx.core.events import Owner
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx_widgets.base import View

MICRO = 1000  # nanoseconds

# (name, layer, phase, worker, push, start, end) in microseconds after the start.
OPERATIONS = (
    ("Convolution", "lenet/conv0", "forward", "cpu(0)/0", 5, 10, 60),
    ("relu", "lenet/conv0", "forward", "cpu(0)/1", 10, 62, 70),
    ("FullyConnected", "lenet/dense0", "forward", "cpu(0)/0", 15, 71, 90),
    ("FullyConnected", "lenet/dense0", "backward", "cpu(0)/0", 100, 110, 150),
    ("sgd_update", "", "update", "cpu priority/0", 140, 155, 160),
)
DEPENDENCIES = ((1, 2, "RAW"), (2, 3, "RAW"), (3, 4, "RAW"), (4, 5, "WAR"))


@pytest.fixture
def record() -> Record:
    """Five operations on three workers, some memory, one turned knob, two epochs."""
    made = Record()  # never started, so that nothing else gets into it
    begin = made.conditions.t_start = 1_000_000 * MICRO
    for name, layer, phase, worker, push, start, end in OPERATIONS:
        t_push, t_start, t_end = (begin + MICRO * t for t in (push, start, end))
        times = (t_push, t_push, t_start, t_end)
        row = (made.new_op(), name, layer, phase, "cpu(0)", worker, *times, 0, 0, False)
        made.op(*row)
    for src, dst, kind in DEPENDENCIES:
        made.dependency(src, dst, kind)
    with at_times(made, range(10, 80, 10)):
        weights = Owner("init", "lenet/conv0", "other", "parameter")
        result = Owner("Convolution", "lenet/conv0", "forward", "activation")
        made.memory("alloc", "cpu(0)", 1, 1000, 1024, 0, weights)
        made.memory("alloc", "cpu(0)", 2, 3000, 4096, 0, result)
        made.memory("free", "cpu(0)", 2, 3000, 4096, 0, result)
        made.memory("hit", "cpu(0)", 3, 2000, 4096, 0, result)
        made.knob("MXNET_CPU_MEM_POOL_TYPE", "Naive", "Round", "restart")
        made.memory("free", "cpu(0)", 3, 2000, 4096, 0, result)
        made.memory("flush", "cpu(0)", 0, 0, 4096, 0, result)
    with at_times(made, range(100, 200, 10)):
        for epoch in (1, 2):
            made.metric(2 * epoch - 2, "epoch", epoch)
            for step in (2 * epoch - 1, 2 * epoch):
                made.metric(step, "loss", 2.0 / step)
                made.metric(step, "train accuracy", 0.2 * step)
            made.metric(2 * epoch, "test accuracy", 0.45 * epoch)
            made.metric(2 * epoch, "samples/s", 1000.0 * epoch)
    return made


class at_times:
    """Let a record's clock show given moments, in microseconds after its start."""

    def __init__(self, record: Record, moments: range) -> None:
        self._record = record
        self._moments = iter([*moments, *[moments[-1]] * 20])

    def __enter__(self) -> None:
        start = self._record.conditions.t_start
        self._record.clock = lambda: start + MICRO * next(self._moments)

    def __exit__(self, *_: object) -> None:
        self._record.clock = None


@pytest.fixture(autouse=True, scope="module")
def no_view_stays() -> Iterator[None]:
    """Views that a file leaves open would go on watching the knobs of later tests."""
    yield
    Widget.close_all()


@pytest.fixture
def knobs_at_rest() -> Iterator[None]:
    """Every knob back at its default afterwards."""
    yield
    knobs.reset()


@pytest.fixture
def closing() -> Iterator[Callable[[View], View]]:
    """Views that are closed, with their run, when the test is over."""
    opened: list[View] = []

    def keep(view: View) -> View:
        opened.append(view)
        return view

    yield keep
    for view in opened:
        view.run.close()
