"""Blocks that overlap in an arena: the engine orders what touches the same bytes."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

import minimx as mx
from minimx.core.drivers import kernels_as_on
from minimx.core.graph.passes.prepare import prepare
from minimx.core.graph.running.program import Program
from minimx.core.graph.running.segments import Segment
from minimx.core.graph.running.settings import Settings
from tests.core.graph.nets import residual, variables_of

SHAPE = (4, 3, 32, 32)


@pytest.fixture(scope="module")
def program() -> Program:
    """A residual network in training, three nodes to a segment."""
    graph = residual((2, 2)).graph
    prepared = prepare(
        graph,
        variables_of(graph, data=SHAPE),
        graph.arguments,
        training=True,
        settings=Settings(),
        sizes=(3, 3),
        kind=kernels_as_on(mx.cpu()),
    )
    return Program(prepared, mx.cpu())


def touched(program: Program, segment: Segment) -> list[tuple[int, int, bool]]:
    """The bytes of the arena that a segment reads or writes: (begin, end, written)."""
    found = []
    for step in segment.steps:
        outs = {place.offset for place in step.writes if place.outside < 0}
        for place in step.args:
            if place.outside < 0:
                end = place.offset + place.spec.nbytes
                found.append((place.offset, end, place.offset in outs))
    return found


def test_segments_that_touch_the_same_bytes_have_a_var_in_common(
    program: Program,
) -> None:
    plan = program.plan
    assert program.nbytes < plan.total, (
        "some blocks must overlap, or this tests nothing"
    )
    segments = [*program._forward, *program._backward]
    meetings = across = 0
    for one, other in combinations(segments, 2):
        writes = {*one.var_writes} & {*other.var_writes, *other.var_reads}
        writes |= {*one.var_reads} & {*other.var_writes}
        same = one.blocks_written | one.blocks_read
        same &= other.blocks_written | other.blocks_read
        for begin, end, written in touched(program, one):
            for start, stop, changed in touched(program, other):
                if begin < stop and start < end and (written or changed):
                    meetings += 1
                    across += not same
                    assert writes, (one.name, other.name)
    assert meetings and across, "no two segments meet in blocks of different numbers"


def run(settings: dict[str, Any]) -> bytes:
    with mx.knobs(**settings):
        mx.random.seed(3)
        executor = residual((2, 2)).simple_bind(mx.cpu(), data=SHAPE)
        for name, array in executor.arg_dict.items():
            array[:] = (
                1 if "label" in name else mx.nd.random.normal(0, 0.1, array.shape)
            )
        for _ in range(3):
            executor.forward(is_train=True)
            executor.backward()
        grads = [g for g in executor.grad_dict.values() if g is not None]
        return b"".join(g.asnumpy().tobytes() for g in grads)


@pytest.mark.parametrize("mirror", [0, 1])
def test_gradients_are_those_of_a_plan_without_sharing(mirror: int) -> None:
    apart = run({"NNVM_EXEC_MATCH_RANGE": 0, "MXNET_EXEC_ENABLE_INPLACE": 0})
    small = {"MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN": 3}
    overlaid = {**small, "MXNET_CPU_WORKER_NTHREADS": 4}
    assert run({**overlaid, "MXNET_BACKWARD_DO_MIRROR": mirror}) == apart
