"""Loops and branches: as graphs they do what they do on arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core import autograd
from minimx.core.errors import ArgumentError, DataError, ShapeError

Made = list[Any]


def on_arrays(make: Callable[..., Made], numbers: dict[str, Any]) -> tuple[Any, Any]:
    """What `make(F, **values)` gives on arrays, and the gradients of its sum."""
    arrays = {name: mx.nd.array(value) for name, value in numbers.items()}
    for x in arrays.values():
        x.attach_grad()
    with autograd.record():
        outs = make(mx.nd, **arrays)
        total = mx.nd.add_n(*[(out * out).sum() for out in outs])
    total.backward()
    return [out.asnumpy() for out in outs], {n: x.grad for n, x in arrays.items()}


def in_a_graph(make: Callable[..., Made], numbers: dict[str, Any]) -> tuple[Any, Any]:
    """The same of a graph that was written to a file and read again."""
    net = mx.sym.Group(make(mx.sym, **{name: mx.sym.var(name) for name in numbers}))
    net = mx.sym.load_json(net.tojson())
    shapes = {name: np.shape(value) for name, value in numbers.items()}
    executor = net.simple_bind(mx.cpu(), **shapes)
    given = {name: mx.nd.array(value) for name, value in numbers.items()}
    outs = executor.forward(is_train=True, **given)
    assert net.infer_shape(**shapes)[1] == [out.shape for out in outs]
    executor.backward([out * 2 for out in outs])
    return [out.asnumpy() for out in outs], executor.grad_dict


def agree(make: Callable[..., Made], **numbers: Any) -> list[Any]:
    """Compare both ways; returns the outputs."""
    here, there = on_arrays(make, numbers), in_a_graph(make, numbers)
    for one, other in zip(here[0], there[0], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    for name, gradient in here[1].items():
        np.testing.assert_allclose(
            gradient.asnumpy(), there[1][name].asnumpy(), rtol=1e-4, err_msg=name
        )
    return list(here[0])


ROWS = np.arange(6.0).reshape(3, 2)
ONES = np.ones(2)


def test_foreach() -> None:
    def make(F: Any, data: Any, state: Any, free: Any) -> Made:  # noqa: N803
        def body(row: Any, state: Any) -> Any:
            return row * state + free, state + row

        return list(F.contrib.foreach(body, data, state))

    outs = agree(make, data=ROWS, state=ONES, free=ONES)
    np.testing.assert_array_equal(outs[1], ONES + ROWS.sum(0))


def test_a_loop_variable_and_its_first_value_are_two_inputs() -> None:
    x = mx.sym.var("x")
    outs, _ = mx.sym.contrib.while_loop(
        lambda s: s.sum() < 100,
        lambda s: (s, s + x),
        x,
        max_iterations=4,
    )
    (found,) = outs[0].eval(x=mx.nd.array([1.0, 2.0]))
    assert found.asnumpy().tolist() == [[1, 2], [2, 4], [3, 6], [4, 8]]


def test_foreach_of_lists_in_lists() -> None:
    def make(F: Any, a: Any, b: Any, s: Any, t: Any) -> Made:  # noqa: N803
        def body(rows: Any, states: Any) -> Any:
            (a, [b]), (s, [t]) = rows, states
            return [a + s, [b * t]], [s * 0.5, [t + a]]

        (p, [q]), (s, [t]) = F.contrib.foreach(body, [a, [b]], [s, [t]])
        return [p, q, s, t]

    agree(make, a=ROWS, b=ROWS + 1, s=ONES, t=ONES * 2)


def test_what_is_computed_outside_is_not_repeated_inside() -> None:
    def make(F: Any, data: Any, state: Any) -> Made:  # noqa: N803
        outside = F.exp(state)
        return list(
            F.contrib.foreach(lambda x, s: (x * outside, s * outside), data, state)
        )

    agree(make, data=ROWS, state=ONES)
    net = make(mx.sym, data=mx.sym.var("data"), state=mx.sym.var("state"))[0]
    assert [node.op.name for node in net.graph if node.op] == ["exp", "_foreach"]


def test_loops_in_loops() -> None:
    def make(F: Any, data: Any, state: Any) -> Made:  # noqa: N803
        def outer(row: Any, s: Any) -> Any:
            out, last = F.contrib.foreach(lambda x, t: (x * t, t + x), data, s + row)
            return out, last * 0.1

        return list(F.contrib.foreach(outer, data, state))

    assert agree(make, data=ROWS, state=ONES)[0].shape == (3, 3, 2)


def test_while_loop() -> None:
    def make(F: Any, i: Any, x: Any, free: Any) -> Made:  # noqa: N803
        outs, (i, x) = F.contrib.while_loop(
            lambda i, x: i < 3, lambda i, x: (x * free, (i + 1, x + free)), [i, x], 5
        )
        return [outs, i, x]

    outs = agree(make, i=np.zeros(1), x=ONES, free=ONES * 2)
    np.testing.assert_array_equal(outs[0][:, 0], [2, 6, 10, 0, 0])


def test_while_loop_without_a_single_step() -> None:
    def make(F: Any, i: Any) -> Made:  # noqa: N803
        outs, last = F.contrib.while_loop(
            lambda i: i < 0, lambda i: ([i], [i + 1]), i, 4
        )
        return [*outs, last]

    outs, _ = in_a_graph(make, {"i": np.ones(1)})
    np.testing.assert_array_equal(outs[0], np.zeros((4, 1)))
    assert on_arrays(make, {"i": np.ones(1)})[0] == [[1]]


@pytest.mark.parametrize("x", [1.0, -1.0])
def test_cond(x: float) -> None:
    def make(F: Any, x: Any, a: Any, b: Any) -> Made:  # noqa: N803
        found = F.contrib.cond(x * 2 > 0, lambda: [a * b], lambda: [a - b])
        return list(found)

    outs = agree(make, x=np.array([x]), a=ONES * 3, b=ONES * 2)
    np.testing.assert_array_equal(outs[0], [6, 6] if x > 0 else [1, 1])


def test_parameters_of_a_body_are_inferred_and_states_kept() -> None:
    def body(row: Any, s: Any) -> Any:
        hidden = mx.sym.FullyConnected(row, num_hidden=4, name="fc")
        return mx.sym.BatchNorm(hidden, name="bn"), s + 1

    outs, _ = mx.sym.contrib.foreach(body, mx.sym.var("x"), mx.sym.var("s"))
    assert outs.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    arguments, results, states = outs.infer_shape(x=(5, 2, 3), s=(1,))
    assert results == [(5, 2, 4)]
    assert dict(zip(outs.list_arguments(), arguments, strict=True))["fc_weight"] == (
        4, 3,
    )  # fmt: skip
    executor = outs.simple_bind(mx.cpu(), x=(5, 2, 3), s=(1,))
    executor.arg_dict["x"][:] = mx.nd.random.uniform(shape=(5, 2, 3))
    executor.arg_dict["fc_weight"][:] = 1
    executor.forward(is_train=True)
    mx.nd.waitall()
    assert (executor.aux_dict["bn_moving_mean"].asnumpy() != 0).all()


def test_open_axes_stay_open() -> None:
    data = mx.sym.var("data", shape=(0, 3, 8))
    outs, _ = mx.sym.contrib.foreach(
        lambda x, s: (x + s[0], [s[0] * 2]), data, [mx.sym.var("s")]
    )
    assert outs.infer_shape_partial()[1] == [(0, 3, 8)]


X, Y = mx.sym.var("x"), mx.sym.var("y")
contrib = mx.sym.contrib


@pytest.mark.parametrize(
    ("call", "lesson"),
    [
        (lambda: contrib.foreach(lambda d, s: (s, s), X, Y), "does not use x-0"),
        (lambda: contrib.foreach(lambda d, s: (d, [s]), X, Y), "another form"),
        (lambda: contrib.foreach(lambda d, s: d, X, Y), "must return two things"),
        (lambda: contrib.foreach(lambda d, s: (d, s), 3, Y), "must be Symbols"),
        (lambda: contrib.while_loop(lambda i: i, lambda i: (i, i), X), "max_iterat"),
        (lambda: contrib.while_loop(lambda i: True, lambda i: (i, i), X, 2), "Symbol"),
        (
            lambda: contrib.while_loop(
                lambda i: i, lambda i: (i, [i, i]), X, max_iterations=2
            ),
            "number must stay",
        ),
        (lambda: contrib.cond(X, lambda: Y, lambda: [X, Y]), "as many"),
        (lambda: contrib.cond(mx.sym.Group([X, Y]), lambda: Y, lambda: X), "have one"),
    ],
)
def test_wrong_graphs(call: Any, lesson: str) -> None:
    with pytest.raises(ArgumentError, match=lesson):
        call()


def test_bodies_of_other_shapes_contradict() -> None:
    net = contrib.cond(X, lambda: Y, lambda: mx.sym.expand_dims(Y, axis=0))
    with pytest.raises(ShapeError, match="output 0"):
        net.infer_shape(x=(1,), y=(2,))


def test_damaged_files_are_refused() -> None:
    text = contrib.foreach(lambda d, s: (d + s, s), X, Y)[0].tojson()
    for old, new in (
        ('"in_data_locs": "[0]"', '"in_data_locs": "[7]"'),
        ('"in_data_locs": "[0]"', '"in_data_locs": "boo("'),
        ('"subgraphs"', '"subgraph"'),
        ('"subgraphs": [', '"subgraphs": [3, '),
    ):
        assert old in text
        with pytest.raises(DataError):
            mx.sym.load_json(text.replace(old, new))


@pytest.mark.parametrize("states", [(1,), (3,)])
def test_a_slice_of_one_axis_keeps_an_axis_of_one(states: tuple[int, ...]) -> None:
    """As MXNet 1.9.1 does, on arrays and in graphs."""

    def body(row: Any, total: Any) -> Any:
        return row * 2, total + row if states == (1,) else total + 1

    data, start = mx.sym.var("data"), mx.sym.var("start")
    outs, last = mx.sym.contrib.foreach(body, data, start)
    both = mx.sym.Group([outs, last])
    wanted = [(4, 1), states]
    assert both.infer_shape(data=(4,), start=states)[1] == wanted
    rows, zeros = mx.nd.arange(4), mx.nd.zeros(states)
    eager = mx.nd.contrib.foreach(body, rows, zeros)
    found = both.eval(data=rows, start=zeros)
    for one, other in zip(found, eager, strict=True):
        assert one.shape == other.shape
        np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())
    assert "np_shape" not in outs.tojson().replace("is_np_shape", "")
    again = mx.sym.load_json(both.tojson())
    assert again.infer_shape(data=(4,), start=states)[1] == wanted


def test_a_state_gets_its_axis_from_the_slices() -> None:
    data, start = mx.sym.var("data"), mx.sym.var("start")
    outs, _ = mx.sym.contrib.foreach(lambda row, s: (row + s, s), data, start)
    assert outs.infer_shape(data=(4,)) == ([(4,), (1,)], [(4, 1)], [])
    assert outs.infer_shape_partial(start=(1,))[0] == [(), (1,)], "(4,) or (4, 1)"


def test_under_np_shape_a_slice_of_one_axis_has_none() -> None:
    with mx.util.np_shape(True):
        data = mx.sym.var("data")
        outs, _ = mx.sym.contrib.foreach(lambda row, s: (row * 2, s), data, [])
        assert outs.infer_shape(data=(4,))[1] == [(4,)]
        assert outs.eval(data=mx.nd.arange(4))[0].shape == (4,)
        again = mx.sym.load_json(outs.tojson())
    assert again.eval(data=mx.nd.arange(4))[0].shape == (4,)
