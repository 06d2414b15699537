"""LSTM layers by oneDNN against the readable kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minimx import autograd, gluon, nd
from minimx.core.knobs import knobs
from minimx.fast.onednn import library as dnnl
from minimx.fast.onednn import recurrent
from minimx.operators.kernels.layers.rnn import Net, forward
from tests.core.knobs.proofs import defaults

__all__ = ["defaults"]

there = pytest.mark.skipif(not dnnl.library(), reason="oneDNN is not installed")


def net_of(**changes: Any) -> Net:
    """A network that oneDNN takes, but for these changes."""
    sizes: dict[str, Any] = {
        "mode": "lstm", "layers": 1, "directions": 1, "steps": 20, "batch": 16,
        "features": 64, "size": 64, "projected": 0, "drop": 0.0, "keep": False,
    }  # fmt: skip
    return Net(**sizes | changes)


@there
@given(
    st.integers(1, 3), st.integers(1, 2), st.integers(2, 7), st.integers(4, 9),
    st.integers(1, 40), st.integers(1, 40), st.booleans(), st.integers(0, 999),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_it_agrees_with_the_readable_kernels(
    layers: int, directions: int, steps: int, batch: int, features: int, size: int,
    lasting: bool, seed: int,
) -> None:  # fmt: skip
    net = net_of(
        layers=layers, directions=directions, steps=steps, batch=batch,
        features=features, size=size,
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recurrent, "WORTH", 0)
        run = recurrent.better(net, "float32", False)
    assert run is not None
    chance = np.random.default_rng(seed)

    def numbers(*shape: int) -> Any:
        return chance.normal(size=shape).astype("float32")

    x, flat = numbers(steps, batch, features), numbers(net.parameters()) / 4
    states = tuple(numbers(layers * directions, batch, size) for _ in range(2))
    lengths, notes = np.full(batch, steps), np.empty(net.noted(), np.float32)
    found: list[Any] = []
    copies: recurrent.Copies = {}
    for kept in ({}, {}, {"copies": copies}, {"copies": copies}):
        out = np.full((steps, batch, directions * size), np.nan, np.float32)
        lasts = tuple(np.full_like(s, np.nan) for s in states) if lasting else ()
        one = run if found else forward
        one(net, x, flat, states, lengths, out, lasts, notes, **kept)
        found.append((out, *lasts))
    assert len(copies) == layers * directions
    for got in found[1:]:
        for one, wanted in zip(got, found[0], strict=True):
            np.testing.assert_allclose(one, wanted, 0, 2e-5)


@there
@pytest.mark.parametrize(
    "changes",
    [
        {"mode": "gru"}, {"mode": "rnn_tanh"}, {"mode": "rnn_relu"}, {"keep": True},
        {"projected": 32}, {"clip": (-1.0, 1.0)}, {"batch": 3}, {"steps": 1},
        {"steps": 2, "batch": 4},
    ],
)  # fmt: skip
def test_what_it_does_not_take(changes: dict[str, Any]) -> None:
    assert recurrent.better(net_of(), "float32", False) is not None
    assert recurrent.better(net_of(**changes), "float32", False) is None
    for dtype in ("float64", "float16"):
        assert recurrent.better(net_of(), dtype, False) is None
    assert recurrent.better(net_of(), "float32", True) is None


def test_without_the_library_it_takes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recurrent, "loaded", lambda: None)
    assert recurrent.better(net_of(), "float32", False) is None


def layer_and_data(**more: Any) -> tuple[Any, Any]:
    layer = gluon.rnn.LSTM(64, 2, input_size=64, bidirectional=True, **more)
    layer.initialize()
    return layer, nd.random.normal(shape=(20, 16, 64))


@there
@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("layout", ["TNC", "NTC"])
def test_a_layer_predicts_alike_either_way(hybrid: bool, layout: str) -> None:
    layer, x = layer_and_data(layout=layout, dropout=0.5)
    states = layer.begin_state(x.shape[layout.find("N")])
    if hybrid:
        layer.hybridize()
    before = dnnl.counts()
    got = layer(x, states)
    nd.waitall()
    assert dnnl.counts() != before
    with knobs(MXNET_USE_ONEDNN_RNN=0):
        wanted = layer(x, states)
    for one, two in zip((got[0], *got[1]), (wanted[0], *wanted[1]), strict=True):
        np.testing.assert_allclose(one.asnumpy(), two.asnumpy(), 0, 1e-5)


@there
def test_gradients_of_a_prediction_are_those_of_the_readable_kernels() -> None:
    layer, x = layer_and_data()

    def gradients() -> list[Any]:
        x.attach_grad()
        with autograd.record(train_mode=False):
            loss = (layer(x) ** 2).sum()
        loss.backward()
        found = [p.grad().asnumpy() for p in layer.collect_params().values()]
        return [x.grad.asnumpy(), *found]

    got = gradients()
    with knobs(MXNET_USE_ONEDNN_RNN=0):
        wanted = gradients()
    for one, two in zip(got, wanted, strict=True):
        np.testing.assert_allclose(one, two, 1e-4, 1e-4)


@there
def test_training_is_left_to_the_readable_kernels() -> None:
    layer, x = layer_and_data()
    before = dnnl.counts()
    with autograd.record():
        loss = layer(x).sum()
    loss.backward()
    nd.waitall()
    assert dnnl.counts() == before
