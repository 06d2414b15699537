"""`amp.autocast` converts the calls of one thread, inside one block of code."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import gluon
from minimx.core import autograd
from minimx.core.arrays import launch
from minimx.core.errors import ArgumentError


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    assert launch.mixing is None


def dense() -> gluon.nn.Dense:
    layer = gluon.nn.Dense(4, in_units=4)
    layer.initialize()
    return layer


X = np.ones((2, 4), np.float32)


def kind(layer: gluon.nn.Dense) -> str:
    return str(np.dtype(layer(mx.nd.array(X)).dtype).name)


@pytest.mark.parametrize("target", ["float16", "bfloat16"])
@pytest.mark.parametrize("hybridized", [False, True])
def test_inside_it_is_narrow_and_outside_it_is_not(
    target: str, hybridized: bool
) -> None:
    layer = dense()
    layer.hybridize(hybridized)
    for _ in range(2):  # the graphs of both types are kept
        assert kind(layer) == "float32"
        with mx.amp.autocast(target):
            assert kind(layer) == target
    assert np.dtype(layer.weight.dtype).name == "float32"


def test_graphs_are_kept_for_each_type() -> None:
    layer = dense()
    layer.hybridize()
    for _ in range(3):
        kind(layer)
        with mx.amp.autocast("float16"):
            kind(layer)
    assert len(layer._graphs) == 2


def test_other_threads_are_not_converted() -> None:
    layer, inside, done = dense(), threading.Event(), threading.Event()
    found: list[str] = []

    def beside() -> None:
        inside.wait()
        found.append(kind(layer))
        done.set()

    thread = threading.Thread(target=beside)
    thread.start()
    with mx.amp.autocast("float16"):
        inside.set()
        done.wait()
        assert kind(layer) == "float16"
    thread.join()
    assert found == ["float32"]


def test_scopes_nest_and_the_innermost_decides() -> None:
    layer = dense()
    with mx.amp.autocast("float16"):
        with mx.amp.autocast("bfloat16"):
            assert kind(layer) == "bfloat16"
        with mx.amp.autocast("float32"):
            assert kind(layer) == "float32"
        assert kind(layer) == "float16"


def test_it_decides_inside_what_holds_for_the_process() -> None:
    layer = dense()
    mx.amp.init("float16")
    try:
        with mx.amp.autocast("float32"):
            assert kind(layer) == "float32"
            mx.amp.shutdown()
            mx.amp.init("bfloat16")
        assert kind(layer) == "bfloat16"
    finally:
        mx.amp.shutdown()


def test_symbols_are_converted_as_well() -> None:
    x = mx.sym.var("x")
    with mx.amp.autocast("float16"):
        inside = mx.sym.FullyConnected(x, num_hidden=2)
    outside = mx.sym.FullyConnected(x, num_hidden=2)
    assert "amp_cast" in inside.tojson(remove_amp_cast=False)
    assert "amp_cast" not in outside.tojson(remove_amp_cast=False)


def test_an_error_inside_ends_it() -> None:
    with pytest.raises(ZeroDivisionError), mx.amp.autocast("float16"):
        raise ZeroDivisionError
    assert launch.mixing is None


def test_lists_are_taken_and_bad_ones_refused() -> None:
    layer = dense()
    with mx.amp.autocast("float16", fp32_ops=["FullyConnected"]):
        assert kind(layer) == "float32"
    with pytest.raises(ArgumentError, match="target_dtype"):
        mx.amp.autocast("float8")
    with pytest.raises(ArgumentError, match="no operator"):
        mx.amp.autocast("float16", fp32_ops=["Dens"])
    assert repr(mx.amp.autocast("bfloat16")) == "autocast('bfloat16')"


def test_gradients_reach_float32_weights() -> None:
    layer = dense()
    with mx.amp.autocast("float16"), autograd.record():
        loss = layer(mx.nd.array(X)).sum()
    loss.backward()
    gradient = layer.weight.grad()
    assert np.dtype(gradient.dtype).name == "float32"
    assert gradient.asnumpy().tolist() == [[2.0] * 4] * 4


def test_a_scaler_comes_and_goes_between_two_steps() -> None:
    layer = dense()
    trainer = gluon.Trainer(layer.collect_params(), "sgd", {"learning_rate": 0.1})
    x = mx.nd.array(X)

    def step(scaled: bool) -> Any:
        before = layer.weight.data().asnumpy()
        with autograd.record():
            loss = layer(x)
            if scaled:
                with mx.amp.scale_loss(loss, trainer) as large:
                    large.backward()
        if not scaled:
            loss.backward()
        trainer.step(2)
        return before - layer.weight.data().asnumpy()

    plain = step(scaled=False)
    for scale in (4.0, 1024.0):
        scaler = mx.amp.LossScaler(init_scale=scale)
        mx.amp.set_scaler(trainer, scaler)
        assert np.allclose(step(scaled=True), plain, atol=1e-6)
        assert np.allclose(layer.weight.grad().asnumpy(), 2 * scale)
    mx.amp.set_scaler(trainer, None)
    assert np.allclose(step(scaled=False), plain, atol=1e-6)
    with pytest.raises(ArgumentError, match="no loss scaler"):
        mx.amp.unscale(trainer)
