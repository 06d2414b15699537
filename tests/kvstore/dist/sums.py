"""Sums over ranks: MXNet's nightly dist_sync_kvstore.py, with small arrays."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import minimx as mx
from minimx import gluon, nd

RATE = 2.0
REPEAT = 3
SHAPES = {"small": (3, 4), "large": (300, 40), "one": (1,)}


def same(array: Any, expected: float) -> None:
    np.testing.assert_array_equal(array.asnumpy(), np.full(array.shape, expected))


def stored_sums(kv: Any) -> None:
    for dtype in ("float32", "float64", "float16", "int32"):
        kv.init([f"{key}-{dtype}" for key in SHAPES], [
            nd.ones(shape, dtype=dtype) * (kv.rank + 1) for shape in SHAPES.values()
        ])  # fmt: skip
        for key, shape in SHAPES.items():
            out = nd.zeros(shape, dtype=dtype)
            kv.pull(f"{key}-{dtype}", out=out)
            same(out, 1)  # rank 0's
            for number in range(REPEAT):
                value = nd.ones(shape, dtype=dtype) * (kv.rank + 1 + number)
                kv.push(f"{key}-{dtype}", value)
                kv.pull(f"{key}-{dtype}", out=out)
                ranks = kv.num_workers
                same(out, ranks * (ranks + 1) / 2 + number * ranks)


def several_devices(kv: Any) -> None:
    shape = (4, 5)
    kv.init("devices", nd.zeros(shape))
    parts = [nd.ones(shape, ctx=mx.cpu(k)) * (kv.rank + 1) for k in range(2)]
    outs = [nd.zeros(shape, ctx=mx.cpu(k)) for k in range(2)]
    kv.pushpull("devices", parts, out=outs)
    for out in outs:
        same(out, kv.num_workers * (kv.num_workers + 1))
    same(parts[0], kv.rank + 1)


def updates(kv: Any) -> None:
    kv._set_updater(lambda key, grad, weight: weight.__iadd__(grad * RATE))
    kv.init("weight", nd.ones((50, 4)))
    for number in range(REPEAT):
        kv.push("weight", nd.ones((50, 4)) * (kv.rank + 1))
        kv.pull("weight", out=(out := nd.zeros((50, 4))))
        ranks = kv.num_workers
        same(out, 1 + (number + 1) * RATE * ranks * (ranks + 1) / 2)


def rows(kv: Any) -> None:
    """Ranks store different rows of a table; row 0 of it is everybody's."""
    ranks, shape = kv.num_workers, (40, 3)
    for dtype in ("float32", "float16"):
        key = f"rows-{dtype}"
        table = np.arange(120).reshape(shape) % 7 * (kv.rank + 1)
        kv.init(key, nd.array(table, dtype=dtype).tostype("row_sparse"))
        whole = nd.sparse.zeros("row_sparse", shape, dtype=dtype)
        kv.pull(key, whole, ignore_sparse=False)
        np.testing.assert_array_equal(
            whole.asnumpy(), np.arange(120).reshape(shape) % 7
        )
        for number in range(REPEAT):
            mine = [0, *range(kv.rank + 1, 10 * (kv.rank + 1), kv.rank + 1)]
            given = nd.zeros(shape, dtype=dtype)
            given[mine] = kv.rank + 1 + number
            devices = [given.as_in_context(mx.cpu(k)) for k in range(2)]
            kv.push(key, [one.tostype("row_sparse") for one in devices])
            expected = np.zeros(shape)
            for rank in range(ranks):
                theirs = [0, *range(rank + 1, 10 * (rank + 1), rank + 1)]
                expected[theirs] += 2 * (rank + 1 + number)
            asked = nd.array([0, 9, 39, 0])
            part = nd.sparse.zeros("row_sparse", shape)  # whatever the key's dtype
            kv.row_sparse_pull(key, part, row_ids=asked)
            kv.pull(key, whole, ignore_sparse=False)
            np.testing.assert_array_equal(whole.asnumpy(), expected)
            np.testing.assert_array_equal(part.data.asnumpy(), expected[[0, 9, 39]])
    kv.push(key, nd.sparse.zeros("row_sparse", shape, dtype=dtype))  # of no rank
    kv.pull(key, whole, ignore_sparse=False)
    same(whole, 0)


def compressed(name: str) -> None:
    """What each rank sends is packed, with its own residual; the rest is whole."""
    for kind in ("2bit", "1bit"):
        kv = mx.kv.create(name)
        kv.set_gradient_compression({"type": kind, "threshold": 0.5})
        kv._set_updater(lambda key, grad, weight: weight.__iadd__(grad))
        kv.init("c", nd.ones((70, 3)) * 0.3)
        expected = 0.3
        residual = np.zeros(kv.num_workers)
        for _ in range(4):
            given = np.array([0.3 + 0.01 * rank for rank in range(kv.num_workers)])
            parts = [nd.ones((70, 3), ctx=mx.cpu(k)) * given[kv.rank] for k in range(2)]
            kv.push("c", [0.5 * part for part in parts])
            residual += given
            if kind == "2bit":
                out = np.where(residual >= 0.5, 0.5, 0)
            else:
                out = np.where(residual > 0.5, 1, -1)
            residual -= out
            expected += out.sum()
            kv.pull("c", out=(found := nd.zeros((70, 3))))
            np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-6)
        assert residual.any()


def sparse_training(kv: Any) -> None:
    """Ranks look up different rows of a table; it is dense, or lives in the store."""
    for stype in ("default", "row_sparse"):
        table = gluon.Parameter(
            f"{stype}-table", shape=(8, 2), stype=stype, grad_stype="row_sparse"
        )
        table.initialize(mx.init.Constant(kv.rank + 1))
        store = mx.kv.create(kv.type)
        trainer = gluon.Trainer([table], "sgd", {"learning_rate": 1.0}, kvstore=store)
        everything = nd.arange(8)
        for _ in range(2):
            wanted = nd.array([kv.rank, 7])
            with mx.autograd.record():
                weight = (
                    table.data()
                    if stype == "default"
                    else table.row_sparse_data(wanted)
                )
                found = nd.Embedding(
                    wanted, weight, input_dim=8, output_dim=2, sparse_grad=True
                )
            found.backward()
            trainer.step(1)
            assert trainer._update_on_kvstore
        expected = np.ones((8, 2))
        expected[: kv.num_workers] -= 2
        expected[7] -= 2 * kv.num_workers
        now = table.data() if stype == "default" else table.row_sparse_data(everything)
        np.testing.assert_array_equal(now.asnumpy(), expected)


def first_step(kv: Any) -> None:
    """Weights become rank 0's in the first step, after the first gradient."""
    weight = gluon.Parameter("first", shape=(3,))
    weight.initialize(mx.init.Constant(kv.rank + 1))
    trainer = gluon.Trainer(
        [weight], "sgd", {"learning_rate": 1.0}, kvstore=mx.kv.create(kv.type)
    )
    with mx.autograd.record():
        loss = weight.data() ** 2
    loss.backward()
    trainer.step(1)
    same(weight.data(), 1 - kv.num_workers * (kv.num_workers + 1))
    try:
        weight.set_data(nd.ones((3,)))
    except RuntimeError as error:
        assert "weights of all ranks" in str(error)
    else:
        raise AssertionError("a rank set weights alone")


def priorities_and_order(kv: Any) -> None:
    """Many keys at once, each ready at another time on each rank."""
    many = 30
    for key in range(many):
        kv.init(f"p{key}", nd.zeros((1000,)))
    outs = [nd.zeros((1000,)) for _ in range(many)]
    for number in range(REPEAT):
        values = [nd.ones((1000,)) * key for key in range(many)]
        for key in range(many):
            if key % kv.num_workers == kv.rank:
                slow = nd.random.uniform(shape=(200, 200))
                values[key] = values[key] + 0 * nd.dot(slow, slow).sum()
        for key in range(many):
            kv.pushpull(f"p{key}", values[key] + number, out=outs[key], priority=-key)
    nd.waitall()
    for key in range(many):
        same(outs[key], kv.num_workers * (key + REPEAT - 1))


def recorded(kv: Any) -> None:
    with mx.Record() as record:
        kv.init("seen", nd.zeros((10,)))
        kv.push("seen", nd.ones((10,)))
        nd.waitall()
    rows = record.comm()
    assert record.texts(rows["key"]) == ["seen"] * 2
    assert record.texts(rows["src"]) == [f"rank {kv.rank}"] * 2
    assert record.texts(rows["dst"]) == [f"{kv.num_workers} ranks"] * 2
    assert rows["nbytes"].tolist() == [40] * 2


def horovod(kv: Any) -> None:
    kv.broadcast("h", nd.ones((3,)) * (kv.rank + 5), out=(out := nd.zeros((3,))))
    same(out, 5)
    parts = [nd.ones((3,), ctx=mx.cpu(k)) * (kv.rank + 1) for k in range(2)]
    kv.pushpull("h", parts)
    for part in parts:
        same(part, kv.num_workers * (kv.num_workers + 1))
    kv.pushpull("h", nd.ones((3,)), out=out, priority=3)
    same(out, kv.num_workers)


def main(name: str) -> None:
    kv = mx.kv.create(name)
    assert kv.type == name
    stored_sums(kv)
    several_devices(kv)
    priorities_and_order(kv)
    recorded(kv)
    kv.barrier()
    updates(kv)
    rows(mx.kv.create(name))
    compressed(name)
    sparse_training(kv)
    first_step(kv)
    horovod(mx.kv.create("horovod"))
    sys.stdout.write(f"rank {kv.rank} of {kv.num_workers}: sums are right\n")


if __name__ == "__main__":
    main(sys.argv[1])
