"""A module on several devices does what it does on one."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import minimx as mx
from minimx import nd
from minimx.core.errors import ArgumentError, ShapeError
from minimx.core.knobs import knobs
from minimx.io import DataBatch, DataDesc, NDArrayIter
from minimx.module import Module
from minimx.module.slices import batch_size, by_device, described, requests

TWO = [mx.cpu(0), mx.cpu(1)]
X = np.random.RandomState(1).randn(12, 4).astype("float32")
Y = (X.sum(1) > 0).astype("float32")


def network() -> Any:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=8, name="one")
    net = mx.sym.BatchNorm(net, fix_gamma=False, name="norm")
    net = mx.sym.FullyConnected(mx.sym.tanh(net), num_hidden=2, name="two")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def values(symbol: Any) -> Any:
    shapes, _, states = symbol.infer_shape(data=(12, 4))
    rng = np.random.RandomState(0)
    args = dict(zip(symbol.list_arguments(), shapes, strict=True))
    aux = zip(symbol.list_auxiliary_states(), states, strict=True)
    inputs = ("data", "softmax_label")
    return (
        {k: nd.array(rng.randn(*s)) for k, s in args.items() if k not in inputs},
        {k: nd.ones(s) if "var" in k else nd.zeros(s) for k, s in aux},
    )


def trained(context: Any, kvstore: Any, **kwargs: Any) -> Any:
    mod = Module(network(), context=context, **kwargs)
    data = NDArrayIter(X, Y, 6, label_name="softmax_label")
    args, states = values(network())
    mod.fit(
        data, num_epoch=2, kvstore=kvstore, arg_params=args, aux_params=states,
        optimizer_params={"learning_rate": 0.2, "momentum": 0.9},
    )  # fmt: skip
    return mod


@pytest.mark.parametrize("kvstore", ["local", "device"])
@pytest.mark.parametrize("on_store", [False, True])
def test_both_devices_hold_the_same_parameters(kvstore: str, on_store: bool) -> None:
    with knobs(MXNET_UPDATE_ON_KVSTORE=on_store):
        mod = trained(TWO, kvstore)
    group = mod._exec_group
    assert [e.arg_dict["data"].shape for e in group.execs] == [(3, 4), (3, 4)]
    assert mod._update_on_kvstore is on_store
    first, second = (e.arg_dict["one_weight"].asnumpy() for e in group.execs)
    np.testing.assert_allclose(first, second, rtol=1e-6)


def test_slices_without_batch_statistics_train_as_one_batch_does() -> None:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="one")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    found = []
    for context, kwargs in (
        (mx.cpu(), {}),
        (TWO, {}),
        (TWO, {"work_load_list": [2, 1]}),
    ):
        mod = Module(net, context=context, **cast(Any, kwargs))
        data = NDArrayIter(X, Y, 6, label_name="softmax_label")
        args = {"one_weight": nd.ones((2, 4)) * 0.1, "one_bias": nd.zeros(2)}
        mod.fit(
            data, num_epoch=3, arg_params=args, aux_params={}, optimizer="adam",
            optimizer_params={"learning_rate": 0.1},
        )  # fmt: skip
        found.append(mod.get_params()[0]["one_weight"].asnumpy())
        assert mod.score(data, "acc")[0][1] > 0.6
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4)
    np.testing.assert_allclose(found[0], found[2], rtol=1e-4)


def test_states_of_devices_become_their_mean() -> None:
    mod = Module(network(), context=TWO)
    mod.bind([("data", (4, 4))], [("softmax_label", (4,))])
    mod.init_params()
    for executor, value in zip(mod._group.execs, (1, 3), strict=True):
        executor.aux_dict["norm_moving_mean"][:] = value
    assert mod.get_params()[1]["norm_moving_mean"].asnumpy().tolist() == [2] * 8


def test_parts_of_outputs_gradients_and_states() -> None:
    data = mx.sym.var("data", __layout__="TN")
    both: Any = mx.sym.elemwise_add
    net = both(data * 2, mx.sym.var("s"), __layout__="TN")
    mod = Module(net, label_names=None, context=TWO, state_names=["s"])
    mod.bind([DataDesc("data", (3, 4), layout="TN")], inputs_need_grad=True)
    mod.init_params()
    mod.set_states(value=5)
    mod.forward(DataBatch([nd.arange(12).reshape((3, 4))]))
    assert mod.get_outputs()[0].shape == (3, 4)
    assert [x.shape for x in mod.get_outputs(False)[0]] == [(3, 2), (3, 2)]
    assert mod.get_outputs()[0].asnumpy()[0].tolist() == [5, 7, 9, 11]
    mod.backward([nd.arange(12).reshape((3, 4))])
    assert mod.get_input_grads()[0].asnumpy()[0].tolist() == [0, 2, 4, 6]
    mod.set_states(states=[[nd.ones((3, 2)), nd.zeros((3, 2))]])
    assert [x.asnumpy().max() for x in mod.get_states(False)[0]] == [1, 0]
    with pytest.raises(ArgumentError, match="either"):
        mod.set_states()


def test_a_batch_that_was_dealt_out_before() -> None:
    mod = Module(mx.sym.var("data") * 2, label_names=None, context=TWO)
    mod.bind([("data", (4, 2))], for_training=False)
    mod.init_params()
    mod.forward([DataBatch([nd.ones((3, 2))]), DataBatch([nd.zeros((3, 2))])])
    assert mod.get_outputs()[0].asnumpy()[:, 0].tolist() == [2, 2, 2, 0, 0, 0]


def test_devices_of_parts_of_the_symbol() -> None:
    with mx.AttrScope(ctx_group="front"):
        net = mx.sym.var("data") * 2
    groups = by_device({"front": [mx.cpu(2), mx.cpu(3)]}, 2)
    assert groups == [{"front": mx.cpu(2)}, {"front": mx.cpu(3)}]
    mod = Module(net + 1, label_names=None, context=TWO, group2ctxs=groups)
    mod.bind([("data", (4, 2))], inputs_need_grad=True)
    mod.init_params()
    mod.forward_backward(DataBatch([nd.ones((4, 2))]))
    grads = mod.get_input_grads(False)[0]
    assert [grad.context for grad in grads] == [mx.cpu(2), mx.cpu(3)]
    assert mod.get_input_grads()[0].asnumpy().tolist() == [[2, 2]] * 4


def test_a_batch_that_would_change_a_parameter_leaves_all_as_it_was() -> None:
    mod = trained(TWO, "local")
    with pytest.raises(ShapeError, match="one_weight"):
        mod.forward(DataBatch([nd.ones((4, 5))], [nd.ones(4)]))
    mod.forward(DataBatch([nd.ones((4, 4))], [nd.ones(4)]), is_train=False)
    assert mod.get_outputs()[0].shape == (4, 2)


def test_what_cannot_be_dealt_out() -> None:
    mod = Module(mx.sym.var("data") * 2, label_names=None, context=TWO)
    with pytest.raises(ArgumentError, match="2 devices"):
        mod.bind([("data", (1, 2))])
    assert not mod.binded
    with pytest.raises(ArgumentError, match="layout"):
        batch_size([described(("a", (2, 3))), described(("b", (3, 2)))])
    with pytest.raises(TypeError, match="tuple"):
        described(("a", nd.ones(2)))
    with pytest.raises(ArgumentError, match="3 devices for 2"):
        by_device({"a": [mx.cpu()] * 3}, 2)
    with pytest.raises(ArgumentError, match="1 dicts"):
        by_device([{}], 2)
    with pytest.raises(ArgumentError, match="grad_req"):
        requests(1, ["a"], {"a"}, set())


def test_requests_for_gradients_by_name() -> None:
    names = ["data", "w", "b"]
    assert requests("add", names, {"w"}, {"data"}) == {
        "data": "add", "w": "add", "b": "null",
    }  # fmt: skip
    assert requests({"w": "add"}, names, {"w", "b"}, set())["b"] == "write"
    assert requests(["null", "add", "write"], names, set(), set())["w"] == "add"
