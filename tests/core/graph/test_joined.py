"""Short calls of a program become one where memory stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core.graph.running.joined import ADDRESSES_KEPT, Bound, Joined, joined
from minimx.core.knobs import knobs

x, w = mx.sym.var("x"), mx.sym.var("w")


def bound_calls(executor: Any, training: bool = False) -> list[list[Bound]]:
    """What the segments of an executor have bound to its memory."""
    mx.nd.waitall()
    run = executor._bound.run_for(training, training)
    return list(run.arena.bound.values())


def bind(symbol: Any, **arrays: Any) -> Any:
    return symbol.bind(mx.cpu(), arrays, grad_req="null")


def test_an_executor_of_small_operators_is_one_call() -> None:
    y = x
    for _ in range(20):
        y = mx.sym.relu(mx.sym.dot(y, w) + 0.1)
    start, weight = mx.nd.ones((3, 3)), mx.nd.ones((3, 3)) / 4
    executor = bind(y, x=start, w=weight)
    (out,) = executor.forward()
    ((call,),) = bound_calls(executor)
    assert call[2] == [(0, 0), (1, 1), (2, 2)]  # two arguments and an output
    by_hand = start
    for _ in range(20):
        by_hand = mx.nd.relu(mx.nd.dot(by_hand, weight) + 0.1)
    assert out.asnumpy().tobytes() == by_hand.asnumpy().tobytes()


def test_what_is_no_short_call_stands_between_two() -> None:
    y = mx.sym.softmax(mx.sym.relu(x * 2) - 1)
    y = mx.sym.tanh(mx.sym.dot(y, w))
    executor = bind(y, x=mx.nd.ones((3, 3)), w=mx.nd.ones((3, 3)))
    with knobs(MXNET_USE_FUSION=False):
        executor.forward()
    ((before, softmax, after),) = bound_calls(executor)
    assert softmax[-1].name == "softmax"
    assert before[2] == [(0, 0)]
    assert after[2] == [(0, 1), (1, 2)]


def test_other_arrays_are_seen() -> None:
    executor = bind(
        mx.sym.dot(x * 2, w) + 1, x=mx.nd.ones((2, 2)), w=mx.nd.ones((2, 2))
    )
    assert executor.forward()[0].asnumpy().tolist() == [[5, 5], [5, 5]]
    executor.arg_arrays[0] = mx.nd.zeros((2, 2))
    assert executor.forward()[0].asnumpy().tolist() == [[1, 1], [1, 1]]
    executor.arg_arrays[1][:] = 3  # the same memory
    executor.arg_arrays[0] = mx.nd.ones((2, 2))
    assert executor.forward()[0].asnumpy().tolist() == [[13, 13], [13, 13]]


def test_arrays_that_take_turns_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Any] = []
    build = Joined._build

    def counted(self: Joined, arrays: Any) -> Any:
        built.append(self)
        return build(self, arrays)

    monkeypatch.setattr(Joined, "_build", counted)
    executor = bind(
        mx.sym.relu(mx.sym.dot(x, w)), x=mx.nd.ones((2, 2)), w=mx.nd.ones((2, 2))
    )
    turns = [mx.nd.ones((2, 2)) * k for k in range(3)]
    for k in range(12):
        executor.arg_arrays[0] = turns[k % 3]
        assert executor.forward()[0].asnumpy()[0, 0] == 2 * (k % 3)
    assert len(built) == 3
    for k in range(ADDRESSES_KEPT + 2):
        turns.append(mx.nd.ones((2, 2)) * k)
        executor.arg_arrays[0] = turns[-1]
        assert executor.forward()[0].asnumpy()[0, 0] == 2 * k
    assert len(built[0]._built) <= ADDRESSES_KEPT


def test_hybridize_with_static_shape_joins_too() -> None:
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(4, activation="tanh"), mx.gluon.nn.Dense(3))
    net.initialize()
    data = mx.nd.array(np.random.RandomState(0).normal(size=(5, 6)))
    weights = net.collect_params().values()

    def step() -> list[bytes]:
        with mx.autograd.record():
            loss = (net(data) ** 2).sum()
        loss.backward()
        return [p.grad().asnumpy().tobytes() for p in weights]

    wanted = step()
    net.hybridize(static_alloc=True, static_shape=True)
    for _ in range(3):
        assert step() == wanted


def test_a_single_call_and_one_with_random_numbers_stay() -> None:
    def short(*arrays: Any) -> None:
        pass

    short.calls = lambda *arrays: []  # type: ignore[attr-defined]
    one: Bound = (short, [None], [(0, 3)], 0, -1, "step")
    assert joined([one]) == [one]
    drawing: Bound = (short, [None], [(0, 3)], 0, 0, "step")
    scratching: Bound = (short, [None], [(0, 3)], 64, -1, "step")
    assert joined([drawing, one, scratching]) == [drawing, one, scratching]
    assert len(joined([one, one, one])) == 1
