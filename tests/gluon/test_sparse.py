"""Parameters and gradients that are stored in rows, and optimizers that skip rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import gluon, nd, optimizer
from minimx.core import autograd
from minimx.core.errors import OperatorError, ParameterError
from minimx.gluon import nn
from minimx.gluon.contrib.nn import SparseEmbedding

IDS = nd.array([1, 4, 1])


def trained(sparse: bool, name: str, **settings: Any) -> tuple[Any, Any]:
    """The table of an embedding after three steps, and the block."""
    mx.random.seed(1)
    block = nn.Embedding(6, 3, sparse_grad=sparse)
    block.initialize(mx.init.Uniform(1))
    trainer = gluon.Trainer(block.collect_params(), name, settings)
    for step in range(3):
        with autograd.record():
            loss = (block(IDS + step % 2) ** 2).sum()
        loss.backward()
        trainer.step(1)
    return block.weight.data().asnumpy(), block


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("sgd", {"learning_rate": 0.1}),
        ("sgd", {"learning_rate": 0.1, "momentum": 0.9, "lazy_update": False}),
        ("sgd", {"learning_rate": 0.1, "wd": 0.1, "lazy_update": False}),
        ("adam", {"learning_rate": 0.1, "lazy_update": False}),
        ("adagrad", {"learning_rate": 0.1}),
        ("groupadagrad", {"learning_rate": 0.1}),
        ("nag", {"learning_rate": 0.1, "momentum": 0.9}),
    ],
)
@pytest.mark.filterwarnings("ignore::minimx.nd.sparse.StorageFallback")
def test_a_sparse_gradient_trains_like_a_dense_one(name: str, settings: Any) -> None:
    sparse, block = trained(True, name, **settings)
    dense, _ = trained(False, name, **settings)
    np.testing.assert_allclose(sparse, dense, rtol=2e-6)
    assert block.weight.grad().stype == "row_sparse"
    assert block.weight.grad().indices.asnumpy().tolist() == [1, 4]


@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_lazy_updates_leave_other_rows_alone(name: str) -> None:
    before = nd.array(np.arange(1, 13).reshape(4, 3), dtype="float32")
    grad = nd.sparse.row_sparse_array((np.ones((1, 3), "f4"), [2]), shape=(4, 3))
    tuned = optimizer.create(name, learning_rate=0.1, wd=0.5)
    for stype in ("default", "row_sparse"):
        weight = before.tostype(stype)
        updater = optimizer.get_updater(tuned)
        updater(0, grad, weight)
        found = weight.asnumpy()
        assert weight.stype == stype
        np.testing.assert_array_equal(found[[0, 1, 3]], before.asnumpy()[[0, 1, 3]])
        assert (found[2] < before.asnumpy()[2]).all()


def test_states_are_stored_as_the_weight_is() -> None:
    weight = nd.ones((4, 3)).tostype("row_sparse")
    grad = nd.sparse.row_sparse_array((np.ones((1, 3), "f4"), [2]), shape=(4, 3))
    for name in ("adam", "ftrl", "adagrad"):
        updater = optimizer.get_updater(optimizer.create(name))
        updater(0, grad, weight)
        states = updater.states[0]
        for state in states if isinstance(states, tuple) else [states]:
            assert state.stype == "row_sparse"
            assert state.asnumpy()[0].tolist() == [0, 0, 0]
        again = optimizer.get_updater(optimizer.create(name))
        again.set_states(updater.get_states())
        first = again.states[0]
        first = first[0] if isinstance(first, tuple) else first
        assert first.stype == "row_sparse"


def test_a_weight_with_missing_rows_is_refused() -> None:
    weight = nd.sparse.row_sparse_array(([[1.0]], [1]), shape=(3, 1))
    nd.sgd_update(weight, weight, lr=0.1, out=weight)
    with pytest.raises(OperatorError, match="all its 3 rows"):
        weight.asnumpy()


def test_a_row_sparse_parameter_hands_out_rows() -> None:
    p = gluon.Parameter("w", shape=(5, 2), stype="row_sparse", grad_stype="row_sparse")
    p.initialize(mx.init.One(), ctx=[mx.cpu(0), mx.cpu(1)])
    wanted = nd.array([3, 1, 3], ctx=mx.cpu(1))
    with pytest.raises(ParameterError, match="Trainer"):
        p.row_sparse_data(wanted)
    with pytest.raises(ParameterError, match="row_sparse_data"):
        p.data(mx.cpu(0))
    gluon.Trainer([p], "sgd")
    rows = p.row_sparse_data(wanted)
    assert rows.context == mx.cpu(1)
    assert rows.indices.asnumpy().tolist() == [1, 3]
    assert len(p.list_row_sparse_data(wanted)) == 2
    p.reset_ctx([mx.cpu(0)])
    assert p.list_ctx() == [mx.cpu(0)]
    with pytest.raises(ParameterError, match="use data"):
        gluon.Parameter("d", shape=(2, 2)).row_sparse_data(wanted)


def test_a_large_table_is_trained_in_rows(tmp_path: Any) -> None:
    block = SparseEmbedding(1000, 4)
    block.initialize(mx.init.One())
    trainer = gluon.Trainer(block.collect_params(), "sgd", {"learning_rate": 1})
    with autograd.record():
        loss = block(nd.array([[3, 7], [3, 9]])).sum()
    loss.backward()
    grad = block.weight.grad()
    assert grad.indices.asnumpy().tolist() == [3, 7, 9]
    assert grad.data.asnumpy()[:, 0].tolist() == [2, 1, 1]
    trainer.step(1)
    found = block.weight.row_sparse_data(nd.array([3, 7, 8])).data.asnumpy()
    assert found[:, 0].tolist() == [-1, 0, 1]
    block.save_parameters(str(tmp_path / "table.params"))
    other = SparseEmbedding(1000, 4)
    other.load_parameters(str(tmp_path / "table.params"))
    gluon.Trainer(other.collect_params(), "sgd")
    again = other.weight.row_sparse_data(nd.array([3])).data.asnumpy()
    assert again[0].tolist() == [-1] * 4


@pytest.mark.parametrize("req", ["write", "add"])
def test_gradients_are_collected_and_cleared(req: str) -> None:
    block = nn.Embedding(6, 2, sparse_grad=True)
    block.initialize()
    block.weight.grad_req = req
    for _ in range(2):
        with autograd.record():
            loss = block(IDS).sum()
        loss.backward()
    times = 2 if req == "add" else 1
    grad = block.weight.grad()
    assert grad.data.asnumpy()[:, 0].tolist() == [2 * times, times]
    block.weight.zero_grad()
    assert len(grad.data) == 0


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(
    ("ids", "rows", "sums"),
    [([], [], []), ([3, 3, 1, 9, -2], [0, 1, 3, 5], [1, 1, 2, 1])],
)
def test_gradients_of_no_row_and_of_rows_beyond_the_table(
    ids: list[float], rows: list[int], sums: list[int], dtype: str
) -> None:
    weight = nd.ones((6, 2), dtype=dtype)
    weight.attach_grad(stype="row_sparse")
    with mx.util.np_shape(True), autograd.record():
        picked = nd.Embedding(nd.array(np.array(ids)), weight, 6, 2, sparse_grad=True)
    picked.backward()
    assert weight.grad.indices.asnumpy().tolist() == rows
    assert weight.grad.data.asnumpy().tolist() == [[n, n] for n in sums]


def test_gradients_of_several_devices_are_added_up() -> None:
    block = nn.Embedding(6, 2, sparse_grad=True)
    devices = [mx.cpu(0), mx.cpu(1)]
    block.initialize(mx.init.One(), ctx=devices)
    trainer = gluon.Trainer(block.collect_params(), "sgd", {"learning_rate": 1})
    with autograd.record():
        losses = [
            block(nd.array([k, 3], ctx=device)).sum()
            for k, device in enumerate(devices)
        ]
    autograd.backward(losses)
    trainer.step(1)
    for device in devices:
        assert block.weight.data(device).asnumpy()[:, 0].tolist() == [0, 0, 1, -1, 1, 1]
