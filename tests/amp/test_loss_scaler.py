"""The scale of the loss: a pure policy with MXNet's constants."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

import minimx as mx
from minimx.amp import LossScaler


def test_it_starts_where_mxnet_does() -> None:
    scaler = LossScaler()
    assert scaler._loss_scale == scaler._next_loss_scale == 65536
    assert scaler._max_loss_scale == 16777216
    assert (scaler._scale_seq_len, scaler._unskipped) == (2000, 0)


def test_the_golden_trace_of_a_gradient_that_overflows_above_10_000() -> None:
    scaler, trace = LossScaler(), []
    for _ in range(6):
        used = scaler.loss_scale
        overflow = used > 10_000
        scaler.update(overflow)
        trace.append((used, overflow, scaler.loss_scale, scaler.next_loss_scale))
    assert trace == [
        (65536, True, 65536, 32768),
        (65536, True, 32768, 16384),
        (32768, True, 16384, 8192),
        (16384, True, 8192, 4096),
        (8192, False, 4096, 4096),
        (4096, False, 4096, 4096),
    ]
    assert scaler.skipped == 4


def test_after_2000_good_steps_it_doubles_up_to_the_most() -> None:
    scaler = LossScaler()
    for _ in range(2000):
        assert scaler.loss_scale == 65536
        assert not scaler.update(False)
    assert scaler.next_loss_scale == 2 * 65536
    for _ in range(40_000):
        scaler.update(False)
    assert scaler.loss_scale == 2**24


@given(st.lists(st.booleans(), max_size=60))
def test_what_it_decides_acts_one_look_later(overflows: list[bool]) -> None:
    scaler = LossScaler(init_scale=1024, max_scale=4096, scale_seq_len=3)
    for overflow in overflows:
        decided, skipped = scaler.next_loss_scale, scaler.skipped
        assert scaler.update(overflow) is overflow
        assert scaler.loss_scale == decided
        assert scaler.skipped == skipped + overflow
        assert 0 < scaler.next_loss_scale <= 4096
        assert scaler.next_loss_scale in (decided / 2, decided, min(decided * 2, 4096))


def test_it_looks_at_the_gradients_of_all_parameters() -> None:
    params = [mx.gluon.Parameter(f"p{k}", shape=(2,)) for k in range(3)]
    params[2].grad_req = "null"
    for p in params:
        p.initialize()
    assert LossScaler().has_overflow(params) is False
    params[1].list_grad()[0][:] = mx.nd.array([1, float("inf")])
    assert LossScaler().has_overflow(params) is True
    params[1].list_grad()[0][:] = mx.nd.array([1, float("nan")])
    assert LossScaler().has_overflow(params) is True
    assert "65536" in repr(LossScaler())


def test_a_policy_of_ones_own_decides() -> None:
    def quarter(scale: float, good: int, overflow: bool) -> tuple[float, int]:
        return (scale / 4, 0) if overflow else (scale, good + 1)

    mx.amp.init()
    try:
        scaler = LossScaler(init_scale=64, policy=quarter)
        net = mx.gluon.nn.Dense(1, in_units=1)
        net.initialize()
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
        mx.amp.init_trainer(trainer, scaler)
        for scale in (64, 64, 16):
            with mx.autograd.record():
                loss = net(mx.nd.ones((1, 1))) * float("inf")
                with mx.amp.scale_loss(loss, trainer) as scaled:
                    mx.autograd.backward(scaled)
            assert scaler.loss_scale == scale
            trainer.step(1)
        assert scaler.skipped == 3 and scaler.next_loss_scale == 1
    finally:
        mx.amp.shutdown()
