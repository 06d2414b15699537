"""Executors: what is computed, kept, shared, and refused."""

from __future__ import annotations

import re
import time
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core import storage
from minimx.core.errors import ArgumentError, ShapeError
from minimx.core.operators import softmax

a, b = mx.sym.var("a"), mx.sym.var("b")


def ones(*shape: int) -> Any:
    return mx.nd.ones(shape)


def test_gradients_as_if_the_operators_were_called_by_hand() -> None:
    rng = np.random.RandomState(0)
    net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=4, name="f")
    net = mx.sym.softmax(mx.sym.tanh(mx.sym.BatchNorm(net, name="n", fix_gamma=False)))
    executor = net.simple_bind(mx.cpu(), x=(5, 3))
    for array in executor.arg_arrays:
        array[:] = rng.uniform(-1, 1, array.shape)
    arrays = {name: array.copy() for name, array in executor.arg_dict.items()}
    states = [array.copy() for array in executor.aux_arrays]
    head = mx.nd.array(rng.uniform(-1, 1, (5, 4)))
    executor.forward(is_train=True)
    executor.backward(head)
    for array in arrays.values():
        array.attach_grad()
    with mx.autograd.record():
        nd: Any = mx.nd
        w = [arrays[n] for n in ("x", "f_weight", "f_bias", "n_gamma", "n_beta")]
        y = nd.FullyConnected(*w[:3], num_hidden=4)
        y = nd.BatchNorm(y, *w[3:], *states, fix_gamma=False)
        y = mx.nd.softmax(mx.nd.tanh(y))
    y.backward(head)
    assert executor.outputs[0].asnumpy().tolist() == y.asnumpy().tolist()
    for name, array in arrays.items():
        found = executor.grad_dict[name]
        assert found is not None
        assert found.asnumpy().tolist() == array.grad.asnumpy().tolist(), name
    for mine, theirs in zip(executor.aux_arrays, states, strict=True):
        assert mine.asnumpy().tolist() == theirs.asnumpy().tolist()


@pytest.mark.parametrize(
    ("grad_req", "expected"),
    [
        ("write", ([6, 6], [4, 4])),
        ("add", ([13, 13], [9, 9])),
        (["write", "null"], ([6, 6], [1, 1])),
        ({"b": "add"}, ([1, 1], [9, 9])),
    ],
)
def test_what_is_done_with_gradients(grad_req: Any, expected: Any) -> None:
    grads = {"a": ones(2), "b": ones(2)}
    bound = {"a": ones(2) * 2, "b": ones(2) * 3}
    executor = (a * b).bind(mx.cpu(), bound, grads, grad_req)
    executor.forward(is_train=True)
    for _ in range(2):
        executor.backward(ones(2) * 2)
    assert tuple(grads[n].asnumpy().tolist() for n in "ab") == expected


def test_the_names_of_mxnet_2() -> None:
    executor = (a * b)._bind(mx.cpu(), {"a": ones(2), "b": ones(2) * 3})
    assert executor.forward()[0].asnumpy().tolist() == [3, 3]
    assert (a * b)._simple_bind(mx.cpu(), a=(2,), b=(2,)).forward()[0].shape == (2,)


def test_where_nothing_flows_a_written_gradient_is_zero() -> None:
    executor: Any = mx.sym.BlockGrad(a).simple_bind(a=(2,))
    executor.grad_arrays[0][:] = 9
    executor.forward(is_train=True)
    executor.backward(ones(2))
    assert executor.grad_arrays[0].asnumpy().tolist() == [0, 0]


def test_marks_of_the_users_own_stay() -> None:
    x = ones(2)
    x.attach_grad()
    executor = (a * 3).bind(mx.cpu(), {"a": x}, {"a": mx.nd.zeros((2,))})
    executor.forward(is_train=True)
    executor.backward(ones(2))
    with mx.autograd.record():
        y = x * 5
    y.backward()
    assert x.grad.asnumpy().tolist() == [5, 5]
    assert executor.grad_arrays[0].asnumpy().tolist() == [3, 3]


def test_outputs_stay_the_same_arrays() -> None:
    executor = (a + 1).simple_bind(a=(2,))
    held = executor.outputs[0]
    executor.forward(a=ones(2) * 4)
    assert held.asnumpy().tolist() == [5, 5] and executor.outputs[0] is held
    assert list(executor.output_dict.values())[0] is held


def test_another_shape_shares_what_fits() -> None:
    net = mx.sym.FullyConnected(a, num_hidden=4, name="f")
    executor = net.simple_bind(a=(5, 4), grad_req="null")
    executor.arg_dict["a"][:] = 1
    executor.arg_dict["f_weight"][:] = 1
    smaller = executor.reshape(a=(3, 4))
    assert smaller.arg_dict["f_weight"] is executor.arg_dict["f_weight"]
    assert smaller.forward()[0].asnumpy().tolist() == [[4.0] * 4] * 3
    with pytest.raises(ShapeError, match="allow_up_sizing"):
        executor.reshape(a=(9, 4))
    larger = executor.reshape(allow_up_sizing=True, a=(9, 4))
    larger.arg_dict["a"][:] = 0
    assert executor.arg_dict["a"].asnumpy().all()
    with pytest.raises(ShapeError, match="partial_shaping"):
        executor.reshape(a=(5, 3))


def test_what_a_monitor_sees() -> None:
    seen: dict[str, Any] = {}
    executor = mx.sym.relu(a - 1, name="r").simple_bind(a=(2,))
    executor.set_monitor_callback(lambda name, x: seen.update({name: x.asnumpy()}))
    executor.forward(a=mx.nd.array([0, 3]))
    assert seen["r_output"].tolist() == [0, 2] and "a" not in seen
    executor.set_monitor_callback(lambda name, x: seen.update({name: x}), True)
    executor.forward()
    assert {"a", "r_input0", "r_output"} <= set(seen)


def test_a_monitor_hears_the_names_that_mxnet_gives() -> None:
    """As MXNet 1.9.1 gives them without a subgraph backend."""
    sym = mx.sym
    with mx.name.NameManager():
        x = sym.Activation(
            sym.FullyConnected(a, num_hidden=4, name="fc"), "relu", name="act"
        )
        x = sym.concat(sym.BatchNorm(x, name="bn"), x, name="cc")
        left, right = sym.split(sym.softmax(x, name="so"), num_outputs=2, name="sp")
        x = sym.exp(sym.add_n(left + right, right, name="an"), name="ex")
    executor = sym.SoftmaxOutput(x, name="sm").simple_bind(grad_req="null", a=(2, 4))
    seen: list[str] = []
    executor.set_monitor_callback(lambda name, array: seen.append(name), True)
    executor.forward()
    statistics = ["moving_mean", "moving_var"]
    assert seen == [
        "a", "fc_data", "fc_weight", "fc_weight", "fc_bias", "fc_bias", "fc_output",
        "act_input0", "act_output", "bn_data",
        *[f"bn_{word}" for word in ("gamma", "beta", *statistics) for _ in range(2)],
        "bn_output", "bn_mean", "bn_var",
        "cc_arg0", "cc_arg1", "cc_output", "so_data", "so_output",
        "sp_data", "sp_output0", "sp_output1", "_plus0_lhs", "_plus0_rhs",
        "_plus0_output", "an_arg0", "an_arg1", "an_output", "ex_input0", "ex_output",
        "sm_data", "sm_label", "sm_label", "sm_output",
    ]  # fmt: skip


def test_inner_memory_is_counted() -> None:
    def megabytes(symbol: Any, **more: Any) -> int:
        text = symbol.simple_bind(a=(512, 512), **more).debug_str()
        return int(re.findall("Total ([0-9]+) MB allocated", text)[0])

    deep = a
    for _ in range(8):
        deep = mx.sym.FullyConnected(deep, num_hidden=512, no_bias=True)
    assert megabytes(deep, grad_req="null") == 2  # one is read while one is written
    # Seven results are kept; the first gradient needs one place more.
    assert megabytes(deep) == 8
    assert megabytes(mx.sym.stop_gradient(deep)) == 2  # nothing is kept for gradients


def test_workspaces_are_counted() -> None:
    def workspaces(count: int) -> int:
        x = mx.sym.var("x")
        ends = [
            mx.sym.Convolution(x, num_filter=2, kernel=(3, 3), name=f"conv{k}")
            for k in range(count)
        ]
        executor = mx.sym.add_n(*ends).simple_bind(x=(1, 1, 8, 8), grad_req="null")
        text = executor.debug_str()
        return int(re.findall("Total ([0-9]+) TempSpace resource requested", text)[0])

    assert [workspaces(k) for k in (1, 3)] == [1, 1]


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: (a * b).bind(mx.cpu(), {"a": ones(2)}), ArgumentError, "no array for"),
        (lambda: (a * b).bind(mx.cpu(), [ones(2)]), ArgumentError, "1 arrays for 2"),
        (lambda: a.bind(mx.cpu(), {"a": 3}), TypeError, "is a int"),
        (lambda: (a * b).simple_bind(), ShapeError, "do not settle"),
        (lambda: a.simple_bind(grad_req="wirte", a=(2,)), ArgumentError, "write, add"),
        (lambda: a.simple_bind(grad_req=3, a=(2,)), ArgumentError, "grad_req"),
        (lambda: a.eval(b=ones(2)), ArgumentError, "no array for 'a'"),
    ],
)
def test_wrong_bindings_are_lessons(call: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        call()


def test_wrong_calls_are_lessons() -> None:
    executor = mx.sym.Group([a + 1, a + 2]).simple_bind(a=(2,))
    with pytest.raises(TypeError, match="Did you mean a"):
        executor.forward(aa=ones(2))
    with pytest.raises(ShapeError, match="bound to shape"):
        executor.forward(a=ones(3))
    with pytest.raises(ArgumentError, match="1 gradients for 2 outputs"):
        executor.backward(ones(2))
    with pytest.raises(ArgumentError, match="allow_extra_params"):
        executor.copy_params_from({"c": ones(2)})


def test_shared_buffers_and_executors() -> None:
    store: dict[str, Any] = {}
    first = (a * b).simple_bind(a=(2,), b=(2,), shared_buffer=store)
    second = (a + b).simple_bind(a=(2,), b=(2,), shared_buffer=store)
    assert first.arg_dict["a"] is second.arg_dict["a"] is store["a"]
    third = (a - b).simple_bind(
        a=(2,), b=(2,), shared_exec=first, shared_arg_names=["b"]
    )
    assert third.arg_dict["b"] is first.arg_dict["b"]
    assert third.arg_dict["a"] is not first.arg_dict["a"]


def test_a_copy_of_the_outputs_is_that_of_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sheets: Any = softmax
    find = sheets.find

    def slowed(name: str) -> Any:
        kernel = find(name)

        def run(*arrays: Any) -> None:
            time.sleep(0.2)  # the next forward() is asked for meanwhile
            kernel(*arrays)

        return run

    monkeypatch.setattr(softmax, "find", slowed)
    rows = np.array([[0.0, 1.0, 5.0, 2.0, 7.0], [3.0, 1.0, 0.0, 0.0, 9.0]])
    graph = mx.sym.softmax(mx.sym.Variable("data"))
    executor = graph.bind(ctx=mx.cpu(), args={"data": mx.nd.zeros((5,))})
    copies = []
    for row in rows:
        executor.forward(data=mx.nd.array(row))
        copies.append(executor.outputs[0].copy())
    for row, copy in zip(rows, copies, strict=True):
        wanted = np.exp(row) / np.exp(row).sum()
        np.testing.assert_allclose(copy.asnumpy(), wanted, rtol=1e-5)


def test_groups_of_a_graph_run_on_devices_of_their_own() -> None:
    with mx.AttrScope(ctx_group="front"):
        hidden = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=4, name="f")
        hidden = mx.sym.BatchNorm(hidden, name="n", fix_gamma=False)
    with mx.AttrScope(ctx_group="back"):
        net = mx.sym.FullyConnected(hidden, num_hidden=3, name="g")
    net = mx.sym.tanh(net)  # of no group: where its input is
    groups = {"front": mx.gpu(0), "back": mx.cpu(1)}
    split: Any = net.simple_bind(mx.cpu(), group2ctx=groups, x=(5, 2))
    whole: Any = net.simple_bind(mx.cpu(), x=(5, 2))
    assert {name: array.context for name, array in split.arg_dict.items()} == {
        name: mx.cpu(1) if name.startswith("g") else mx.gpu(0)
        for name in whole.arg_dict
    }
    assert {array.context for array in split.aux_arrays} == {mx.gpu(0)}
    rng = np.random.RandomState(0)
    for ours, other in zip(split.arg_arrays, whole.arg_arrays, strict=True):
        ours[:] = other[:] = rng.uniform(-1, 1, ours.shape)
    (out,), (expected,) = split.forward(True), whole.forward(True)
    assert out.context == mx.cpu(1)
    np.testing.assert_array_equal(out.asnumpy(), expected.asnumpy())
    head = mx.nd.array(rng.uniform(-1, 1, (5, 3)))
    split.backward(head)
    whole.backward(head)
    for name, slope in split.grad_dict.items():
        assert slope.context == split.arg_dict[name].context
        other = whole.grad_dict[name].asnumpy()
        np.testing.assert_array_equal(slope.asnumpy(), other)
    for moved, stayed in zip(split.aux_arrays, whole.aux_arrays, strict=True):
        np.testing.assert_array_equal(moved.asnumpy(), stayed.asnumpy())
    assert split.reshape(x=(3, 2)).forward()[0].context == mx.cpu(1)


def test_bound_arrays_cross_between_the_devices_of_groups() -> None:
    with mx.AttrScope(ctx_group="other"):
        net = a * 3
    net = net + b
    x, y = mx.nd.array([1, 2], ctx=mx.gpu(0)), mx.nd.array([3, 4])
    dx, dy = mx.nd.zeros(2, ctx=mx.gpu(0)), mx.nd.zeros(2)
    groups = {"other": [mx.gpu(0)]}
    executor = net.bind(mx.cpu(), [x, y], [dx, dy], group2ctx=groups)
    assert executor.forward(True)[0].asnumpy().tolist() == [6, 10]
    executor.backward(ones(2))
    assert (dx.asnumpy().tolist(), dy.asnumpy().tolist()) == ([3, 3], [1, 1])
    with pytest.raises(ArgumentError, match="by the name of their group"):
        net.simple_bind(a=(2,), b=(2,), group2ctx=[mx.cpu()])


def network() -> Any:
    x = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=6, name="fc")
    x = mx.sym.Dropout(mx.sym.BatchNorm(x, fix_gamma=False, name="bn"), p=0.5)
    return mx.sym.Group([mx.sym.softmax(x), x * x])


def bound(symbol: Any, req: Any = "write") -> Any:
    executor = symbol.simple_bind(x=(5, 4), grad_req=req)
    random = np.random.default_rng(2)
    for array in executor.arg_arrays:
        array[:] = mx.nd.array(random.normal(size=array.shape))
    for array in executor.aux_arrays:
        array[:] = 1
    return executor


def seen(executor: Any, times: int = 1) -> list[Any]:
    mx.random.seed(4)
    for _ in range(2):
        executor.forward(is_train=True)
        for _ in range(times):
            executor.backward([ones(5, 6), ones(5, 6) * 2])
    arrays = [*executor.outputs, *executor.grad_arrays, *executor.aux_arrays]
    return [x.asnumpy().tolist() for x in arrays if x is not None]


@pytest.mark.parametrize("req", ["write", "add", {"x": "write", "bn_gamma": "add"}])
def test_a_program_and_a_watched_graph_compute_the_same(req: Any) -> None:
    watched = bound(network(), req)
    watched.set_monitor_callback(lambda name, array: None)
    assert seen(bound(network(), req)) == seen(watched)


def test_backward_may_be_asked_twice() -> None:
    once, twice = bound(network()), bound(network())
    assert seen(once, 1) == seen(twice, 2)


def test_backward_after_a_prediction() -> None:
    executor, watched = bound(network()), bound(network())
    watched.set_monitor_callback(lambda name, array: None)
    found = []
    for one in (executor, watched):
        one.forward(is_train=True)
        one.forward(is_train=False)
        one.backward([ones(5, 6), ones(5, 6)])
        found.append([grad.asnumpy().tolist() for grad in one.grad_arrays])
    assert found[0] == found[1]


def test_executors_that_share_use_one_piece_of_memory() -> None:
    def live() -> int:
        mx.nd.waitall()
        return storage.stats(mx.cpu()).live_requested

    symbol = mx.sym.var("x")
    for _ in range(6):
        symbol = mx.sym.dot(symbol, mx.sym.softmax(symbol))
    first = symbol.simple_bind(x=(64, 64))
    first.forward(is_train=True)
    results, used = [], []
    for shared in (first, None):
        before = live()
        second: Any = symbol.simple_bind(x=(64, 64), shared_exec=shared)
        second.arg_arrays[0][:] = 0.1
        second.forward(is_train=True)
        second.backward([mx.nd.ones((64, 64))])
        results.append(second.grad_arrays[0].asnumpy().tolist())
        used.append(live() - before)
        del second
    assert results[0] == results[1]
    assert used[0] + 100_000 < used[1]


def test_an_output_that_changes_its_size_leaves_the_one_before_to_its_reader() -> None:
    chosen = mx.nd.array([1, 0, 1, 1])
    symbol = mx.sym.contrib.boolean_mask(mx.sym.var("data"), mx.sym.var("index"))
    bound = symbol.bind(mx.cpu(), {"data": mx.nd.arange(4), "index": chosen})
    (before,) = bound.forward()
    doubled = before * 2  # under way while the next one is computed
    chosen[:] = mx.nd.array([0, 1, 0, 0])
    (after,) = bound.forward()
    assert doubled.asnumpy().tolist() == [0, 4, 6]
    assert before.asnumpy().tolist() == [0, 2, 3]
    assert after.asnumpy().tolist() == [1] == bound.outputs[0].asnumpy().tolist()
