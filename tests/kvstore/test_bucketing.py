"""Small gradients in one flat array: the same sums to the bit, in fewer copies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd
from minimx.core import engine
from minimx.core.knobs import knobs
from minimx.kvstore.bucketing import Gradient, in_buckets, pack, parts_of, unpack

DEVICES = 3


@pytest.fixture(autouse=True)
def _machine() -> Iterator[None]:
    with knobs(MINIMX_SIM_GPUS=DEVICES):
        yield


def gradient(key: int, shape: Any, dtype: str = "float32", count: int = 3) -> Gradient:
    rng = np.random.default_rng(key)
    values = [
        nd.array(rng.normal(size=shape), ctx=mx.gpu(i), dtype=dtype)
        for i in range(count)
    ]
    return Gradient(key, values, -key)


def keys(buckets: Sequence[Sequence[Gradient]]) -> list[list[int | str]]:
    return [[one.key for one in bucket] for bucket in buckets]


def test_small_gradients_of_one_kind_share() -> None:
    work = [
        gradient(0, (4,)),
        gradient(1, (100,)),  # too large
        gradient(2, (2,), "float16"),
        gradient(3, (2, 2)),
        gradient(4, (3,), count=1),  # nothing to sum
        gradient(5, (1,), "float16"),
        gradient(6, (1,), count=2),  # other devices
        gradient(7, (1,)),
    ]
    expected = [[0, 3], [1], [2, 5], [4], [6], [7]]
    assert keys(in_buckets(work, limit=32)) == expected
    assert keys(in_buckets(work, limit=1)) == [[k] for k in range(8)]


def test_packing() -> None:
    arrays = [nd.array([1, 2]), nd.array([[3], [4]]), nd.array([5])]
    flat = pack(arrays)
    assert flat.asnumpy().tolist() == [1, 2, 3, 4, 5]
    unpack(flat * 2, arrays)
    assert [one.asnumpy().tolist() for one in arrays] == [[2, 4], [[6], [8]], [10]]
    assert [one.shape for one in parts_of(flat, arrays)] == [(2,), (2, 1), (1,)]


SHAPES = [(7,), (3, 5), (1,), (40, 4), (2, 2, 2)]


def summed(kind: str, gpus: bool, **settings: Any) -> list[bytes]:
    """What is in gradients and in the store after two steps."""
    found = []
    with knobs(**settings):
        kv = mx.kv.create(kind)
        for key, shape in enumerate(SHAPES):
            kv.init(key, nd.zeros(shape))
        work = [gradient(key, shape) for key, shape in enumerate(SHAPES)]
        if not gpus:
            work = [
                one._replace(
                    values=[v.copyto(mx.cpu(i)) for i, v in enumerate(one.values)]
                )
                for one in work
            ]
        for _ in range(2):
            kv.pushpull_many(work)
        for key, shape in enumerate(SHAPES):
            kv.pull(key, out=(stored := nd.zeros(shape)))
            found.append(stored.asnumpy().tobytes())
        found += [v.asnumpy().tobytes() for one in work for v in one.values]
    return found


@pytest.mark.parametrize("kind", ["local", "device"])
@pytest.mark.parametrize("gpus", [False, True])
@pytest.mark.parametrize("tree", [{}, {"bound": 10_000}, {"bound": 100}])
def test_sums_are_the_same_to_the_bit(kind: str, gpus: bool, tree: Any) -> None:
    settings = {}
    if tree:
        settings["MXNET_KVSTORE_USETREE"] = 1
        settings["MXNET_KVSTORE_TREE_ARRAY_BOUND"] = tree["bound"]
    expected = summed(kind, gpus, **settings)
    for limit in (1, 1000):
        settings["MXNET_KVSTORE_REDUCE_BUCKET_SIZE"] = limit
        assert summed(kind, gpus, **settings) == expected


def layers(ctx: Any) -> Any:
    net = mx.gluon.nn.Sequential()
    for _ in range(4):
        net.add(mx.gluon.nn.Dense(3, in_units=3))
    net.initialize(mx.init.Xavier(rnd_type="gaussian"), ctx=ctx)
    return net


def trained(limit: int, store: str = "device") -> tuple[list[str], list[bytes]]:
    """The names of the copies in a step, and the weights after three."""
    mx.random.seed(3)
    places = [mx.gpu(i) for i in range(DEVICES)]
    net = layers(places)
    trainer = mx.gluon.Trainer(
        net.collect_params(), "sgd", {"momentum": 0.9}, store, update_on_kvstore=False
    )
    with knobs(MXNET_KVSTORE_REDUCE_BUCKET_SIZE=limit):
        for step in range(3):
            with mx.autograd.record():
                losses = [
                    (net(nd.full((2, 3), step + at.device_id, ctx=at)) ** 2).sum()
                    for at in places
                ]
            mx.autograd.backward(losses)
            nd.waitall()
            with mx.Record() as record:
                trainer.step(6)
                nd.waitall()
    names = [
        name for name in record.texts(record.ops()["name"]) if name.startswith("Copy")
    ]
    weights = [
        value.asnumpy().tobytes()
        for one in net.collect_params().values()
        for value in one.list_data()
    ]
    return names, weights


@pytest.mark.parametrize(("store", "copies"), [("device", 4), ("local", 6)])
def test_a_trainer_sends_fewer_copies(store: str, copies: int) -> None:
    each, expected = trained(0, store)
    together, weights = trained(1, store)
    assert (len(each), len(together)) == (8 * copies, copies)
    assert weights == expected


def test_a_module_sends_fewer_copies() -> None:
    def updated(limit: int) -> tuple[int, list[list[float]]]:
        net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="one")
        net = mx.sym.FullyConnected(net, num_hidden=2, name="two")
        mod = mx.mod.Module(
            mx.sym.SoftmaxOutput(net, name="softmax"),
            context=[mx.gpu(0), mx.gpu(1)],
        )
        mod.bind([("data", (4, 3))], [("softmax_label", (4,))])
        mod.init_params(mx.init.One())
        with knobs(MXNET_UPDATE_ON_KVSTORE=0, MXNET_KVSTORE_REDUCE_BUCKET_SIZE=limit):
            mod.init_optimizer(kvstore="device")
            batch = mx.io.DataBatch([nd.ones((4, 3))], [nd.array([0, 1, 1, 1])])
            mod.forward_backward(batch)
            nd.waitall()
            with mx.Record() as record:
                mod.update()
                nd.waitall()
        names = record.texts(record.ops()["name"])
        params, _ = mod.get_params()
        return (
            names.count("CopyGPU2GPU"),
            [params[name].asnumpy().tolist() for name in sorted(params)],
        )

    each, expected = updated(0)
    together, found = updated(2048)
    assert (each, together) == (8, 2)
    assert found == expected


def test_a_bucket_is_as_urgent_as_its_most_urgent_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = []
    urgent = engine.urgent

    def spy(priority: int) -> Any:
        seen.append(priority)
        return urgent(priority)

    kv = mx.kv.create("device")
    work = [gradient(key, (2,)) for key in (3, 1, 2)]
    kv.init([3, 1, 2], [nd.zeros(2)] * 3)
    monkeypatch.setattr(engine, "urgent", spy)
    with knobs(MXNET_KVSTORE_REDUCE_BUCKET_SIZE=1):
        kv.pushpull_many(work)
    assert seen == [-1]


def test_keys_go_one_by_one_where_sums_are_not_all_that_is_kept() -> None:
    work = [gradient(key, (2,)) for key in range(2)]
    kv = mx.kv.create("device")
    kv.init([0, 1], [nd.ones(2), nd.ones(2)])
    kv.set_updater(lambda key, total, stored: stored.__iadd__(key))
    with knobs(MXNET_KVSTORE_REDUCE_BUCKET_SIZE=1):
        kv.pushpull_many(work)
    assert [one.values[0].asnumpy().tolist() for one in work] == [[1, 1], [2, 2]]


def test_an_updater_goes_on_from_what_a_bucket_left() -> None:
    work = [gradient(key, (2,)) for key in range(2)]
    kv = mx.kv.create("device")
    kv.init([0, 1], [nd.zeros(2), nd.zeros(2)])
    with knobs(MXNET_KVSTORE_REDUCE_BUCKET_SIZE=1):
        kv.pushpull_many(work)
    sums = [one.values[0].asnumpy() for one in work]
    kv.set_updater(lambda key, total, stored: stored.__iadd__(1))
    kv.push(0, nd.zeros(2))
    for key, more in ((0, 1), (1, 0)):
        kv.pull(key, out=(found := nd.zeros(2)))
        np.testing.assert_array_equal(found.asnumpy(), sums[key] + np.float32(more))
