"""Plans on arrays: the same sums over trees as in one place, and fewer bytes a link."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd
from minimx.core.knobs import knobs
from minimx.kvstore import sums
from minimx.kvstore.execution import broadcast, gathered, reduce
from minimx.kvstore.planners import ring

DEVICES = 8


@pytest.fixture(autouse=True)
def _machine() -> Iterator[None]:
    """Eight simulated GPUs, joined as in a DGX-1."""
    with knobs(MINIMX_SIM_GPUS=DEVICES, MINIMX_SIM_LINKS="mesh"):
        yield


def values(shape: tuple[int, ...], count: int = DEVICES) -> list[Any]:
    rng = np.random.default_rng(0)
    return [
        nd.array(rng.integers(-9, 9, shape), ctx=mx.gpu(i), dtype="float32")
        for i in range(count)
    ]


TREES = [
    {},
    {"MXNET_KVSTORE_TREE_ARRAY_BOUND": 8},
    {"MXNET_KVSTORE_TREE_BACKTRACK": 1},
    {"MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY": 0.1},
]


@pytest.mark.parametrize("settings", TREES, ids=str)
@pytest.mark.parametrize("shape", [(3,), (16, 5), (37, 2)])
@pytest.mark.parametrize("count", [2, 3, 8])
def test_a_tree_sums_what_a_flat_sum_does(
    settings: dict[str, Any], shape: tuple[int, ...], count: int
) -> None:
    with knobs(MXNET_KVSTORE_USETREE=1, **settings):
        kv = mx.kv.create("device")
        kv.init("w", nd.zeros(shape))
        given = values(shape, count)
        expected = sum(value.asnumpy() for value in given)
        outs = [nd.zeros(shape, ctx=value.context) for value in given]
        kv.push("w", given)
        kv.pull("w", outs)
        elsewhere = nd.zeros(shape)
        kv.pull("w", elsewhere)
        kv.pull("w", outs[::-1])
        kv.pushpull("w", given)
    for array in (*outs, elsewhere, *given):
        np.testing.assert_array_equal(array.asnumpy(), expected)


def test_a_store_is_right_whenever_the_knob_is_turned() -> None:
    kv = mx.kv.create("device")
    kv.set_optimizer(mx.optimizer.SGD(learning_rate=1.0, momentum=0.5))
    other = mx.kv.create("device")
    other.set_optimizer(mx.optimizer.SGD(learning_rate=1.0, momentum=0.5))
    for store in (kv, other):
        store.init(0, nd.zeros((32, 4)))
        store.init(1, nd.zeros((2,)))
    for step in range(4):
        for key, shape in enumerate([(32, 4), (2,)]):
            with knobs(
                MXNET_KVSTORE_USETREE=step % 2, MXNET_KVSTORE_TREE_ARRAY_BOUND=9
            ):
                kv.push(key, values(shape))
            other.push(key, values(shape))
            outs = [nd.zeros(shape), nd.zeros(shape)]
            kv.pull(key, outs[0])
            other.pull(key, outs[1])
            np.testing.assert_array_equal(outs[0].asnumpy(), outs[1].asnumpy())


def load(record: Any) -> Counter[str]:
    """The bytes that came into each device from another one."""
    found: Counter[str] = Counter()
    rows = record.comm()
    ends = map(record.texts, (rows["src"], rows["dst"]))
    for source, target, nbytes in zip(*ends, rows["nbytes"], strict=True):
        found[target] += int(nbytes) if source != target else 0
    return found


def test_trees_take_the_load_from_the_busiest_device() -> None:
    def busiest(**settings: Any) -> int:
        with knobs(**settings):
            kv = mx.kv.create("device")
            kv.init(0, nd.zeros((64, 100)))
            given = values((64, 100))
            kv.pushpull(0, given)  # trees are planned here
            nd.waitall()
            with mx.Record() as record:
                kv.pushpull(0, given)
                nd.waitall()
        return max(load(record).values())

    flat = busiest()
    tree = busiest(MXNET_KVSTORE_USETREE=1)
    sliced = busiest(MXNET_KVSTORE_USETREE=1, MXNET_KVSTORE_TREE_ARRAY_BOUND=100)
    assert flat == 7 * 25_600
    assert sliced < tree < flat


def test_a_ring_as_well() -> None:
    given = values((37, 2))
    plan = ring.on_ring(range(DEVICES), rows=37)
    pieces = reduce(plan, given)
    whole = gathered(pieces, mx.cpu())
    outs = [nd.zeros((37, 2), ctx=value.context) for value in given]
    broadcast(plan, pieces, outs)
    expected = sum(value.asnumpy() for value in given)
    for array in (whole, *outs):
        np.testing.assert_array_equal(array.asnumpy(), expected)


@pytest.mark.parametrize("count", range(2, 19))
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
def test_the_host_adds_in_the_order_of_mxnet(count: int, dtype: str) -> None:
    rng = np.random.default_rng(count)
    arrays = [(100 * rng.normal(size=9000)).astype(dtype) for _ in range(count)]
    expected = arrays[0].copy()
    for start in range(1, count, 4):
        more = arrays[start].copy()
        for array in arrays[start + 1 : start + 4]:
            more = more + array
        expected = expected + more
    for threads in (1, 2):
        out = np.empty(9000, dtype)
        sums.add(arrays, out, threads)
        np.testing.assert_array_equal(out, expected)


def test_the_links_are_logged(capsys: pytest.CaptureFixture[str]) -> None:
    with knobs(MXNET_KVSTORE_USETREE=1, MXNET_KVSTORE_LOGTREE=1):
        kv = mx.kv.create("device")
        kv.init(0, nd.zeros(4))
        kv.pushpull(0, values((4,), 4))
    printed = capsys.readouterr().out
    assert printed.startswith("Tree 0:\n       0\n   0       1\n 0   3   1   2\n")
    assert "W:\n  0   2   2   3\n" in printed
    assert "Links:\n  0   2   1   2\n" in printed


def test_the_host_reads_its_own_memory_without_copies() -> None:
    given = [nd.ones(5, ctx=mx.cpu(i)) for i in range(3)]
    kv = mx.kv.create("local")
    kv.init("w", nd.zeros(5))
    nd.waitall()
    with mx.Record() as record:
        kv.push("w", given)
        nd.waitall()
    assert record.texts(record.ops()["name"]) == ["KVStoreReduce"]
    given[1][:] = 7  # the sum was taken before
    kv.pull("w", out=given)
    assert [one.asnumpy().tolist() for one in given] == [[3.0] * 5] * 3
