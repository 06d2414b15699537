"""Watching the tape: what is heard is what happens, in its order, and nothing stays."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minimx as mx
from minimx import nd
from minimx.core import autograd
from minimx.core.autograd.walk import Pending, walk_back
from minimx.core.errors import GradientError
from minimx.gluon import loss, nn
from minimx.tools.tape_watch import Watch


@pytest.fixture(autouse=True)
def one_after_the_other() -> Any:
    with mx.knobs(MXNET_ENGINE_TYPE="NaiveEngine"):
        yield


def variable(*shape: int, req: str = "write") -> Any:
    x = nd.ones(shape) * 0.5
    x.attach_grad(req)
    return x


def kinds(watch: Watch) -> list[tuple[str, int]]:
    return [(event.kind, event.at) for event in watch.events]


def test_calls_are_told_with_what_they_keep_and_where_they_were_written() -> None:
    x = variable(2, 3)
    with Watch() as watch, autograd.record():
        y = x.exp()
        y * x
    first, second = watch.calls
    assert (first.op.name, first.inputs, second.inputs) == ("exp", (-1,), (1, -1))
    assert [one.name for one in first.kept] == ["out"]
    assert {one.name: one.source for one in second.kept} == {"lhs": 1, "rhs": -1}
    assert first.kept[0].block == second.kept[0].block
    assert first.kept[0].nbytes == 24
    assert watch.variables == [(1, "data")]
    assert watch.number_of(x) == -1
    assert mx.engine.origin.line(first.origin) == "y = x.exp()"


def test_a_walk_is_told_in_its_order() -> None:
    x = variable(3, req="add")
    with Watch() as watch:
        with autograd.record():
            y = x.exp()
            z = y + y.sin()
        z.backward()
    assert kinds(watch) == [
        ("record", 1), ("record", 2), ("record", 3), ("begin", 0), ("arrive", 3),
        ("visit", 3), ("arrive", 1), ("arrive", 2), ("release", 3),
        ("visit", 2), ("arrive", 1), ("release", 2),
        ("visit", 1), ("arrive", -1), ("release", 1), ("end", 0), ("store", -1),
    ]  # fmt: skip
    assert [e.sender for e in watch.events if e.kind == "arrive"] == [0, 3, 3, 2, 1]
    assert watch.reqs == ["add"]


def test_a_tape_that_is_retained_stays_and_can_be_walked_again() -> None:
    x = variable(3)
    with Watch() as watch:
        with autograd.record():
            y = x.exp()
        y.backward(retain_graph=True)
        y.backward()
    told = [kind for kind, at in kinds(watch) if at == 1 and kind != "arrive"]
    assert told == ["record", "visit", "stay", "visit", "release"]


def test_what_is_paused_or_detached_is_not_on_the_tape() -> None:
    x = variable(3)
    with Watch() as watch, autograd.record():
        y = x.exp().detach() + 1
        with autograd.pause():
            x.sin()
        y * x
    assert [call.op.name for call in watch.calls] == ["exp", "broadcast_mul"]
    assert watch.calls[1].inputs == (0, -1)


def test_a_variable_with_null_is_no_variable() -> None:
    x, w = variable(3, req="null"), variable(3)
    with Watch() as watch, autograd.record():
        x * w
    assert watch.calls[0].inputs == (0, -1)
    assert watch.number_of(x) == 0


def test_bytes_are_those_that_the_pool_lends() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(256, activation="relu", in_units=784), nn.Dense(10, in_units=256))
    net.initialize()
    x, y = nd.ones((64, 784)), nd.zeros((64,))
    entropy = loss.SoftmaxCrossEntropyLoss()
    before = mx.storage.stats(mx.cpu()).live_requested
    with Watch() as watch, autograd.record():
        out = entropy(net(x), y)
    lent = mx.storage.stats(mx.cpu()).live_requested - before
    mine = {k.block: k.nbytes for c in watch.calls for k in c.kept if k.source > 0}
    assert sum(mine.values()) == 64 * 256 * 4 + 64 * 10 * 4
    assert lent == sum(mine.values()) + out.size * 4  # the caller holds the loss
    out.backward()
    mx.nd.waitall()
    after = mx.storage.stats(mx.cpu()).live_requested - before
    assert after == out.size * 4


def test_a_graph_that_is_one_call_keeps_its_arena() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(8, activation="relu", in_units=4), nn.Dense(2, in_units=8))
    net.initialize()
    net.hybridize()
    with Watch() as watch, autograd.record():
        net(nd.ones((16, 4)))
    (call,) = watch.calls
    assert call.op.name == "_CachedOp"
    kept = sum(one.nbytes for one in call.kept if one.category == "activation")
    assert kept >= 16 * 8 * 4


def test_a_watch_keeps_nothing_alive() -> None:
    x = variable(3)
    with Watch() as watch, autograd.record():
        y = x.exp()
        chunk = weakref.ref(y.chunk)
    del y
    gc.collect()
    assert chunk() is None
    assert watch.block_of(x) == 0


def test_a_call_that_nobody_can_reach_is_dropped() -> None:
    x = variable(3)
    with Watch() as watch:
        with autograd.record():
            cut = x.exp().detach()
            y = cut * x
        y.backward()
    assert ("drop", 1) in kinds(watch)
    assert ("drop", 2) not in kinds(watch), "it was walked past"
    z = x.exp()
    del y, z
    assert kinds(watch)[-1] == ("store", -1), "the scope is over"


def test_other_threads_are_not_heard() -> None:
    x = variable(3)

    def work() -> None:
        with autograd.record():
            x.exp().backward()

    with Watch() as watch:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert watch.events == []
    with autograd.record():
        x.exp()
    assert watch.events == [], "the scope is over"


def test_a_walk_inside_a_walk_is_told_inside_it() -> None:
    class Again(autograd.Function):
        def forward(self, x: Any) -> Any:
            self.save_for_backward(x)
            return x.exp()

        def backward(self, dy: Any) -> Any:
            (x,) = self.saved_tensors
            x = x.detach()
            x.attach_grad()
            with autograd.record():
                y = x.exp()
            y.backward(dy)
            return x.grad

    x = variable(3)
    with Watch() as watch:
        with autograd.record():
            y = Again()(x)
        y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), x.exp().asnumpy())
    told = [pair for pair in kinds(watch) if pair[0] != "arrive"]
    assert told == [
        ("record", 1), ("begin", 0), ("visit", 1),
        ("record", 2), ("begin", 0), ("visit", 2), ("release", 2), ("end", 0),
        ("store", -2), ("release", 1), ("end", 0), ("store", -1),
    ]  # fmt: skip


def test_what_a_function_saved_goes_with_the_tape() -> None:
    class Square(autograd.Function):
        def forward(self, x: Any) -> Any:
            self.save_for_backward(x * 2)
            return x * x

        def backward(self, dy: Any) -> Any:
            return dy * self.saved_tensors[0]

    x, function = variable(3), Square()
    with Watch() as watch, autograd.record():
        y = function(x)
    assert [one.nbytes for one in watch.calls[0].kept] == [12]
    saved = weakref.ref(function.saved_tensors[0].chunk)
    y.backward()
    assert saved() is None
    assert function.saved_tensors == ()
    np.testing.assert_allclose(x.grad.asnumpy(), [1, 1, 1])
    with pytest.raises(GradientError, match="already walked"):
        y.backward()


def test_what_a_function_saved_unrecorded_stays_with_it() -> None:
    class Kept(autograd.Function):
        def forward(self, x: Any) -> Any:
            self.save_for_backward(x)
            return x

    function = Kept()
    function(nd.ones((2,)))
    assert function.saved_tensors[0].shape == (2,)


class Chosen(Pending):
    """A walk in another order."""

    def __init__(self, choose: Any, **settings: Any) -> None:
        super().__init__(**settings)
        self.choose = choose

    def pop(self) -> Any:
        waiting = self.waiting()
        return self.taken(self.choose(waiting)) if waiting else None


Programs = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1)


def run(program: list[tuple[int, int]], x: Any) -> Any:
    values = [x]
    for a, b in program[:8]:
        values.append(values[a % len(values)] * 0.5 + values[b % len(values)].sin())
    return values[-1]


@given(Programs)
def test_the_walk_visits_each_call_once_and_the_latest_first(
    program: list[tuple[int, int]],
) -> None:
    x = variable(2)
    with Watch() as watch:
        with autograd.record():
            y = run(program, x)
        y.backward()
    visits = [at for kind, at in kinds(watch) if kind == "visit"]
    assert visits == sorted(set(visits), reverse=True)
    for kind, at in kinds(watch):
        assert kind != "stay", at


@given(Programs)
def test_another_order_visits_again_and_ends_at_the_same_gradient(
    program: list[tuple[int, int]],
) -> None:
    x = variable(2)
    with autograd.record():
        y = run(program, x)
    y.backward(retain_graph=True)
    wanted = x.grad.asnumpy()
    walk_back(y, None, Chosen(lambda waiting: waiting[-1], retain=True, store=True))
    np.testing.assert_allclose(x.grad.asnumpy(), wanted, rtol=1e-5)
    walk_back(
        y,
        None,
        Chosen(lambda w: max(w, key=lambda n: n.number), retain=False, store=True),
    )
    np.testing.assert_array_equal(x.grad.asnumpy(), wanted)
