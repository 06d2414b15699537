"""The knobs of the kvstore move what they say: threads, trees, bytes on each device."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import minimx as mx
from minimx import nd
from minimx.core.knobs import knobs
from minimx.kvstore import sums, topology
from minimx.kvstore.dist import job
from minimx.kvstore.dist.start import JobError
from minimx.kvstore.planners.trees import link_use
from tests.core.knobs.proofs import defaults, proves, turned

__all__ = ["defaults"]  # pytest finds the fixture here


@proves("MXNET_KVSTORE_REDUCTION_NTHREADS", "MXNET_KVSTORE_BIGARRAY_BOUND")
def test_threads_add_large_arrays_on_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    add = sums.add

    def spy(arrays: Any, out: Any, most: int) -> None:
        seen.append(most)
        add(arrays, out, most)

    monkeypatch.setattr(sums, "add", spy)

    def observe() -> list[int]:
        seen.clear()
        kv = mx.kv.create("local")
        kv.init(0, nd.zeros(1_000_000))
        kv.init(1, nd.zeros(999_999))
        for key, size in enumerate((1_000_000, 999_999)):
            kv.push(key, [nd.ones(size, ctx=mx.cpu(i)) for i in range(3)])
            nd.waitall()
        return list(seen)

    assert turned(observe, MXNET_KVSTORE_REDUCTION_NTHREADS=2) == ([4, 1], [2, 1])
    assert turned(observe, MXNET_KVSTORE_BIGARRAY_BOUND=999_999) == ([4, 1], [4, 4])


def added_up() -> mx.Record:
    """A record of eight GPUs that add up a gradient."""
    kv = mx.kv.create("device")
    kv.init(0, nd.zeros((64, 4)))
    gradients = [nd.ones((64, 4), ctx=mx.gpu(i)) for i in range(8)]
    nd.waitall()
    with mx.Record() as record:
        kv.pushpull(0, gradients)
        nd.waitall()
    assert gradients[3].asnumpy().tolist() == [[8.0] * 4] * 64
    return record


def busiest() -> int:
    """The most bytes that come into one of the GPUs."""
    with knobs(MINIMX_SIM_GPUS=8, MINIMX_SIM_LINKS="mesh"):
        record = added_up()
    load: Counter[str] = Counter()
    rows = record.comm()
    ends = map(record.texts, (rows["src"], rows["dst"]))
    for source, target, nbytes in zip(*ends, rows["nbytes"], strict=True):
        load[target] += int(nbytes) if source != target else 0
    return max(load.values())


@proves("MXNET_KVSTORE_USETREE")
def test_trees_relieve_the_busiest_gpu() -> None:
    assert turned(busiest, MXNET_KVSTORE_USETREE=1) == (7 * 1024, 3 * 1024)


@proves("MXNET_KVSTORE_TREE_ARRAY_BOUND")
def test_a_large_array_takes_all_trees() -> None:
    with knobs(MXNET_KVSTORE_USETREE=1):
        whole, cut = turned(busiest, MXNET_KVSTORE_TREE_ARRAY_BOUND=255)
        assert (whole, cut) == (3 * 1024, 2 * 1024)
        assert turned(busiest, MXNET_KVSTORE_TREE_ARRAY_BOUND=256) == (whole, whole)


def trees() -> tuple[Any, ...]:
    with knobs(MINIMX_SIM_LINKS="mesh"):
        return topology.trees_for([mx.gpu(i) for i in range(8)])


@proves("MXNET_KVSTORE_TREE_BACKTRACK")
def test_the_search_finds_other_trees() -> None:
    halved, searched = turned(trees, MXNET_KVSTORE_TREE_BACKTRACK=1)
    assert str(halved[0]) == "0 / 0 4 / 0 2 4 6 / 0 3 2 1 4 7 6 5"
    assert str(searched[0]) == "0 / 0 1 / 0 4 1 5 / 0 3 4 7 1 2 5 6"


@proves("MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY")
def test_the_penalty_spreads_trees_over_links() -> None:
    def crowd() -> int:
        return max(link_use(trees()).values())

    assert turned(crowd, MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY=1.0) == (5, 8)
    assert turned(crowd, MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY=0.1) == (5, 4)


@proves("MXNET_KVSTORE_LOGTREE")
def test_trees_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    def printed() -> str:
        trees()
        return capsys.readouterr().out

    before, during = turned(printed, MXNET_KVSTORE_LOGTREE=1)
    assert before == ""
    assert during.count("Tree ") == 8
    assert "Links:\n  0   3   4   4   2   0   0   0\n" in during


@proves("DMLC_ROLE")
def test_a_role_that_is_no_worker_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "_job", None)
    with knobs(DMLC_ROLE="server"), pytest.raises(JobError, match="is server"):
        mx.kv.create("dist_sync")
    assert mx.kv.create("dist_sync").rank == 0


@proves("DMLC_NUM_WORKER")
def test_a_job_of_another_number_of_workers_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(job, "_job", None)
    with knobs(DMLC_NUM_WORKER=2), pytest.raises(JobError, match="is 2, but"):
        mx.kv.create("dist_sync")
    assert mx.kv.create("dist_sync").num_workers == 1


@proves("MXNET_KVSTORE_REDUCE_BUCKET_SIZE")
def test_small_gradients_share_messages() -> None:
    def copies() -> int:
        places = [mx.gpu(i) for i in range(2)]
        net = mx.gluon.nn.Dense(128, in_units=2)
        net.initialize(ctx=places)
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd", update_on_kvstore=False)
        with mx.autograd.record():
            losses = [net(nd.ones((1, 2), ctx=at)).sum() for at in places]
        mx.autograd.backward(losses)
        nd.waitall()
        with mx.Record() as record:
            trainer.step(1)
            nd.waitall()
        return record.texts(record.ops()["name"]).count("CopyGPU2GPU")

    # A weight of 1 KiB and a bias of half of that; each goes there and comes back.
    with knobs(MINIMX_SIM_GPUS=2):
        assert turned(copies, MXNET_KVSTORE_REDUCE_BUCKET_SIZE=2048) == (4, 2)
        assert turned(copies, MXNET_KVSTORE_REDUCE_BUCKET_SIZE=1) == (4, 4)
