"""Gradients are clipped when they are unscaled: before, the limit means nothing.

The network is one product with whole numbers, so that float16 is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import amp, gluon, nd
from minimx.core import autograd

LIMIT = 2.5  # half of the length of the gradient below
Clip = Callable[[Any, list[Any]], None]


@pytest.fixture(autouse=True)
def off_afterwards() -> Iterator[None]:
    amp.shutdown()
    yield
    amp.shutdown()


def update(mixed: bool, clip: Clip, batch: int = 1, **settings: Any) -> Any:
    """What one step takes from the weights, whose gradient is (3, 4)."""
    amp.shutdown()
    if mixed:
        amp.init()
    net = gluon.nn.Dense(1, in_units=2, use_bias=False)
    net.initialize(mx.init.Zero())
    trainer = gluon.Trainer(
        net.collect_params(), "sgd", {"learning_rate": 1.0} | settings
    )
    if mixed:
        amp.init_trainer(trainer)
        trainer._amp_loss_scaler._loss_scale = 256.0
        trainer._amp_loss_scaler._next_loss_scale = 256.0
    with autograd.record():
        loss = net(nd.array([[3.0, 4.0]])).astype("float32")
        if mixed:
            with amp.scale_loss(loss, trainer) as scaled:
                autograd.backward(scaled)
    if not mixed:
        loss.backward()
    clip(trainer, net.weight.list_grad())
    trainer.step(batch)
    return -net.weight.data().asnumpy()[0]


def nothing(_trainer: Any, _gradients: list[Any]) -> None:
    pass


def clipped(_trainer: Any, gradients: list[Any]) -> None:
    gluon.utils.clip_global_norm(gradients, LIMIT)


def unscaled_and_clipped(trainer: Any, gradients: list[Any]) -> None:
    amp.unscale(trainer)
    norm = gluon.utils.clip_global_norm(gradients, LIMIT)
    assert norm == pytest.approx(5.0)


def test_by_norm_after_unscale_as_without_mixed_precision() -> None:
    plain = update(False, clipped)
    np.testing.assert_allclose(plain, [1.5, 2.0], rtol=1e-6)
    np.testing.assert_allclose(update(True, unscaled_and_clipped), plain, rtol=1e-6)


def test_before_unscale_the_step_nearly_vanishes() -> None:
    """What goes wrong otherwise: gradients of length 1280 are cut to 2.5, then divided
    by the scale.
    """
    wrong = update(True, clipped)
    np.testing.assert_allclose(wrong, np.array([1.5, 2.0]) / 256, rtol=1e-3)


def test_a_step_after_unscale_does_not_divide_again() -> None:
    np.testing.assert_array_equal(
        update(True, lambda trainer, _: amp.unscale(trainer)), update(False, nothing)
    )


def test_unscaling_twice_divides_once() -> None:
    def twice(trainer: Any, gradients: list[Any]) -> None:
        amp.unscale(trainer)
        amp.unscale(trainer)
        np.testing.assert_array_equal(gradients[0].asnumpy(), [[3, 4]])

    np.testing.assert_array_equal(update(True, twice), [3, 4])


def test_the_next_step_is_scaled_again() -> None:
    amp.init()
    net = gluon.nn.Dense(1, in_units=1, use_bias=False)
    net.initialize(mx.init.Zero())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})
    amp.init_trainer(trainer)
    trainer._amp_loss_scaler._loss_scale = trainer._amp_loss_scaler._next_loss_scale = 8
    for step in range(4):
        with autograd.record():
            loss = net(nd.ones((1, 1))).astype("float32")
            with amp.scale_loss(loss, trainer) as scaled:
                autograd.backward(scaled)
        assert net.weight.grad().asscalar() == 8
        if step % 2:
            amp.unscale(trainer)
            assert net.weight.grad().asscalar() == 1
        trainer.step(1)
        assert net.weight.data().asscalar() == -(step + 1)


@pytest.mark.parametrize("optimizer_clips_at", [3.5, 100.0])
def test_an_optimizer_clips_what_it_has_divided(optimizer_clips_at: float) -> None:
    """`clip_gradient` needs no unscale: dividing and clipping are one formula."""
    plain = update(False, nothing, clip_gradient=optimizer_clips_at)
    np.testing.assert_array_equal(plain, np.minimum([3, 4], optimizer_clips_at))
    mixed = update(True, nothing, clip_gradient=optimizer_clips_at)
    np.testing.assert_array_equal(mixed, plain)
    unscaled = update(
        True, lambda trainer, _: amp.unscale(trainer), clip_gradient=optimizer_clips_at
    )
    np.testing.assert_array_equal(unscaled, plain)


def test_the_size_of_the_batch_is_divided_by_as_well() -> None:
    np.testing.assert_array_equal(update(True, nothing, batch=2), [1.5, 2.0])
    half = update(True, unscaled_and_clipped, batch=2)
    np.testing.assert_allclose(half, [0.75, 1.0], rtol=1e-6)


def test_an_overflow_is_seen_after_unscale_as_well() -> None:
    def broken(trainer: Any, gradients: list[Any]) -> None:
        gradients[0][:] = np.inf
        gradients[0]._fresh_grad = True
        amp.unscale(trainer)
        with pytest.warns(UserWarning, match="Look for an overflow"):
            gluon.utils.clip_global_norm(gradients, LIMIT)

    np.testing.assert_array_equal(update(True, broken), [0, 0])
