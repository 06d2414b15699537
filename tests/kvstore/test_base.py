"""Stores of one's own."""

from __future__ import annotations

from typing import Any

import pytest

import minimx as mx
from minimx import nd
from minimx.core.errors import ArgumentError


def test_a_store_of_ones_own_is_found_by_its_name() -> None:
    @mx.kv.KVStoreBase.register
    class Doubling(mx.kv.KVStoreBase):
        def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0):  # type: ignore[no-untyped-def]
            for one in value:
                one[:] = 2 * one

    try:
        kv = mx.kv.create("doubling")
        assert isinstance(kv, Doubling)
        assert kv.type == "doubling"
        kv.pushpull(0, values := [nd.ones(1)])
        assert values[0].asscalar() == 2
        for use in (
            lambda: kv.broadcast(0, nd.ones(1), nd.ones(1)),
            lambda: kv.set_optimizer(None),
            lambda: kv.save_optimizer_states("x"),
            lambda: kv.load_optimizer_states("x"),
            lambda: kv.is_capable("optimizer"),
            lambda: kv.rank,
            lambda: kv.num_workers,
        ):
            with pytest.raises(NotImplementedError):
                use()
    finally:
        del mx.kv.KVStoreBase.kv_registry["doubling"]


def test_a_store_that_takes_the_name_of_another() -> None:
    registry = mx.kv.KVStoreBase.kv_registry
    with pytest.warns(UserWarning, match="takes the place"):
        mx.kv.KVStoreBase.register(type("TestStore", (mx.kv.KVStoreBase,), {}))
    with pytest.warns(UserWarning, match="takes the place"):
        mx.kv.KVStoreBase.register(mx.kv.TestStore)
    assert registry["teststore"] is mx.kv.TestStore
    with pytest.raises(ArgumentError, match="no subclass"):
        mx.kv.KVStoreBase.register(dict)


def test_the_smallest_store() -> None:
    kv = mx.kv.create("teststore")
    assert (kv.rank, kv.num_workers, kv.is_capable("optimizer")) == (0, 1, False)
    devices = [mx.gpu(0), mx.cpu()]
    outs = [nd.zeros(2, ctx=ctx) for ctx in devices]
    kv.broadcast("w", nd.array([1, 2]), outs)
    assert [out.asnumpy().tolist() for out in outs] == [[1, 2]] * 2
    kv.pushpull("w", outs)
    assert [out.asnumpy().tolist() for out in outs] == [[2, 4]] * 2
    kv.pushpull("w", outs[0], out=outs[1])
    assert outs[1].asnumpy().tolist() == [2, 4]
