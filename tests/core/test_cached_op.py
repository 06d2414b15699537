"""A graph called like an operator: the same numbers as by hand, in fewer steps."""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core import autograd, engine, storage
from minimx.core.arrays.array import NDArray
from minimx.core.cached_op import CachedOp, Flags
from minimx.core.errors import ArgumentError, OperatorError, ShapeError
from minimx.core.knobs import knobs
from minimx.core.record import Record

BY_HAND = Flags(inline_limit=1000)
GRAPH = Flags(inline_limit=0)
STATIC = Flags(static_alloc=True, static_shape=True)

every_way = pytest.mark.parametrize("flags", [GRAPH, Flags(static_alloc=True), STATIC])


def network() -> Any:
    """A small network with all that is special: states, masks, views, branches."""
    x = mx.sym.var("x")
    h = mx.sym.FullyConnected(x, num_hidden=8, name="fc")
    h = mx.sym.BatchNorm(h, name="bn", fix_gamma=False)
    left = mx.sym.Dropout(mx.sym.Activation(h, act_type="relu"), p=0.5, name="drop")
    right = mx.sym.Reshape(mx.sym.tanh(h * h), shape=(-1, 8))
    return mx.sym.concat(left, right, x + 0 * left, dim=1, name="out")


def arrays_for(symbol: Any, rows: int = 4) -> list[NDArray]:
    graph = symbol.graph
    shapes, _, states = symbol.infer_shape(x=(rows, 8))
    random = np.random.default_rng(7)
    found = [random.normal(size=shape).astype("float32") for shape in shapes]
    found += [np.abs(random.normal(size=s)).astype("float32") for s in states]
    assert len(found) == len(graph.arguments) + len(graph.states)
    return [mx.nd.array(value) for value in found]


def trained(flags: Flags, req: str = "write", steps: int = 3) -> list[Any]:
    """Everything that a few steps of training leave behind, as numbers."""
    mx.random.seed(11)
    symbol = network()
    op, values = CachedOp(symbol.graph, flags), arrays_for(symbol)
    count = len(symbol.graph.arguments)
    for value in values[:count]:
        value.attach_grad(req)
    for _ in range(steps):
        with autograd.record():
            (out,) = op(values)
            loss = (out * out).sum()
        loss.backward()
    (predicted,) = op(values)
    seen = [out, predicted, *values, *[value.grad for value in values[:count]]]
    return [value.asnumpy() for value in seen]


@every_way
@pytest.mark.parametrize("req", ["write", "add"])
def test_training_gives_the_same_to_the_bit(flags: Flags, req: str) -> None:
    for found, wanted in zip(trained(flags, req), trained(BY_HAND, req), strict=True):
        assert np.array_equal(found, wanted)


@every_way
def test_it_can_be_walked_back_twice(flags: Flags) -> None:
    def gradients(flags: Flags) -> list[Any]:
        mx.random.seed(1)
        symbol = network()
        op, values = CachedOp(symbol.graph, flags), arrays_for(symbol)
        values[0].attach_grad()
        with autograd.record():
            (out,) = op(values)
        found = []
        for retain in (True, True, False):
            out.backward(retain_graph=retain)
            found.append(values[0].grad.asnumpy())
        return found

    first, second, third = gradients(flags)
    assert np.array_equal(first, second)
    assert np.array_equal(first, third)
    assert np.array_equal(first, gradients(BY_HAND)[0])


@every_way
def test_its_gradient_has_a_gradient(flags: Flags) -> None:
    def penalty(flags: Flags) -> Any:
        mx.random.seed(5)
        x = mx.sym.var("x")
        symbol = mx.sym.Dropout(mx.sym.tanh(x * x), p=0.5) * x
        op, value = CachedOp(symbol.graph, flags), mx.nd.array([[0.5, -1, 2, 3, 4, 5]])
        value.attach_grad()
        with autograd.record():
            (out,) = op([value])
            (slope,) = autograd.grad([out], [value], create_graph=True)
            loss = (slope * slope).sum()
        loss.backward()
        return value.grad.asnumpy()

    assert np.array_equal(penalty(flags), penalty(BY_HAND))
    assert penalty(flags).any()


def test_states_that_were_changed_are_not_changed_by_a_second_gradient() -> None:
    symbol = network()
    op, values = CachedOp(symbol.graph, GRAPH), arrays_for(symbol)
    values[0].attach_grad()
    with autograd.record():
        (out,) = op(values)
        before = [x.asnumpy() for x in values[len(symbol.graph.arguments) :]]
        (slope,) = autograd.grad([out], [values[0]], create_graph=True)
        slope.sum().backward()
    after = [x.asnumpy() for x in values[len(symbol.graph.arguments) :]]
    for was, now in zip(before, after, strict=True):
        assert np.array_equal(was, now)


def test_a_call_that_waits_for_its_gradient_keeps_its_memory() -> None:
    symbol = network()
    op, values = CachedOp(symbol.graph, STATIC), arrays_for(symbol)
    other = [x.copy() for x in values]
    other[0][:] = 3
    for x in (values[0], other[0]):
        x.attach_grad()

    def slopes(together: bool) -> list[Any]:
        mx.random.seed(2)
        with autograd.record(train_mode=False):
            (a,) = op(values)
            if not together:
                a.backward()
            (b,) = op(other)
        if together:
            b.backward()
            a.backward()
        else:
            b.backward()
        return [values[0].grad.asnumpy(), other[0].grad.asnumpy()]

    for found, wanted in zip(slopes(True), slopes(False), strict=True):
        assert np.array_equal(found, wanted)


def requests(work: Callable[[], object]) -> int:
    before = storage.stats(mx.cpu())
    work()
    mx.nd.waitall()
    after = storage.stats(mx.cpu())
    return after.n_malloc + after.n_hit - before.n_malloc - before.n_hit


@pytest.mark.parametrize("flags", [Flags(static_alloc=True), STATIC])
def test_static_memory_is_asked_for_once(flags: Flags) -> None:
    symbol = network()
    op, values = CachedOp(symbol.graph, flags), arrays_for(symbol)
    head = mx.nd.ones((4, 24))
    for value in values[: len(symbol.graph.arguments)]:
        value.attach_grad()

    def step() -> None:
        with autograd.record():
            (out,) = op(values)
        out.backward(head)

    def predict() -> None:
        op(values)

    for work in (step, predict):
        assert requests(work) > 0
        assert [requests(work) for _ in range(3)] == [0, 0, 0]
    dynamic = CachedOp(symbol.graph, GRAPH)
    assert requests(lambda: dynamic(values)) > 0
    assert requests(lambda: dynamic(values)) > 0


def test_its_memory_goes_when_it_goes() -> None:
    def live() -> int:
        mx.nd.waitall()
        return storage.stats(mx.cpu()).live_requested

    symbol = network()
    values = arrays_for(symbol)
    op = CachedOp(symbol.graph, STATIC)
    before = live()
    op(values)
    assert live() > before
    del op
    assert live() == before


def names(flags: Flags, **changed: object) -> list[str]:
    x = mx.sym.var("x")
    symbol = mx.sym.dot(mx.sym.softmax(mx.sym.dot(x, x)), x)
    op, value = CachedOp(symbol.graph, flags), mx.nd.ones((2, 2))
    value.attach_grad()
    with knobs(**changed):
        with autograd.record():
            op([value])
        with Record() as record:
            with autograd.record():
                (out,) = op([value])
            out.backward(mx.nd.ones((2, 2)))
            mx.nd.waitall()
    found = [record.strings[row["name"]] for row in np.sort(record.ops(), order="op")]
    return [name for name in found if name != "_ones"]


def test_joined_nodes_are_one_operation_and_others_have_their_own_names() -> None:
    together = names(STATIC)
    assert together[0] == "[dot,softmax,dot]"
    assert len(together) == 2
    apart = names(STATIC, MXNET_EXEC_BULK_EXEC_TRAIN=0)
    assert apart[:3] == ["dot", "softmax", "dot"]
    assert len(apart) > 5
    two = Flags(static_alloc=True, forward_bulk_size=2)
    assert names(two)[:2] == ["[dot,softmax]", "dot"]


def test_another_shape_is_prepared_anew() -> None:
    symbol = network()
    op = CachedOp(symbol.graph, STATIC)
    for rows in (4, 6, 4):
        (out,) = op(arrays_for(symbol, rows))
        assert out.shape == (rows, 24)
    with pytest.raises(ShapeError):
        op([*arrays_for(symbol)[:1], *[mx.nd.ones((3, 3))] * 6])


def test_a_failure_names_the_node_and_the_line_and_leaves_all_well() -> None:
    x, i = mx.sym.var("x"), mx.sym.var("i")
    symbol = mx.sym.exp(mx.sym.take(x, i, mode="raise", name="pick") + 1)
    op = CachedOp(symbol.graph, STATIC)
    good = [mx.nd.arange(3), mx.nd.array([1])]
    wanted = op(good)[0].asnumpy()
    (out,) = op([mx.nd.arange(3), mx.nd.array([7])])  # the line to be named
    with pytest.raises(OperatorError) as caught:
        out.asnumpy()
    notes = "\n".join(caught.value.__notes__)
    assert "pick" in notes
    assert "the line to be named" in notes
    assert np.array_equal(op(good)[0].asnumpy(), wanted)
    engine.wait_all()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("kind", ["NaiveEngine", "ThreadedEnginePerDevice"])
def test_an_interrupted_call_leaves_all_well(kind: str) -> None:
    x = mx.sym.var("x")
    y = x
    for _ in range(200):
        y = mx.sym.dot(y, x)
    op = CachedOp(y.graph, STATIC)
    value = mx.nd.array(np.eye(160))
    value.attach_grad()

    def step() -> Any:
        with autograd.record():
            (out,) = op([value])
        out.backward()
        return value.grad.asnumpy()

    with knobs(MXNET_ENGINE_TYPE=kind):
        wanted = step()
        for delay in (0.001, 0.005, 0.02):
            with pytest.raises(CtrlC), pressed_after(delay):
                while True:
                    step()
            assert np.array_equal(step(), wanted)


class CtrlC(KeyboardInterrupt):
    """What a signal raises, anywhere."""


@contextmanager
def pressed_after(seconds: float) -> Iterator[None]:
    """A timer stands in for Ctrl-C; again 5 ms later, for a destructor may lose one.

    Not ITIMER_REAL: its signal is the one that ends a test that takes too long.
    """
    awaited = True

    def interrupt(*_: object) -> None:
        if awaited:
            # Not at a fixed rate: a second one just behind would stop the clean-up.
            signal.setitimer(signal.ITIMER_VIRTUAL, 5e-3)
            raise CtrlC

    before = signal.signal(signal.SIGVTALRM, interrupt)
    gc.disable()  # whose callbacks swallow interrupts, too
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    except CtrlC:
        awaited = False
        raise
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        gc.enable()


def test_what_cannot_be_planned_is_run_by_hand() -> None:
    x, mask = mx.sym.var("x"), mx.sym.var("mask")
    symbol = mx.sym.contrib.boolean_mask(x, mask) * 2
    op = CachedOp(symbol.graph, GRAPH)
    value, chosen = mx.nd.array([1.0, 2.0, 3.0]), mx.nd.array([1, 0, 1])
    value.attach_grad()
    with autograd.record():
        (out,) = op([value, chosen])
    out.backward()
    assert out.asnumpy().tolist() == [2, 6]
    assert value.grad.asnumpy().tolist() == [2, 0, 2]


def test_an_input_may_go_through_and_outputs_may_be_the_same() -> None:
    x = mx.sym.var("x")
    y = mx.sym.exp(x)
    op = CachedOp(mx.sym.Group([x, y, y]).graph, GRAPH)
    value = mx.nd.array([1.0, 2.0])
    value.attach_grad()
    with autograd.record():
        a, b, c = op([value])
        loss = (a * b * c).sum()
    loss.backward()
    assert a.asnumpy().tolist() == [1, 2]
    slope = np.exp([2.0, 4.0]) * [3, 5]
    assert np.allclose(value.grad.asnumpy(), slope, rtol=1e-5)


def test_short_graphs_are_recorded_operator_by_operator() -> None:
    x = mx.sym.var("x")
    op = CachedOp(mx.sym.exp(x).graph)
    value = mx.nd.ones((2,))
    value.attach_grad()
    with autograd.record():
        (out,) = op([value])
    assert out._entry is not None
    assert out._entry[0].op.name == "exp"  # type: ignore[union-attr]


def test_it_wants_an_array_for_each_variable() -> None:
    x, y = mx.sym.var("x"), mx.sym.var("y")
    with pytest.raises(ArgumentError, match=r"2 variables \(x, y\).*with 1 arrays"):
        CachedOp((x * y).graph)([mx.nd.ones((2,))])


def test_static_shape_needs_static_alloc() -> None:
    with pytest.raises(ArgumentError, match="static_alloc"):
        Flags(static_shape=True)


def test_what_is_recorded_knows_its_layer_and_its_forward_operation() -> None:
    net = mx.gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(mx.gluon.nn.Dense(4, activation="tanh"), mx.gluon.nn.Dense(2))
    net.initialize()
    net.hybridize(static_alloc=True, static_shape=True)
    x = mx.nd.ones((3, 5))
    with knobs(MXNET_EXEC_BULK_EXEC_TRAIN=0):
        for _ in range(2):
            mx.nd.waitall()
            with Record() as record:
                with autograd.record():
                    out = net(x)
                out.backward()
                mx.nd.waitall()
    rows = np.sort(record.ops(), order="op")
    layers = dict(zip(rows["op"], record.texts(rows["layer"]), strict=True))
    names = dict(zip(rows["op"], record.texts(rows["name"]), strict=True))
    forward = [op for op in layers if names[op] in ("FullyConnected", "Activation")]
    wanted = ["net/dense0", "net/dense0/tanh", "net/dense1"]
    assert [layers[op] for op in forward] == wanted
    linked = {int(row["forward_op"]) for row in rows if row["forward_op"]}
    assert set(forward) <= linked
    phases = dict(zip(rows["op"], record.texts(rows["phase"]), strict=True))
    assert {phases[op] for op in forward} == {"forward"}
    behind = [row for row in rows if int(row["forward_op"]) in forward]
    assert {layers[row["op"]] for row in behind} == {*wanted}


def two_outputs(flags: Flags, heads: list[int], runs: int = 2) -> tuple[Any, CachedOp]:
    """What a graph of two outputs leaves behind if some of them are walked back."""
    mx.random.seed(5)
    x = mx.sym.var("x")
    h = mx.sym.Dropout(mx.sym.BatchNorm(x, name="bn", fix_gamma=False), p=0.5)
    ends = mx.sym.tanh(h), mx.sym.sqrt(mx.sym.relu(x)), mx.sym.argmax(h, axis=1)
    symbol = mx.sym.Group(ends)
    op, values = CachedOp(symbol.graph, flags), arrays_for(symbol)
    for value in values[:3]:
        value.attach_grad()
    seen = []
    for _ in range(runs):
        with autograd.record():
            outs = op(values)
        autograd.backward([outs[k] for k in heads])
        seen += [*outs, *values, *[value.grad for value in values[:3]]]
    return [value.asnumpy() for value in seen], op


@every_way
@pytest.mark.parametrize("heads", [[0], [1], [0, 1], [0, 2], [2, 1]])
def test_outputs_without_a_gradient_are_left_out(
    flags: Flags, heads: list[int]
) -> None:
    found, op = two_outputs(flags, heads)
    wanted, _ = two_outputs(BY_HAND, heads)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)
    (*_, last) = op._variants.values()
    assert last is not None
    names = [
        node.name for node in last.prepared.graph if node not in last.prepared.wanted
    ]
    assert (0 in heads) == any(
        name.startswith("dropout") and "backward" in name for name in names
    )
    # One for what was foreseen, and one for what was seen.
    assert len(op._variants) == (1 if {0, 1} <= {*heads} else 2)


def test_a_slope_that_nobody_asks_for_makes_no_nan() -> None:
    x = mx.nd.array([0.0, 4.0])
    x.attach_grad()
    y = mx.sym.var("x")
    op = CachedOp(mx.sym.Group([y * 2, mx.sym.sqrt(y)]).graph, GRAPH)
    with autograd.record():
        double, _ = op([x])
    double.backward()
    assert x.grad.asnumpy().tolist() == [2, 2]
    with autograd.record():
        double, _ = op([x])
    slope = autograd.grad(double, x, create_graph=True)[0]
    assert slope.asnumpy().tolist() == [2, 2]
