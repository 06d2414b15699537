from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as onp
import pytest

import minimx as mx
from minimx import gluon, np, npx
from minimx.core import autograd
from minimx.gluon import nn


@pytest.fixture(autouse=True)
def numpy_flavour() -> Iterator[None]:
    npx.set_np()
    yield
    npx.reset_np()


def test_operators_are_found_by_their_small_names() -> None:
    x = np.array([[-1.0, 2.0]])
    assert npx.relu(x).tolist() == [[0, 2]]
    assert npx.softmax(np.ones((1, 2))).tolist() == [[0.5, 0.5]]
    assert npx.one_hot(np.array(1), 3).tolist() == [0, 1, 0]
    full = npx.fully_connected(x, np.ones((3, 2)), no_bias=True, num_hidden=3)
    assert type(full) is np.ndarray
    assert full.tolist() == [[1, 1, 1]]
    assert npx.pick(np.array([3.0, 4.0]), np.array(1), axis=0).shape == ()
    assert npx.reshape(np.ones((2, 3, 4)), (-2, -5)).shape == (2, 12)
    with pytest.raises(AttributeError, match="softmax"):
        npx.sofmax  # noqa: B018


def test_softmax_of_what_a_mask_lets_through() -> None:
    data, mask = np.ones((2, 3)), np.array([[1, 1, 0], [1, 0, 0]])
    assert npx.masked_softmax(data, mask).tolist() == [[0.5, 0.5, 0], [1, 0, 0]]
    assert npx.masked_log_softmax(data, mask)[1].tolist() == [0, -np.inf, -np.inf]


def test_values_are_put_at_places() -> None:
    a = np.ones((3, 2))
    twice = np.array([[0, 0]])
    assert npx.index_add(a, twice, np.array([1, 2])).tolist()[0] == [3, 5]
    assert npx.index_update(a, np.array([[2]]), 7).tolist() == [[1, 1], [1, 1], [7, 7]]


def test_files_keep_arrays_without_axes(tmp_path: Path) -> None:
    path = tmp_path / "some.params"
    npx.save(path, {"one": np.array(3.0), "none": np.zeros((0, 2))})
    found = npx.load(path)
    assert found["one"].shape == ()
    assert found["none"].shape == (0, 2)
    npx.savez(tmp_path / "some.npz", np.ones(2), named=np.zeros(1, dtype="int32"))
    again = npx.load(tmp_path / "some.npz")
    assert sorted(again) == ["arr_0", "named"]
    assert again["named"].dtype == "int32"


def test_switches_hold_for_blocks_functions_and_classes() -> None:
    npx.reset_np()
    assert mx.nd.sum(mx.nd.ones((2, 2))).shape == (1,)
    with mx.np_shape():
        assert mx.nd.ones((2, 2))[0, 0].shape == mx.nd.zeros(()).shape == ()
        assert mx.is_np_shape()
        assert not mx.is_np_array()

    @mx.util.use_np
    class Spoken:
        def __init__(self) -> None:
            self.array = mx.is_np_array()

        @property
        def shape(self) -> bool:
            return mx.is_np_shape()

    assert Spoken().array
    assert Spoken().shape
    assert not mx.is_np_array()
    with pytest.raises(ValueError, match="shape=True"):
        npx.set_np(shape=False, array=True)


class Scaled(nn.HybridBlock):
    def __init__(self, units: int) -> None:
        super().__init__()
        self.units = units
        self.weight = self.params.get(
            "weight", shape=(units, 0), allow_deferred_init=True
        )

    def hybrid_forward(self, F, x, weight):  # type: ignore[no-untyped-def]
        hidden = F.npx.fully_connected(x, weight, no_bias=True, num_hidden=self.units)
        return F.np.tanh(hidden) * F.np.sum(weight)


@pytest.mark.parametrize("workers", [0, 2])
def test_gluon_speaks_numpy(workers: int) -> None:
    np.random.seed(1)
    data = onp.random.default_rng(0).normal(size=(8, 3)).astype("float32")
    dataset = gluon.data.ArrayDataset(np.array(data), np.array(data.sum(1)))
    net = nn.HybridSequential()
    net.add(Scaled(4), nn.BatchNorm(), nn.Dense(1))
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
    loss = gluon.loss.L2Loss()
    seen = []
    for _ in range(3):
        for x, y in gluon.data.DataLoader(dataset, 4, num_workers=workers):
            assert type(x) is type(y) is np.ndarray
            with autograd.record():
                wrong = loss(net(x), y)
            wrong.backward()
            trainer.step(4)
            seen.append(wrong.mean())
    assert all(type(one) is np.ndarray and one.shape == () for one in seen)
    assert float(seen[-1]) < float(seen[0])
    for parameter in net.collect_params().values():
        assert type(parameter.data()) is np.ndarray


def test_open_lengths_are_minus_one_where_arrays_may_be_empty() -> None:
    layer = nn.Dense(3)
    assert layer.weight.shape == (3, -1)
    assert str(layer) == "Dense(-1 -> 3, linear)"
    with npx.np_shape(False):
        assert layer.weight.shape == (3, 0)


def test_weights_of_samples_may_be_of_another_type() -> None:
    wrong = np.ones((2, 2), dtype="float64")
    weights = np.array([[1.0], [0.5]])
    assert gluon.loss.L1Loss()(wrong, wrong * 0, weights).tolist() == [1, 0.5]
