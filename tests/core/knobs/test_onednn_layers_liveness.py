"""The knobs of oneDNN's dense and recurrent layers are alive, where it is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd
from minimx.core.knobs import knobs
from minimx.fast.onednn import library as dnnl
from minimx.fast.onednn import recurrent
from minimx.fast.onednn.packed import packed
from minimx.gluon import nn
from tests.core.knobs.proofs import defaults, proves, turned

__all__ = ["defaults"]

pytestmark = pytest.mark.skipif(not dnnl.library(), reason="oneDNN is not installed")

AB = "MXNET_ONEDNN_FORCE_FC_AB_FORMAT"


def alone(net: Any, x: Any) -> Any:
    """What the readable kernels make of it."""
    with knobs(MXNET_ONEDNN_ENABLED=0):
        return net(x).asnumpy()


def dense() -> tuple[Any, Any]:
    """A hybridized dense layer, and its data."""
    net = nn.HybridSequential()
    net.add(nn.Dense(512, in_units=512, use_bias=False))
    net.initialize(mx.init.Xavier())
    net.hybridize(static_alloc=True, static_shape=True)
    return net, nd.random.normal(shape=(32, 512))


@proves(AB)
def test_dense_weights_stay_in_plain_order() -> None:
    """The copy in a packed layout is gone at once, and comes back."""
    packed.forget()  # networks of other tests may live on
    net, x = dense()
    wanted = alone(net, x)

    def observed() -> int:
        for _ in range(3):
            np.testing.assert_allclose(net(x).asnumpy(), wanted, 1e-4, 1e-4)
        return packed.nbytes()

    plain = 512 * 512 * 4
    (before, during) = turned(observed, **{AB: 1})
    assert plain <= before <= 1.1 * plain
    assert during == 0


def lstm() -> tuple[Any, Any]:
    """A hybridized layer, and its data."""
    layer = mx.gluon.rnn.LSTM(64, input_size=64)
    layer.initialize()
    layer.hybridize(static_alloc=True, static_shape=True)
    return layer, nd.random.normal(shape=(20, 16, 64))


@proves("MXNET_USE_ONEDNN_RNN")
def test_who_computes_an_lstm() -> None:
    layer, x = lstm()
    wanted = layer(x).asnumpy()

    def asked() -> bool:
        before = mx.runtime.onednn_primitives()
        np.testing.assert_allclose(layer(x).asnumpy(), wanted, 0, 1e-5)
        return mx.runtime.onednn_primitives() != before

    assert turned(asked, MXNET_USE_ONEDNN_RNN=0) == (True, False)
    with knobs(MXNET_ONEDNN_ENABLED=0):
        assert not asked()


@proves("MXNET_RNN_USE_WEIGHT_CACHE")
def test_an_edited_weight_goes_unnoticed() -> None:
    layer, x = lstm()

    def notices() -> bool:
        before = layer(x).asnumpy()
        layer.l0_h2h_weight.set_data(layer.l0_h2h_weight.data() + 1 / 64)
        after = layer(x).asnumpy()
        return bool((before != after).any())

    assert turned(notices, MXNET_RNN_USE_WEIGHT_CACHE=1) == (True, False)


@proves("MXNET_RNN_USE_WEIGHT_CACHE")
def test_two_layers_of_one_shape_keep_copies_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    net = nn.HybridSequential()
    net.add(mx.gluon.rnn.LSTM(64, input_size=64), mx.gluon.rnn.LSTM(64, input_size=64))
    net.initialize()
    wanted = alone(net, x := nd.random.normal(shape=(20, 16, 64)))
    net.hybridize()
    packed_times: list[int] = []
    pack = recurrent.Cell.packed

    def packing(self: Any, weights: Any, k: int) -> Any:
        packed_times.append(k)
        return pack(self, weights, k)

    monkeypatch.setattr(recurrent.Cell, "packed", packing)

    def packings() -> int:
        packed_times.clear()
        for _ in range(3):
            np.testing.assert_allclose(net(x).asnumpy(), wanted, 0, 1e-5)
        return len(packed_times)

    assert turned(packings, MXNET_RNN_USE_WEIGHT_CACHE=1) == (6, 2)
