"""Modules of buckets, of chains, and in Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd
from minimx.core.errors import ArgumentError, ParameterError
from minimx.io import DataBatch, DataDesc, NDArrayIter
from minimx.module import (
    BucketingModule,
    Module,
    PythonLossModule,
    PythonModule,
    SequentialModule,
)

SIZE = 3


def unrolled(length: int) -> Any:
    cell = mx.rnn.RNNCell(SIZE, prefix="cell_")
    outputs, _ = cell.unroll(length, mx.sym.var("data"), merge_outputs=True)
    out = mx.sym.FullyConnected(
        mx.sym.reshape(outputs, shape=(-1, SIZE)), num_hidden=2, name="last"
    )
    labels = mx.sym.reshape(mx.sym.var("softmax_label"), shape=(-1,))
    net = mx.sym.SoftmaxOutput(out, labels, name="softmax")
    return net, ("data",), ("softmax_label",)


def batch(length: int, key: int | None = None) -> DataBatch:
    x = np.random.RandomState(length).randn(4, length, 5).astype("float32")
    y = (x.cumsum(1)[:, :, 0] > 0).astype("float32")
    return DataBatch(
        [nd.array(x)], [nd.array(y)], bucket_key=key or length,
        provide_data=[DataDesc("data", x.shape)],
        provide_label=[DataDesc("softmax_label", y.shape)],
    )  # fmt: skip


def buckets(sym_gen: Any = unrolled, **kwargs: Any) -> BucketingModule:
    first = batch(4)
    made = BucketingModule(sym_gen, default_bucket_key=4, **kwargs)
    made.bind(first.provide_data, first.provide_label)
    made.init_params(mx.init.Xavier())
    made.init_optimizer(optimizer="adam", optimizer_params={"learning_rate": 0.05})
    return made


def step(mod: Any, one: DataBatch) -> float:
    metric = mx.metric.CrossEntropy()
    mod.forward_backward(one)
    mod.update()
    metric.update([one.label[0].reshape((-1,))], mod.get_outputs())  # type: ignore[index]
    return float(metric.get()[1])


@pytest.mark.parametrize("context", [mx.cpu(), [mx.cpu(0), mx.cpu(1)]])
def test_buckets_train_the_same_parameters(context: Any) -> None:
    mx.random.seed(1)  # some first weights are good ones already
    mod = buckets(context=context)
    losses = [[step(mod, batch(n)) for n in (4, 2, 3)] for _ in range(60)]
    assert max(losses[-1]) < 0.35 < min(losses[0])
    assert sorted(mod._buckets) == [2, 3, 4]
    arrays = [m._exec_group.param_arrays for m in mod._buckets.values()]  # type: ignore[union-attr]
    assert all(one[0][0].chunk is arrays[0][0][0].chunk for one in arrays)
    before = mod.get_params()[0]["last_bias"].asnumpy()
    mod.forward(batch(2), is_train=False)
    np.testing.assert_array_equal(mod.get_params()[0]["last_bias"].asnumpy(), before)
    assert mod.output_shapes[0][1] == (8, 2) and mod.data_names == ["data"]


def test_getting_ready_for_a_batch_does_not_leave_the_bucket() -> None:
    mod = buckets()
    mod.prepare(batch(2))
    assert mod.data_shapes[0].shape == (4, 4, 5) and sorted(mod._buckets) == [2, 4]


def test_a_monitor_sees_buckets_that_come_later() -> None:
    mod, seen = buckets(), mx.mon.Monitor(1, pattern="softmax_output")
    mod.install_monitor(seen)
    seen.tic()
    mod.forward(batch(3), is_train=False)
    assert [name for _, name, _ in seen.toc()] == ["softmax_output"]


def test_buckets_go_on_where_they_were_left(tmp_path: Path) -> None:
    mod, place = buckets(), str(tmp_path / "kept")
    step(mod, batch(2))
    mod.save_checkpoint(place, 1)
    again = BucketingModule.load(place, 1, unrolled, default_bucket_key=4)
    first = batch(4)
    again.bind(first.provide_data, first.provide_label, for_training=False)
    for one in (mod, again):
        one.forward(batch(2), is_train=False)
    np.testing.assert_allclose(
        mod.get_outputs()[0].asnumpy(), again.get_outputs()[0].asnumpy()
    )
    assert sorted(again._buckets) == [2, 4]


def test_a_bucket_with_other_parameters_is_refused() -> None:
    def growing(length: int) -> Any:
        data = mx.sym.reshape(mx.sym.var("data"), shape=(0, -1))
        net = mx.sym.FullyConnected(data, num_hidden=2, name="last")
        return mx.sym.MakeLoss(net), ("data",), None

    mod = BucketingModule(growing, default_bucket_key=4)
    mod.bind(batch(4).provide_data)
    mod.init_params()
    with pytest.raises(ParameterError, match=r"last_weight of shape \(2, 10\)"):
        mod.forward(batch(2))
    with pytest.raises(TypeError, match="default_bucket_key"):
        BucketingModule(growing)


def halves() -> list[Module]:
    one = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="one")
    two = mx.sym.FullyConnected(mx.sym.var("mid"), num_hidden=2, name="two")
    loss = mx.sym.SoftmaxOutput(two, name="softmax")
    return [Module(mx.sym.tanh(one), label_names=None), Module(loss, ["mid"])]


def whole() -> Any:
    one = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="one")
    two = mx.sym.FullyConnected(mx.sym.tanh(one), num_hidden=2, name="two")
    return mx.sym.SoftmaxOutput(two, name="softmax")


def start() -> dict[str, Any]:
    rng = np.random.RandomState(3)
    shapes = {
        "one_weight": (4, 5),
        "two_weight": (2, 4),
        "one_bias": (4,),
        "two_bias": (2,),
    }
    return {name: nd.array(rng.randn(*shape)) for name, shape in shapes.items()}


def test_a_chain_trains_as_its_symbols_in_one() -> None:
    x = np.random.RandomState(0).randn(8, 5).astype("float32")
    y = (x[:, 0] > 0).astype("float32")
    chain = SequentialModule().add(halves()[0])
    chain.add(halves()[1], take_labels=True, auto_wiring=True)
    found = []
    for mod in (chain, Module(whole())):
        mod.fit(
            NDArrayIter(x, y, 4, label_name="softmax_label"), num_epoch=2,
            arg_params=start(), aux_params={}, optimizer_params={"learning_rate": 0.3},
        )  # fmt: skip
        found.append(mod.get_params()[0])
    for name, value in found[0].items():
        np.testing.assert_allclose(
            value.asnumpy(), found[1][name].asnumpy(), rtol=1e-4, atol=1e-6
        )
    assert chain.output_shapes == [("softmax_output", (4, 2))]
    assert chain.label_shapes is not None


def test_a_chain_ends_in_a_loss_in_python() -> None:
    def slope(scores: Any, labels: Any) -> Any:
        probs = nd.softmax(scores).asnumpy()
        probs[np.arange(len(probs)), labels.asnumpy().astype(int)] -= 1
        return probs

    front = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="one")
    chain = SequentialModule()
    chain.add(Module(front, label_names=None)).add(
        PythonLossModule(data_names=["one_output"], grad_func=slope), take_labels=True
    )
    x = np.random.RandomState(0).randn(16, 5).astype("float32")
    data = NDArrayIter(
        x, (x[:, 0] > 0).astype("float32"), 8, label_name="softmax_label"
    )
    chain.fit(data, num_epoch=40, optimizer_params={"learning_rate": 0.5})
    assert chain.score(data, "acc")[0][1] == 1.0


def test_a_module_in_python_says_what_it_lacks() -> None:
    mod = PythonModule(["a"], None, ["b"])
    with pytest.raises(NotImplementedError, match="_compute_output_shapes"):
        mod.bind([("a", (2, 3))])
    assert not mod.binded and mod.get_params() == ({}, {})
    with pytest.raises(ArgumentError, match="there are"):
        mod.bind([("c", (2, 3))])
    loss = PythonLossModule()
    loss.bind([("data", (2, 3))], [("softmax_label", (2,))])
    loss.forward(DataBatch([nd.ones((2, 3))], [nd.ones(2)]))
    with pytest.raises(NotImplementedError, match="grad_func"):
        loss.backward()


def test_what_a_chain_refuses() -> None:
    chain = SequentialModule()
    with pytest.raises(ArgumentError, match="add modules"):
        chain.bind([("data", (2, 3))])
    with pytest.raises(ArgumentError, match="take_labels"):
        chain.add(halves()[0], takes_labels=True)
    for _ in range(2):
        chain.add(halves()[0], auto_wiring=True)
    chain.bind([("data", (2, 3))])
    with pytest.raises(ParameterError, match="modules 0 and 1"):
        chain.init_params()
