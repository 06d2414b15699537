"""The store within one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd
from minimx.core.errors import ArgumentError, DataError, DTypeError, ShapeError
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx.kvstore.choice import choose

KINDS = ["local", "device", "local_allreduce_cpu", "local_allreduce_device"]
DEVICES = [mx.gpu(0), mx.cpu(1), mx.cpu(0)]


def numbers(array: Any) -> Any:
    return array.asnumpy().tolist()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("key", [3, "w"])
def test_values_are_summed_over_devices_and_handed_out(kind: str, key: Any) -> None:
    kv = mx.kv.create(kind)
    assert (kv.type, kv.rank, kv.num_workers) == (kind, 0, 1)
    outs = [nd.zeros(2, ctx=ctx) for ctx in DEVICES]
    kv.init(key, nd.array([5, 6]))
    kv.pull(key, out=outs)
    assert [numbers(out) for out in outs] == [[5.0, 6.0]] * 3
    values = [nd.full(2, 10**i, ctx=ctx) for i, ctx in enumerate(DEVICES)]
    kv.push(key, values)
    kv.pull(key, out=outs[1])
    assert numbers(outs[1]) == [111.0, 111.0]
    kv.pushpull(key, values)
    assert [numbers(value) for value in values] == [[111.0, 111.0]] * 3


def test_records_say_which_key_went_over_which_link() -> None:
    kv = mx.kv.create("local")
    kv.init([2, 3], [nd.zeros(8), nd.zeros(4)])
    values = [[nd.ones(n, ctx=mx.gpu(0)), nd.ones(n)] for n in (8, 4)]
    nd.waitall()
    with Record() as record:
        kv.push([2, 3], values)
        kv.pull(3, out=values[1])
        nd.ones(2).as_in_context(mx.gpu(0))
        nd.waitall()
    found = [
        (*(record.strings[row[name]] for name in ("src", "dst", "key")), row["nbytes"])
        for row in record.comm()
    ]
    assert sorted(found) == [
        ("gpu(0)", "host", "2", 32),
        ("gpu(0)", "host", "3", 16),
        ("host", "gpu(0)", "", 8),
        ("host", "gpu(0)", "3", 16),
    ]


def test_what_is_stored_is_nobodys_array() -> None:
    kv = mx.kv.create()
    mine, out = nd.ones(2), nd.zeros(2)
    kv.init(0, mine)
    mine[:] = 7
    kv.pull(0, out)
    assert numbers(out) == [1.0, 1.0]
    kv.push(0, mine)
    mine[:] = 8
    kv.pull(0, out)
    out[:] = 9
    kv.pull(0, out)
    assert numbers(out) == [7.0, 7.0]


def test_a_repeated_key_collects_its_values() -> None:
    kv = mx.kv.create()
    kv.init([1, 2], [nd.zeros(1), nd.zeros(1)])
    kv.push([1, 2, 1], [nd.ones(1), [nd.ones(1)] * 2, nd.ones(1) * 4])
    outs = [nd.zeros(1), nd.zeros(1)]
    kv.pull([1, 2], outs)
    assert [numbers(out) for out in outs] == [[5.0], [2.0]]


def test_large_keys_live_apart() -> None:
    kv = mx.kv.KVStore("device")
    sizes = {"a": 6, "b": 4, "c": 3}
    for key, size in sizes.items():
        kv.init(key, nd.zeros(size))
    for key, size in sizes.items():
        kv.push(key, [nd.ones(size, ctx=ctx) for ctx in DEVICES[:2]])
    assert kv._homes == {"a": mx.gpu(0), "b": mx.cpu(1), "c": mx.cpu(1)}
    assert kv._stored["b"].context is mx.cpu(1)


def test_an_updater_changes_what_is_stored() -> None:
    kv = mx.kv.create("device")
    seen = []

    def add(key: Any, total: Any, stored: Any) -> None:
        seen.append(key)
        stored += 10 * total

    kv._set_updater(add)
    kv.init("w", nd.ones(2))
    kv.push("w", [nd.ones(2, ctx=ctx) for ctx in DEVICES])
    kv.push("w", nd.ones(2))
    out = nd.zeros(2)
    kv.pull("w", out)
    assert numbers(out) == [41.0, 41.0]
    assert seen == ["w", "w"]


def test_an_optimizer_in_the_store_goes_on_from_its_file(tmp_path: Path) -> None:
    def trained(kv: Any, steps: int) -> Any:
        for _ in range(steps):
            kv.push(0, [nd.ones(2, ctx=ctx) for ctx in DEVICES[:2]])
        kv.pull(0, out=(out := nd.zeros(2)))
        return out.asnumpy()

    def fresh(weight: Any) -> Any:
        kv = mx.kv.create("device")
        assert kv.is_capable("optimizer")
        kv.set_optimizer(mx.optimizer.SGD(learning_rate=0.1, momentum=0.9))
        kv.init(0, weight)
        return kv

    one = fresh(nd.zeros(2))
    middle = trained(one, 2)
    one.save_optimizer_states(tmp_path / "x", dump_optimizer=True)
    other = fresh(nd.array(middle))
    other.load_optimizer_states(tmp_path / "x")
    np.testing.assert_array_equal(trained(one, 1), trained(other, 1))
    assert trained(fresh(nd.array(middle)), 1)[0] != trained(one, 0)[0]
    with pytest.raises(DataError, match="nope"):
        one.load_optimizer_states(tmp_path / "nope")
    with pytest.raises(ArgumentError, match="set_optimizer first"):
        mx.kv.create().save_optimizer_states(tmp_path / "x")


def test_rows() -> None:
    kv = mx.kv.create("device")
    table = nd.array(np.arange(8).reshape(4, 2)).tostype("row_sparse")
    kv.init("t", table)
    outs = [nd.sparse.zeros("row_sparse", (4, 2), ctx=ctx) for ctx in DEVICES[:2]]
    kv.row_sparse_pull("t", outs, row_ids=nd.array([3, 1, 3]))
    for out in outs:
        assert numbers(out.indices) == [1, 3]
        assert numbers(out.data) == [[2.0, 3.0], [6.0, 7.0]]
    kv.row_sparse_pull("t", outs, row_ids=[nd.array([0]), nd.array([2])])
    assert [numbers(out.indices) for out in outs] == [[0], [2]]
    kv.pull("t", outs)  # leaves sparse arrays alone
    assert [numbers(out.indices) for out in outs] == [[0], [2]]
    kv.push("t", outs)
    kv.pull("t", outs, ignore_sparse=False)
    assert numbers(outs[1]) == [[0, 1], [0, 0], [4, 5], [0, 0]]
    with pytest.raises(ArgumentError, match="Use pull"):
        kv.row_sparse_pull("t", nd.zeros((4, 2)), row_ids=nd.array([1]))


@pytest.mark.parametrize(
    ("use", "error", "words"),
    [
        (lambda kv: kv.init("w", nd.ones(2)), ArgumentError, "all int or all str"),
        (lambda kv: kv.init(1, nd.ones(2)), ArgumentError, "begun twice"),
        (lambda kv: kv.init([2, 2], [nd.ones(2)] * 2), ArgumentError, "begun twice"),
        (lambda kv: kv.init(1.5, nd.ones(2)), ArgumentError, "an int or a str"),
        (lambda kv: kv.push(2, nd.ones(2)), ArgumentError, r"init\(2, value\)"),
        (lambda kv: kv.push(1, np.ones(2)), ArgumentError, "must be an NDArray"),
        (lambda kv: kv.push([1], [[nd.ones(2)], []]), ArgumentError, "1 keys"),
        (lambda kv: kv.push([1, 2], [nd.ones(2)] * 2), ArgumentError, "no value for 2"),
        (lambda kv: kv.push(1, [nd.ones(2), nd.ones(3)]), ShapeError, r"\(3,\)"),
        (lambda kv: kv.push(1, nd.ones(2, dtype="float16")), DTypeError, "float16"),
        (lambda kv: kv.pull(1, nd.ones((2, 1))), ShapeError, r"\(2, 1\)"),
        (lambda kv: kv.set_optimizer("sgd"), ArgumentError, "takes an Optimizer"),
        (lambda kv: kv.is_capable("flying"), ArgumentError, "'flying'"),
        (lambda kv: kv.set_gradient_compression({}), ArgumentError, "'2bit' or '1bit'"),
    ],
)
def test_wrong_use_is_explained_and_changes_nothing(
    use: Any, error: Any, words: str
) -> None:
    kv = mx.kv.create("device")
    kv.init(1, nd.ones(2))
    with pytest.raises(error, match=words):
        use(kv)
    kv.pull(1, out=(out := nd.zeros(2)))
    assert numbers(out) == [1.0, 1.0]


@pytest.mark.parametrize("kind", ["local", "device"])
def test_values_are_pulled_in_the_dtype_of_what_they_fill(kind: str) -> None:
    kv = mx.kv.create(kind)
    kv.init("w", nd.array([1.5, 2.5], dtype="float16"))
    kv.pull("w", out=(out := nd.zeros(2, dtype="float64")))
    assert (numbers(out), out.dtype) == ([1.5, 2.5], np.float64)
    table = nd.ones((3, 2), dtype="float16").tostype("row_sparse")
    kv.init("t", table)
    part = nd.sparse.zeros("row_sparse", (3, 2))
    kv.row_sparse_pull("t", part, row_ids=nd.array([2]))
    assert numbers(part) == [[0, 0], [0, 0], [1, 1]]
    kv.row_sparse_pull("t", part, row_ids=nd.array([]))
    assert numbers(part.indices) == []


def test_trees_carry_no_value_in_a_narrower_dtype_than_its_own() -> None:
    value = 1 + 2**-12
    with knobs(MINIMX_SIM_GPUS=3, MXNET_KVSTORE_USETREE=1):
        kv = mx.kv.create("device")
        kv.init("w", nd.ones(4) * value)
        dtypes = ("float16", "float32", "float64")
        outs = [nd.zeros(4, mx.gpu(k), dtype=d) for k, d in enumerate(dtypes)]
        kv.pull("w", out=outs)
        assert [numbers(out)[0] for out in outs] == [1.0, value, value]
        parts = [nd.ones(4, mx.gpu(k)) * value for k in range(3)]
        kv.pushpull("w", parts, out=outs)
        assert [numbers(out)[0] for out in outs] == [3.0, 3 * value, 3 * value]
        nd.waitall()
        del kv, outs, parts


def test_names_of_stores() -> None:
    with pytest.raises(ArgumentError, match="Did you mean device"):
        mx.kv.create("devise")
    with pytest.raises(ArgumentError, match="Did you mean dist_async"):
        mx.kv.create("dist_asinc")
    with pytest.raises(TypeError, match="by its name"):
        mx.kv.create(3)  # type: ignore[arg-type]


def test_where_the_optimizer_runs() -> None:
    assert choose(None, 2, 1) == (None, None)
    assert choose("device", 1, 1) == (None, None)
    assert choose("device", 2, 1)[1] is True
    assert choose("device", 2, 1, False)[1] is False
    assert choose("local", 2, 10**8)[1] is False
    with knobs(MXNET_UPDATE_ON_KVSTORE=0):
        assert choose("device", 2, 1)[1] is False
        assert choose("device", 2, 1, True)[1] is True
    assert choose("device", 2, 1, sparse_gradients=True)[1] is False
    assert choose("device", 1, 1, sparse_weights=True)[1] is True
    ranks = mx.kv.create("dist_sync")
    assert choose(ranks, 1, 1, sparse_gradients=True)[1] is True
    with pytest.raises(ValueError, match="leave update_on_kvstore away"):
        choose(ranks, 1, 1, False, sparse_gradients=True)
    custom = mx.kv.create("teststore")
    assert choose(custom, 1, 1) == (custom, False)
    for settings, words in (
        ({"wanted": True}, "runs no optimizer"),
        ({"sparse_gradients": True}, "cannot sum sparse"),
        ({"sparse_weights": True}, "runs no optimizer"),
    ):
        with pytest.raises(ValueError, match=words):
            choose(custom, 2, 1, **settings)
    with pytest.raises(ValueError, match="updated in the store"):
        choose("device", 2, 1, False, sparse_weights=True)
    with pytest.raises(TypeError, match="live in a store"):
        choose(None, 2, 1, sparse_weights=True)
    with pytest.raises(TypeError, match="not a int"):
        choose(3, 2, 1)
