"""Gradients of recurrent networks on CUDA, of every kind, are those of the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx

STEPS, BATCH, FEATURES, SIZE = 3, 2, 2, 3

#: Settings of a network, and whether its samples have lengths.
KINDS: list[dict[str, Any]] = [
    {"mode": "rnn_relu", "bidirectional": True},
    {"mode": "rnn_tanh", "num_layers": 2, "use_sequence_length": True},
    {"mode": "gru", "num_layers": 2, "bidirectional": True, "state_outputs": True},
    {"mode": "gru", "use_sequence_length": True, "bidirectional": True},
    {"mode": "lstm", "num_layers": 2, "bidirectional": True, "state_outputs": True},
    {"mode": "lstm", "use_sequence_length": True, "state_outputs": True},
    {
        "mode": "lstm", "projection_size": 2, "use_sequence_length": True,
        "bidirectional": True, "state_outputs": True,
    },
    {"mode": "lstm", "lstm_state_clip_min": -0.3, "lstm_state_clip_max": 0.2},
]  # fmt: skip


def question(settings: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The inputs of a network, and all its settings."""
    from minimx.core.ops.registry import lookup
    from minimx.core.ops.spec import Spec

    every = {"num_layers": 1, **settings, "state_size": SIZE}
    data = Spec.of((STEPS, BATCH, FEATURES), np.dtype(np.float32))
    op: Any = lookup("RNN").of(**every)
    wanted = op.complete(data)
    drawn = np.random.default_rng(3)
    inputs = [drawn.normal(size=data.shape).astype(np.float32)]
    for name, shape in wanted.items():
        found = drawn.normal(scale=0.7, size=shape).astype(np.float32)
        inputs.append(np.array([3, 1], "int32") if "length" in name else found)
    return inputs, every


def answers(inputs: list[Any], settings: dict[str, Any], at: Any) -> list[Any]:
    """The outputs of a network in training on a device, and its gradients."""
    arrays = [mx.nd.array(x, ctx=at, dtype=x.dtype) for x in inputs]
    reals = [x for x in arrays if x.dtype == np.float32]
    for x in reals:
        x.attach_grad()
    with mx.autograd.record():
        network: Any = mx.nd.RNN
        found = network(*arrays, **settings)
        outs = list(found) if isinstance(found, list | tuple) else [found]
    heads = [
        mx.nd.array(np.cos(np.arange(x.size)).reshape(x.shape), ctx=at) for x in outs
    ]
    mx.autograd.backward(outs, heads)
    return [x.asnumpy() for x in (*outs, *(x.grad for x in reals))]


@pytest.mark.parametrize(
    "settings", KINDS, ids=lambda s: "-".join(map(str, s.values()))
)
def test_a_network_learns_on_a_device_as_on_the_cpu(settings: dict[str, Any]) -> None:
    inputs, every = question(settings)
    here, there = (answers(inputs, every, at) for at in (mx.gpu(0), mx.cpu()))
    assert len(here) == len(there)
    for mine, its in zip(here, there, strict=True):
        np.testing.assert_allclose(mine, its, rtol=2e-5, atol=2e-6)


def test_dropout_between_layers_zeroes_what_the_gradient_skips() -> None:
    settings = {"mode": "rnn_relu", "num_layers": 2, "p": 0.5}
    inputs, every = question(settings)
    ones = [np.ones_like(x) for x in inputs]
    mx.random.seed(5)
    out, dx, *_ = answers(ones, every, mx.gpu(0))
    again = answers(ones, {**every, "p": 0.0}, mx.gpu(0))
    assert not np.allclose(out, again[0])
    assert np.isfinite(dx).all()
    # What reaches the second layer is 0 or doubled: its sums are even multiples.
    first = 2 + FEATURES + SIZE  # a unit of the first layer after one step of ones
    steps = out[0] - 2 - SIZE  # biases, and the state of the second layer
    assert set(np.unique(steps / (2 * first))) <= {0.0, 1.0, 2.0, 3.0}
