"""MXNET_ONEDNN_CACHE_NUM is alive: it bounds what is prepared, while a network trains.

Where oneDNN is not installed, a stand-in prepares nothing and writes ones: what is
kept, found again and dropped is decided by the same code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import minimx as mx
from minimx import gluon, nd
from minimx.core import autograd
from minimx.core.knobs import knobs
from minimx.core.ops import registry
from minimx.fast.onednn import convolution as onednn
from minimx.fast.onednn import library as dnnl
from minimx.gluon import nn
from tests.core.knobs.proofs import defaults, proves, turned

__all__ = ["defaults"]


class StandIn:
    """A convolution, prepared by nobody."""

    nbytes = 0

    def __init__(self, dnnl: Any, direction: str, *rest: Any) -> None:
        self.writes = onednn.ARGUMENTS[direction][1]

    def prepare(self) -> None:
        """There is nothing to do."""

    def run(self, arrays: dict[int, Any], workspace: Any) -> None:
        """Write ones."""
        for arg in self.writes:
            arrays[arg][...] = 1


@pytest.fixture(params=["stand-in", "oneDNN"], autouse=True)
def prepared(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Convolutions go to oneDNN, and nothing is prepared yet."""
    if request.param == "oneDNN" and dnnl.loaded() is None:
        pytest.skip("oneDNN is not installed")
    if request.param == "stand-in":
        monkeypatch.setattr(dnnl, "listed", lambda: True)
        monkeypatch.setattr(onednn, "loaded", object)
        monkeypatch.setattr(onednn, "Prepared", StandIn)

    def forget() -> None:
        onednn.offers.cache_clear()
        dnnl.primitives.forget()
        registry.forget_plans()

    forget()
    with knobs(MXNET_CUDNN_HEUR_MODE=0):
        yield
    forget()


def convolve(*edges: int) -> int:
    """Convolve images of these sizes in turn; how many primitives were made."""
    before = mx.runtime.onednn_primitives().misses
    weight = nd.ones((8, 8, 3, 3))
    for edge in edges:
        images = nd.ones((2, 8, edge, edge))
        out = nd.Convolution(images, weight, kernel=(3, 3), num_filter=8, no_bias=True)
        out.wait_to_read()
    return mx.runtime.onednn_primitives().misses - before


FIVE = (9, 10, 11, 12, 13)


def rounds() -> tuple[int, int]:
    """What two rounds of five shapes have to make, after one that does not count."""
    convolve(*FIVE)
    made = convolve(*FIVE, *FIVE)
    return made, mx.runtime.onednn_primitives().kept


@proves("MXNET_ONEDNN_CACHE_NUM")
def test_five_shapes_fit_or_do_not() -> None:
    """With two places, of A B C D E A B C D E none is found again."""
    assert turned(rounds, MXNET_ONEDNN_CACHE_NUM=2) == ((0, 5), (10, 2))
    assert turned(rounds, MXNET_ONEDNN_CACHE_NUM=5) == ((0, 5), (0, 5))


@proves("MXNET_ONEDNN_CACHE_NUM")
def test_no_place_at_all() -> None:
    assert turned(rounds, MXNET_ONEDNN_CACHE_NUM=0) == ((0, 5), (10, 0))


@proves("MXNET_ONEDNN_CACHE_NUM")
@pytest.mark.parametrize("hybrid", [False, True])
def test_it_acts_while_a_network_trains(hybrid: bool) -> None:
    """Two layers, two directions without the weight's: three primitives a step."""
    net = nn.HybridSequential()
    net.add(nn.Conv2D(8, 3, in_channels=8), nn.Conv2D(8, 3, in_channels=8))
    net.initialize()
    if hybrid:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1e-3})
    images = nd.random.normal(shape=(2, 8, 9, 9))

    def step() -> tuple[int, int]:
        before = mx.runtime.onednn_primitives()
        with autograd.record():
            loss = net(images).sum()
        loss.backward()
        trainer.step(2)
        nd.waitall()
        after = mx.runtime.onednn_primitives()
        return after.misses - before.misses, after.hits - before.hits

    made, found = step()
    assert made >= 3
    steps = made + found
    assert step() == (0, steps)
    knobs.set(MXNET_ONEDNN_CACHE_NUM=1)
    assert mx.runtime.onednn_primitives().kept == 1  # at once, before the next step
    assert step()[0] > 0
    knobs.set(MXNET_ONEDNN_CACHE_NUM=-1)
    step()
    assert step() == (0, steps)
