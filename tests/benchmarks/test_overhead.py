"""What the program around the kernels of a static graph costs."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

import minimx as mx
from minimx.core.arrays.creation import zeros
from minimx.core.device import cpu
from minimx.core.graph.passes.prepare import prepare
from minimx.core.graph.running.program import Program
from minimx.core.knobs import knobs
from tests import pace

NODES = 400


def shortest(works: list[Callable[[], object]], rounds: int = 200) -> list[float]:
    """The shortest time of many of each, in microseconds, measured by turns."""
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for number, work in enumerate(works):
            start = time.perf_counter()
            work()
            best[number] = min(best[number], time.perf_counter() - start)
    return [seconds * 1e6 for seconds in best]


@pytest.mark.alone
def test_a_node_costs_little_more_than_its_kernel() -> None:
    x = y = mx.sym.var("x")
    for _ in range(NODES):
        y = mx.sym.dot(y, x)
    value, out = mx.nd.ones((2, 2)) / 2, zeros((2, 2), cpu())
    prepared = prepare(y.graph, {y.graph.arguments[0]: value.spec})
    program = Program(prepared, cpu())
    arena = program.arena()

    def run() -> None:
        program.forward(arena, [value, out])

    run()
    out.wait_to_read()
    (calls,) = arena.bound.values()
    whole = [(call[0], [a if a is not None else value.view() for a in call[1]])
             for call in calls]  # fmt: skip

    def kernels() -> None:
        for kernel, args in whole:
            kernel(*args)

    assert len(whole) == NODES
    with knobs(MXNET_ENGINE_TYPE="NaiveEngine"):  # nobody waits for a thread to wake
        whole_program, kernels_alone = shortest([run, kernels])
    assert (whole_program - kernels_alone) / NODES <= 1.5 * pace.slowness()
