"""The summary: allocated, cached and reserved told apart, and whose the bytes are."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

import minimx as mx
from minimx.core import autograd, storage
from minimx.core.device import gpu
from minimx.core.drivers.counting import CountingDriver
from minimx.core.errors import ArgumentError, DeviceError, OutOfMemory
from minimx.core.events import Owner
from minimx.core.knobs import knobs
from minimx.core.storage import Pool, Usage
from minimx.core.storage.policy import naive
from minimx.gluon import nn
from minimx.tools.memory.summary import Summary

MIB = 1 << 20
CONV = Owner("Convolution", "net/<conv>", "forward", "activation")
FC = Owner("FullyConnected", "net/fc", "forward", "parameter")


def pool() -> Pool:
    made = Pool(CountingDriver(gpu(), 64 * MIB), naive())
    kept = made.alloc(5 * MIB, CONV)
    made.alloc(3 * MIB, FC)
    made.alloc(2 * MIB, CONV).free()
    assert kept.size == 6 * MIB
    return made


def test_allocated_cached_and_reserved_are_told_apart() -> None:
    lines = repr(Summary.of([pool()], most=5)).splitlines()
    heading, row = (re.split(r"\s{2,}", line.strip()) for line in lines[:2])
    found = dict(zip(heading, row, strict=True))
    assert found == {
        "device": "gpu(0)",
        "pool": "Naive",
        "allocated": "8 MiB",
        "in blocks": "10 MiB",
        "cached": "2 MiB",
        "reserved": "12 MiB",
        "peak": "12 MiB",
        "in use": "12 MiB of 64 MiB",
        "calls": "3",
        "hits": "0",
        "flushes": "0",
    }


def test_categories_have_their_present_and_their_peak() -> None:
    made = pool()
    assert made.categories() == {
        "activation": Usage(5 * MIB, 7 * MIB),
        "parameter": Usage(3 * MIB, 3 * MIB),
    }
    text = repr(Summary.of([made], most=5))
    assert re.search(r"activation +5 MiB +7 MiB", text)
    assert text.index("parameter  ") < text.index("activation  ")  # the order of views
    made.reset_peaks()
    assert made.categories()["activation"] == Usage(5 * MIB, 5 * MIB)


def test_categories_survive_an_error_and_another_policy() -> None:
    made = pool()
    before = made.categories()
    with pytest.raises(OutOfMemory):
        made.alloc(70 * MIB, FC)
    assert made.categories() == before
    made.set_policy(naive(page=64))
    for block in made.in_use():
        block.free()
    assert {use.live for use in made.categories().values()} == {0}


def test_the_largest_owners_are_named() -> None:
    found = Summary.of([pool()], most=1)
    assert "5 MiB  Convolution in net/<conv> (activation, forward), 1 block" in repr(
        found
    )
    assert found[gpu()].owners == ((CONV, 5 * MIB, 1),)
    assert found["gpu(0)"].stats.cached == 2 * MIB


class Cells(HTMLParser):
    """The texts of a page's cells."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1] in ("td", "th"):
            self.cells.append(data)


def test_in_a_notebook_it_is_a_table() -> None:
    found = Summary.of([pool()], most=5)
    cells = [cell for _, rows in found.tables() for row in rows for cell in row]
    assert Cells(found._repr_html_()).cells == cells


def test_devices_are_named_as_they_print() -> None:
    assert mx.storage.summary("gpu(0)").devices[0].stats.device == "gpu(0)"
    with pytest.raises(DeviceError):
        mx.storage.summary("gpu(77)")
    with pytest.raises(ArgumentError, match=r"has gpu\(0\), not cpu\(0\): nobody"):
        Summary.of([pool()], most=5)["cpu(0)"]


def test_nothing_to_tell() -> None:
    assert repr(Summary.of([], most=5)) == "No device was asked for memory yet."
    assert "<p>No device" in Summary.of([], most=5)._repr_html_()


def test_every_byte_of_a_training_step_has_its_layer_and_category() -> None:
    net = nn.HybridSequential(prefix="net_")
    net.add(nn.Dense(64, activation="relu"), nn.Dense(4))
    net.initialize(ctx=gpu())
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"momentum": 0.9})
    x = mx.nd.ones((8, 32), ctx=gpu())
    with knobs(MXNET_ENGINE_TYPE="NaiveEngine"):
        storage.reset_peaks(gpu())
        with autograd.record():
            loss = net(x).sum()
        loss.backward()
        trainer.step(8)
        held = mx.storage.summary(gpu())["gpu(0)"].categories
    weights = 4 * (64 * 32 + 64 + 4 * 64 + 4)
    for category in ("parameter", "optimizer state"):
        assert held[category] == Usage(weights, weights)
    assert held["gradient"].live == weights
    assert held["activation"].peak >= 4 * 8 * 64
    layers = {block.owner.layer for block in storage.pool_for(gpu()).in_use()}
    assert layers >= {param.layer for param in net.collect_params().values()}


def test_what_a_store_gathers_is_communication() -> None:
    with knobs(MINIMX_SIM_GPUS=2):
        store = mx.kv.create("device")
        store.init(0, mx.nd.zeros((1000,)))
        before = storage.categories(gpu()).get("communication", Usage(0, 0)).live
        store.push(0, [mx.nd.ones((1000,), ctx=gpu(i)) for i in range(2)])
        mx.nd.waitall()
        held = [storage.categories(gpu(i)).get("communication") for i in range(2)]
        assert sum(use.live for use in held if use is not None) - before == 4000
        del store
