"""Storing what an optimizer remembers, and going on from there."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd, optimizer
from minimx.core.device import cpu, gpu
from minimx.core.errors import DataError
from minimx.lr_scheduler import FactorScheduler
from minimx.nd import serialize

SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("sgd", {"momentum": 0.9}),
    ("sgd", {}),
    ("adam", {}),
    ("rmsprop", {"centered": True}),
]


def run(updater: optimizer.Updater, weight: Any, steps: int) -> None:
    for step in range(steps):
        updater(0, weight * 0.1 + step, weight)


@pytest.mark.parametrize(("name", "settings"), SETTINGS)
def test_a_stored_updater_goes_on_as_if_nothing_happened(
    name: str, settings: dict[str, Any]
) -> None:
    def fresh() -> optimizer.Updater:
        schedule = FactorScheduler(2, 0.5)
        made = optimizer.create(
            name, learning_rate=0.1, lr_scheduler=schedule, **settings
        )
        return optimizer.get_updater(made)

    first, weight = fresh(), nd.array([1.0, 2.0, 3.0])
    run(first, weight, 3)
    stored, copy = first.get_states(dump_optimizer=True), weight.copy()
    run(first, weight, 3)
    second = fresh()
    second.set_states(stored)
    run(second, copy, 3)
    np.testing.assert_array_equal(copy.asnumpy(), weight.asnumpy())
    assert second.optimizer.num_update == first.optimizer.num_update == 6


def test_states_move_to_the_device_of_their_weight() -> None:
    updater = optimizer.get_updater(optimizer.create("sgd", momentum=0.9))
    updater(0, nd.ones((2,)), nd.ones((2,)))
    stored = updater.get_states()
    other = optimizer.get_updater(optimizer.create("sgd", momentum=0.9))
    other.set_states(stored)
    assert other.states[0].context is cpu(0)
    other(0, nd.ones((2,), ctx=gpu(0)), nd.ones((2,), ctx=gpu(0)))
    assert other.states[0].context is gpu(0)


def test_states_of_another_optimizer_are_refused() -> None:
    sgd = optimizer.get_updater(optimizer.create("sgd"))
    stored = sgd.get_states(dump_optimizer=True)
    adam = optimizer.get_updater(optimizer.create("adam"))
    with pytest.raises(DataError, match=r"optimizer SGD, this one is Adam"):
        adam.set_states(stored)


def test_states_of_another_schedule_are_refused() -> None:
    stored = optimizer.get_updater(optimizer.create("sgd")).get_states(True)
    scheduled = optimizer.create("sgd", lr_scheduler=FactorScheduler(1))
    with pytest.raises(DataError, match="schedule None"):
        optimizer.get_updater(scheduled).set_states(stored)


def stored_header(header: Any) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    array = nd.array(np.frombuffer(text, np.uint8), dtype="uint8")
    return serialize.dumps({"header": array})


@pytest.mark.parametrize(
    "content",
    ids=range(9),
    argvalues=[
        b"",
        b"not a file of arrays at all, but long enough",
        serialize.dumps({"w": nd.array([1])}),
        serialize.dumps([nd.array([1])]),
        stored_header(b"{"),
        stored_header([]),
        stored_header({"states": [[0, "missing"]]}),
        stored_header({"states": 3}),
        stored_header({"states": [], "optimizer": {"name": "SGD"}}),
    ],
)
def test_damage_is_a_data_error_and_changes_nothing(content: bytes) -> None:
    updater = optimizer.get_updater(optimizer.create("sgd", momentum=0.9))
    updater(0, nd.ones((2,)), nd.ones((2,)))
    before = updater.states
    with pytest.raises(DataError):
        updater.set_states(content)
    assert updater.states is before
    assert updater.optimizer.num_update == 1


def handed(optimizer: mx.optimizer.Optimizer, seen: list[Any]) -> list[Any]:
    """What kind of index an optimizer is handed by a trainer of two weights."""
    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), optimizer)
    with mx.autograd.record():
        loss = net(mx.nd.ones((1, 3)))
    loss.backward()
    trainer.step(1)
    return seen


def test_an_update_of_a_users_own_is_handed_one_weight_at_a_time() -> None:
    seen: list[Any] = []

    class Halved(mx.optimizer.SGD):
        def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
            seen.append(index)
            super().update(index, weight, grad * 0.5, state)

    assert handed(Halved(learning_rate=0.1), seen) == [0, 1]


def test_how_many_weights_are_handed_over_can_be_set() -> None:
    seen: list[Any] = []

    class Listed(mx.optimizer.SGD):
        def __init__(self) -> None:
            super().__init__()
            self.aggregate_num = 2

        def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
            seen.append(index)
            super().update(index, weight, grad, state)

    assert handed(Listed(), seen) == [[0, 1]]
    plain = mx.optimizer.SGD()
    assert plain.aggregate_num > 1
    plain.aggregate_num = 0
    assert plain.aggregate_num == 0
