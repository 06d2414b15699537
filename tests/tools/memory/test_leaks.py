"""The leak check: it finds what stayed behind, says whose it is, and nothing else."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import minimx as mx
from minimx.core import autograd, storage
from minimx.core.device import cpu, gpu
from minimx.core.errors import MemoryLeak, MXNetError
from minimx.core.storage import check_leaks
from minimx.gluon import nn


def test_what_comes_back_is_no_leak() -> None:
    with check_leaks() as check:
        x = mx.nd.ones((1000,), ctx=gpu())
        (x + x).wait_to_read()
        del x
    assert check.found == []
    assert str(check) == "Everything that was allocated is freed."


def test_operations_under_way_and_rubbish_are_no_leak() -> None:
    class Knot:
        def __init__(self) -> None:
            self.array, self.me = mx.nd.ones((1000,)), self

    gc.disable()
    try:
        with check_leaks():
            x = mx.nd.ones((1000,), ctx=gpu())
            for _ in range(50):
                x = x + 1
            del x
            Knot()
    finally:
        gc.enable()


def test_who_holds_what() -> None:
    kept = []
    with pytest.raises(MemoryLeak) as found, check_leaks() as check:
        for _ in range(3):
            kept.append(mx.nd.ones((1000,), ctx=gpu()))
        kept.append(mx.nd.zeros((10,)))
    assert isinstance(found.value, MXNetError)
    told = str(found.value).splitlines()
    assert told[0].startswith(
        "11.8 KiB in 4 blocks were allocated and are still in use"
    )
    assert "11.7 KiB on gpu(0) _ones (temporary, other), 3 blocks" in told[1]
    assert "40 B on cpu(0) _zeros (temporary, other), 1 block" in told[2]
    assert [block.requested for block in check.found if block.pool.name == "cpu(0)"]
    assert repr(check) == str(found.value)


def test_one_device_only() -> None:
    with check_leaks(gpu()):
        mine = mx.nd.ones((10,), ctx=cpu())
        mine.wait_to_read()


def test_an_array_that_takes_the_place_of_another_is_found() -> None:
    gc.collect()  # what other tests left would be freed in the middle of this one
    x = mx.nd.ones((1000,), ctx=gpu())
    x.wait_to_read()
    before = storage.stats(gpu()).live_requested
    with pytest.raises(MemoryLeak, match="_plus_scalar"), check_leaks():
        x = x + 1
    assert storage.stats(gpu()).live_requested == before


def test_an_error_from_inside_goes_first() -> None:
    kept: list[Any] = []
    with pytest.raises(ZeroDivisionError), check_leaks():
        kept.append(mx.nd.ones((10,)))
        1 / 0  # noqa: B018


def test_a_training_step_gives_everything_back() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(8, activation="relu"), nn.Dense(2))
    net.initialize(ctx=gpu())
    net.hybridize(static_alloc=True)
    trainer = mx.gluon.Trainer(net.collect_params(), "adam")

    def step() -> None:
        with autograd.record():
            loss = net(mx.nd.ones((4, 4), ctx=gpu())).sum()
        loss.backward()
        trainer.step(4)

    with pytest.raises(MemoryLeak, match="optimizer state"), check_leaks(gpu()):
        step()
    with check_leaks(gpu()):
        step()
