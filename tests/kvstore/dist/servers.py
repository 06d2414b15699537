"""Values on servers, seen from the workers. servers.py STORE [FOLDER]

Sums and updates with exact numbers, all dtypes, parts over several servers, sparse
rows, packed gradients, optimizer states, records, profiles of servers, lost messages.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import minimx as mx
from minimx import autograd, gluon, nd
from minimx.kvstore.dist.job import job

LARGE = 1000  # elements; more than MXNET_KVSTORE_BIGARRAY_BOUND in the test


def same(array: Any, expected: Any) -> None:
    np.testing.assert_array_equal(
        array.asnumpy(), np.broadcast_to(np.asarray(expected, array.dtype), array.shape)
    )


def pulled(kv: Any, key: Any, shape: Any, dtype: str = "float32") -> Any:
    kv.pull(key, out=(out := nd.zeros(shape, dtype=dtype)))
    return out


def together(kv: Any) -> None:
    """Wait until all workers' requests are answered."""
    nd.waitall()
    kv.barrier()


def sums(kv: Any) -> None:
    """The sum of what all workers push is stored, unless an optimizer takes it."""
    n = kv.num_workers
    for dtype in ("float32", "float16", "float64", "int32"):
        for name, shape in (("small", (2, 3)), ("large", (LARGE, 2))):
            key = f"{name}-{dtype}"
            kv.init(key, nd.ones(shape, dtype=dtype) * (kv.rank + 3))
            same(pulled(kv, key, shape, dtype), 3)  # rank 0's
            for turn in range(3):
                kv.push(key, nd.ones(shape, dtype=dtype) * (kv.rank + turn))
                same(pulled(kv, key, shape, dtype), n * (n - 1) / 2 + n * turn)
    parts = [nd.ones((4,), ctx=mx.cpu(k)) for k in range(2)]
    kv.init("devices", nd.zeros((4,)))
    kv.pushpull("devices", parts)
    same(parts[1], 2 * n)


def updates(kv: Any) -> None:
    """One update of each sum, or of each push: with plain SGD it comes to the same."""
    kv.init(["a", "b"], [nd.zeros((2, 3)), nd.zeros((LARGE,))])
    kv.init("half", nd.ones((3,), dtype="float16"))
    settings = {"learning_rate": 1.0, "multi_precision": True}
    optimizer = mx.optimizer.create("sgd", **settings)
    kv.set_optimizer(optimizer)
    for _ in range(3):
        kv.push(["a", "b"], [nd.ones((2, 3)), nd.ones((LARGE,))])
    kv.push("half", nd.ones((3,), dtype="float16") / 4096)
    together(kv)
    same(pulled(kv, "a", (2, 3)), -3 * kv.num_workers)
    same(pulled(kv, "b", (LARGE,)), -3 * kv.num_workers)
    same(pulled(kv, "half", (3,), "float16"), 1 - kv.num_workers / 4096)
    together(kv)
    optimizer.lr = 0.5  # rank 0 lets the servers know
    if kv.rank == 0 or "_async" not in kv.type:
        kv.push("a", nd.ones((2, 3)))
    together(kv)
    pushed = 1 if "_async" in kv.type else kv.num_workers
    same(pulled(kv, "a", (2, 3)), -3 * kv.num_workers - 0.5 * pushed)


def states(store: str, folder: Path) -> None:
    """What the servers remember can be saved, and goes on where it was."""
    kv = mx.kv.create(store)
    kv.init("w", nd.zeros((LARGE, 2)))
    kv.set_optimizer(mx.optimizer.create("sgd", learning_rate=1.0, momentum=0.5))
    for _ in range(2):
        if kv.rank == 0 or "_async" not in store:
            kv.pushpull("w", nd.ones((LARGE, 2)), out=nd.zeros((LARGE, 2)))
        together(kv)
    file = str(folder / f"states-{kv.rank}")
    kv.save_optimizer_states(file, dump_optimizer=True)
    saved = mx.optimizer.get_updater(mx.optimizer.create("sgd", momentum=0.5))
    saved.set_states(Path(file).read_bytes())
    pushed = 1 if "_async" in store else kv.num_workers
    same(saved.states["w"], -1.5 * pushed)  # whole, however many servers there are
    together(kv)
    kv.load_optimizer_states(file)
    together(kv)
    if kv.rank == 0 or "_async" not in store:
        kv.push("w", nd.ones((LARGE, 2)))
    together(kv)
    same(pulled(kv, "w", (LARGE, 2)), -(1 + 1.5 + 1.75) * pushed)


def rows(store: str) -> None:
    """Rows of a sparse array: small on one server, large on all."""
    for count in (4, LARGE):
        kv = mx.kv.create(store)
        whole = nd.ones((count, 2)).tostype("row_sparse")
        kv.init("rows", whole)
        kv.set_optimizer(mx.optimizer.create("sgd", learning_rate=1.0))
        gradient = nd.zeros((count, 2))
        gradient[kv.rank] = 1
        gradient[count - 1] = 1
        kv.push("rows", gradient.tostype("row_sparse"))
        together(kv)
        out = nd.zeros((count, 2)).tostype("row_sparse")
        wanted = nd.array([count - 1, 0, 0])
        kv.row_sparse_pull("rows", out=out, row_ids=wanted)
        assert out.indices.asnumpy().tolist() == [0, count - 1]
        same(out.data, [[0.0], [1.0 - kv.num_workers]])
        kv.row_sparse_pull("rows", out=out, row_ids=nd.array([]))
        same(out, 0)


def packed(store: str) -> None:
    """Gradients go in two bits, and what is lost is added to the next."""
    kv = mx.kv.create(store)
    kv.set_gradient_compression({"type": "2bit", "threshold": 0.5})
    shape = (LARGE + 1,)
    kv.init("w", nd.zeros(shape))
    kv.set_optimizer(mx.optimizer.create("sgd", learning_rate=-1.0))
    found = []
    with mx.Record() as record:
        for _ in range(3):
            kv.push("w", nd.ones(shape) * 0.3)
            together(kv)
            found.append(pulled(kv, "w", shape).asnumpy()[-1] / kv.num_workers)
            together(kv)
    assert found == [0.0, 0.5, 0.5]
    sent = record.comm()
    mine = np.array(record.texts(sent["src"])) == f"rank {kv.rank}"
    at_server = np.char.startswith(record.texts(sent["dst"]), "server")
    words = 4 * -(-shape[0] // 16)
    servers = len(job().roles.servers)
    assert (
        words * 3 <= sent["nbytes"][mine & at_server].sum() <= (words + 4 * servers) * 3
    )


def trained(store: str) -> None:
    """A Trainer leaves the update to the servers."""
    weight = gluon.Parameter("w", shape=(3, 2))
    weight.initialize(init="ones")
    trainer = gluon.Trainer([weight], "sgd", {"learning_rate": 0.25}, kvstore=store)
    with autograd.record():
        loss = (weight.data() * (job().rank + 1)).sum()
    loss.backward()
    trainer.step(1)
    together(trainer._kvstore)
    n = job().size
    same(pulled(trainer._kvstore, 0, (3, 2)), 1 - 0.25 * n * (n + 1) / 2)
    if "_async" in store:
        other = gluon.Trainer([gluon.Parameter("x", shape=(1,))], "sgd", kvstore=store,
                              update_on_kvstore=False)  # fmt: skip
        other._params[0].initialize()
        try:
            other._init_kvstore()
        except ValueError as error:
            assert "with each push" in str(error)
        else:
            raise AssertionError("update_on_kvstore=False was accepted")


def recorded(kv: Any) -> None:
    kv.init("seen", nd.zeros((10,)))
    with mx.Record() as record:
        kv.pull("seen", out=(out := nd.zeros((10,))))
        out.wait_to_read()
    rows = record.comm()
    mine = [
        k for k, dst in enumerate(record.texts(rows["dst"])) if dst == f"rank {kv.rank}"
    ]
    assert [record.texts(rows["key"])[k] for k in mine] == ["seen"]
    assert record.texts(rows["src"])[mine[0]].startswith("server ")
    assert rows["nbytes"][mine[0]] == 40
    assert rows["t1"][mine[0]] > rows["t0"][mine[0]]


def mistakes(kv: Any) -> None:
    """Errors are raised where they are made, and the store works afterwards."""
    wrong: list[tuple[Callable[[], object], type[Exception]]] = [
        (lambda: kv.push("unknown", nd.ones((1,))), ValueError),
        (lambda: kv.push("seen", nd.ones((3,))), ValueError),
        (lambda: kv.set_updater(print), mx.MXNetError),
        (lambda: kv.set_optimizer("sgd"), ValueError),
    ]
    for push, kind in wrong:
        try:
            push()
        except kind:
            continue
        raise AssertionError("no error")


def profiled(folder: Path) -> None:
    """Only processes that serve alone have profiles of their own."""
    profiler, file = mx.profiler, str(folder / "profile.json")
    kv = mx.kv.create("dist_sync")
    profiler.set_config(profile_all=True, filename=file, profile_process="server")
    profiler.set_state("run", profile_process="server")
    kv.init("profiled", nd.zeros((4,)))
    kv.set_optimizer(mx.optimizer.create("sgd"))
    kv.pushpull("profiled", nd.ones((4,)))
    together(kv)
    profiler.set_state("stop", profile_process="server")
    profiler.dump(profile_process="server")
    together(kv)
    for server in range(len(job().roles.servers)):
        assert "traceEvents" in (folder / f"rank{server}_profile.json").read_text()


def main(store: str, folder: str) -> None:
    kv = mx.kv.create(store)
    assert kv.type == store
    if "_async" not in store:
        sums(mx.kv.create(store))
    recorded(kv)
    mistakes(kv)
    updates(kv)
    states(store, Path(folder))
    rows(store)
    packed(store)
    trained(store)
    if job().roles.dedicated:
        profiled(Path(folder))
    if mx.knobs.PS_DROP_MSG:
        counts = job().serve().post.counts
        assert counts.resent > 0
        assert counts.lost > 0
    sys.stdout.write(f"rank {kv.rank} of {kv.num_workers}: servers are right\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
