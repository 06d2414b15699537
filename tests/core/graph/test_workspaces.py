"""Scratch memory that graphs share, and give back."""

from __future__ import annotations

import gc

import pytest

import minimx as mx
from minimx.core import storage
from minimx.core.graph.memory.workspaces import Workspaces
from minimx.core.knobs import knobs


def test_graphs_take_turns_and_free_workspaces_come_first() -> None:
    every = Workspaces(mx.cpu(), 3)
    first, second = every.take(1), every.take(1)
    assert first[0] is not second[0]
    third = every.take(2)
    assert third[0] not in (first[0], second[0])
    assert [workspace.users for workspace in every.each] == [2, 1, 1]
    del second
    fourth = every.take(1)
    assert fourth[0].users == 1, "the one that was given up"


def test_memory_stays_as_long_as_a_graph_uses_it() -> None:
    every = Workspaces(mx.cpu(), 1)
    one, other = every.take(1), every.take(1)
    one[0].bytes(1000)
    del one
    assert every.each[0].nbytes >= 1000
    del other
    assert every.each[0].nbytes == 0
    again = every.take(1)
    assert len(again[0].bytes(10)) == 10


@pytest.mark.parametrize("static", [False, True])
def test_graphs_that_are_bound_again_leave_nothing_behind(static: bool) -> None:
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Conv2D(8, 3), mx.gluon.nn.Flatten(), mx.gluon.nn.Dense(10))
    net.initialize()
    net.hybridize(static_alloc=static, static_shape=static)
    x = mx.nd.ones((8, 1, 16, 16))

    def in_use() -> int:
        for _ in range(3):
            with mx.autograd.record():
                out = net(x)
            out.backward()
            # Calls that overlap keep a second output where memory is static.
            mx.nd.waitall()
            del out
        return storage.stats(mx.cpu()).live_requested

    in_use()
    gc.collect()
    before = in_use()
    for _ in range(6):
        with knobs(MXNET_EXEC_ENABLE_INPLACE=False, MXNET_USE_FUSION=False):
            in_use()
        assert in_use() == before
