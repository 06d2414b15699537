"""The store `nccl` on simulated GPUs: a ring, several keys in a call."""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import gluon, nd
from minimx.core.drivers import backend_of
from minimx.core.errors import ArgumentError, DeviceError, ShapeError, Unavailable
from minimx.core.knobs import knobs
from minimx.cuda import nccl as real
from minimx.kvstore import nccl as store

SHAPES: dict[Any, tuple[int, ...]] = {0: (3,), 1: (10, 5), 2: (1,), 3: (2, 500)}


@pytest.fixture(autouse=True)
def _machine() -> Iterator[None]:
    with knobs(MINIMX_SIM_GPUS=4, MINIMX_SIM_LINKS="mesh"):
        yield
        nd.waitall()


def given(count: int = 4, dtype: str = "float32") -> dict[Any, list[Any]]:
    rng = np.random.default_rng(0)
    return {
        key: [
            nd.array(rng.integers(-9, 9, shape), ctx=mx.gpu(i), dtype=dtype)
            for i in range(count)
        ]
        for key, shape in SHAPES.items()
    }


def begun() -> Any:
    kv = mx.kv.create("NCCL")
    assert (kv.type, kv.is_capable("optimizer")) == ("nccl", True)
    assert repr(kv) == "<KVStore nccl simulated>"
    kv.init(list(SHAPES), [nd.zeros(shape) for shape in SHAPES.values()])
    return kv


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("keys_at_once", [1, 3, 16])
def test_it_sums_what_all_gpus_have(count: int, keys_at_once: int) -> None:
    kv, values = begun(), given(count)
    expected = {k: sum(x.asnumpy() for x in many) for k, many in values.items()}
    with knobs(MXNET_UPDATE_AGGREGATION_SIZE=keys_at_once):
        kv.push(list(values), list(values.values()))
        outs = {k: [nd.zeros_like(x) for x in many] for k, many in values.items()}
        kv.pull(list(outs), list(outs.values()))
        for key, total in expected.items():
            kv.pull(key, elsewhere := nd.zeros(total.shape, dtype="float64"))
            for array in (*outs[key], elsewhere):
                np.testing.assert_array_equal(array.asnumpy(), total)
        kv.pushpull_many(
            [mx.kvstore.bucketing.Gradient(k, many, -k) for k, many in values.items()]
        )
    for key, total in expected.items():
        for array in values[key]:
            np.testing.assert_array_equal(array.asnumpy(), total)


def test_an_updater_gets_each_sum() -> None:
    kv, values = begun(), given()
    kv.set_optimizer(mx.optimizer.SGD(learning_rate=1.0, momentum=0.5))
    other = mx.kv.create("device")
    other.set_optimizer(mx.optimizer.SGD(learning_rate=1.0, momentum=0.5))
    other.init(list(SHAPES), [nd.zeros(shape) for shape in SHAPES.values()])
    outs = {k: [nd.zeros_like(x) for x in many] for k, many in values.items()}
    also = {k: [nd.zeros_like(x) for x in many] for k, many in values.items()}
    for _ in range(3):
        kv.pushpull(list(values), list(values.values()), out=list(outs.values()))
        other.pushpull(list(values), list(values.values()), out=list(also.values()))
    for key in SHAPES:
        for mine, theirs in zip(outs[key], also[key], strict=True):
            np.testing.assert_array_equal(mine.asnumpy(), theirs.asnumpy())


def test_calls_may_change_while_an_optimizer_has_states() -> None:
    """Momentum stays on the GPU where a key was updated first, in whatever call."""
    kv, gradients = begun(), given()
    kv.set_optimizer(mx.optimizer.create("sgd", learning_rate=1.0, momentum=0.5))
    for at_once in (16, 1, 3):
        with knobs(MXNET_UPDATE_AGGREGATION_SIZE=at_once):
            kv.push(list(SHAPES), list(gradients.values()))
    # Steps of 1, 1.5 and 1.75 sums.
    for key, values in gradients.items():
        kv.pull(key, out := [nd.empty(SHAPES[key], ctx=mx.gpu(i)) for i in range(4)])
        total = sum(value.asnumpy() for value in values)
        for each in out:
            np.testing.assert_allclose(each.asnumpy(), -4.25 * total)


def sent(use: Any) -> tuple[int, Counter[tuple[str, str]]]:
    """How many calls, and the bytes over each link."""
    with mx.Record() as record:
        use()
        nd.waitall()
    rows, load = record.comm(), Counter[tuple[str, str]]()
    ends = (record.texts(rows["src"]), record.texts(rows["dst"]))
    for source, target, nbytes in zip(*ends, rows["nbytes"], strict=True):
        load[source, target] += int(nbytes)
    return record.texts(record.ops()["name"]).count("KVStorePack") // 4, load


def test_keys_travel_together_and_each_link_carries_its_share() -> None:
    kv = mx.kv.create("nccl")
    keys = list(range(20))
    kv.init(keys, [nd.zeros((100,))] * 20)
    values = [[nd.ones((100,), ctx=mx.gpu(i)) for i in range(4)] for _ in keys]
    nd.waitall()
    calls, load = sent(lambda: kv.push(keys, values))
    assert calls == 2  # of 16 keys and of 4
    around = {load[f"gpu({k})", f"gpu({(k + 1) % 4})"] for k in range(4)}
    assert min(around) == 20 * 400 * 3 // 4  # 3 of 4 pieces; some also go to the home
    with knobs(MXNET_UPDATE_AGGREGATION_SIZE=7):
        assert sent(lambda: kv.push(keys, values))[0] == 3
    with knobs(MXNET_KVSTORE_REDUCE_BUCKET_SIZE=1):
        assert sent(lambda: kv.push(keys, values))[0] == 10  # two keys in a KiB


@pytest.mark.parametrize(
    ("use", "error", "words"),
    [
        (lambda kv: kv.push(0, nd.ones(3)), DeviceError, r"on cpu\(0\).*on GPUs"),
        (
            lambda kv: kv.push(0, [nd.ones(3, ctx=mx.gpu())] * 2),
            DeviceError,
            "two values on one GPU",
        ),
        (
            lambda kv: kv.init(9, nd.sparse.zeros("row_sparse", (2, 2))),
            ArgumentError,
            "dense arrays",
        ),
        (
            lambda kv: kv.push(0, nd.ones((1,), ctx=mx.gpu())),
            ShapeError,
            r"\(1,\) was given",
        ),
        (lambda kv: kv.push(7, nd.ones(3, ctx=mx.gpu())), ArgumentError, "no value"),
        (
            lambda kv: kv.set_gradient_compression({"type": "2bit"}),
            ArgumentError,
            "compresses nothing",
        ),
    ],
)
def test_wrong_use_is_explained(use: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        use(begun())


class Library:
    """NCCL's calls as they are documented, on NumPy arrays; an address is a name."""

    NCCL_SUM, NCCL_FLOAT32, NCCL_FLOAT64 = 0, 7, 8
    available = True

    def __init__(self) -> None:
        self.memory: dict[int, Any] = {}
        self.group: list[tuple[Any, ...]] = []
        self.calls: list[tuple[str, int]] = []  # with the number of elements

        class NcclCommunicator:
            @staticmethod
            def initAll(devices: list[int]) -> list[Any]:
                return [Communicator(self, rank) for rank in range(len(devices))]

        self.NcclCommunicator = NcclCommunicator

    def address(self, array: Any) -> int:
        numbers = array.view()
        return self.memory.setdefault(numbers.ctypes.data, numbers).ctypes.data  # type: ignore[no-any-return]

    def groupStart(self) -> None:
        assert not self.group

    def groupEnd(self) -> None:
        calls, self.group = sorted(self.group), []
        what, count, kind, root = {call[1:5] for call in calls}.pop()
        assert [call[0] for call in calls] == list(range(len(calls)))
        assert len({call[1:5] for call in calls}) == 1
        assert [call[7] for call in calls] == [70 + call[0] for call in calls]
        sent = [self.memory[call[5]] for call in calls]
        came = [self.memory[call[6]] for call in calls]
        assert {x.size for x in sent} == {count}
        assert {x.dtype.name for x in sent} == {{7: "float32", 8: "float64"}[kind]}
        if what == "reduce":
            came[root][...] = sum(sent)
        else:
            for one in came:
                one[...] = sent[root]
        self.calls.append((what, count))
        self.memory.clear()


class Communicator:
    """Of one device; its calls wait for the end of the group."""

    def __init__(self, library: Library, rank: int) -> None:
        self.library, self.rank = library, rank

    def reduce(
        self,
        sent: int,
        came: int,
        count: int,
        kind: int,
        op: int,
        root: int,
        stream: int,
    ) -> None:
        assert op == Library.NCCL_SUM
        call = (self.rank, "reduce", count, kind, root, sent, came, stream)
        self.library.group.append(call)

    def broadcast(
        self, sent: int, came: int, count: int, kind: int, root: int, stream: int
    ) -> None:
        call = (self.rank, "broadcast", count, kind, root, sent, came, stream)
        self.library.group.append(call)


def test_on_cuda_devices_nccl_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """On simulated GPUs, with a library in NCCL's place."""
    library = Library()
    monkeypatch.setattr(real, "library", lambda: library)
    monkeypatch.setattr(real, "_address", library.address)
    monkeypatch.setattr(real, "working", lambda at: nullcontext(70 + at.device_id))
    monkeypatch.setattr(store, "backend_of", lambda at: "cuda")
    real._communicators.cache_clear()
    kv = mx.kv.create("nccl")
    assert repr(kv) == "<KVStore nccl on CUDA devices>"
    kv.init(list(SHAPES), [nd.zeros(shape) for shape in SHAPES.values()])
    values = given()
    expected = {k: sum(x.asnumpy() for x in many) for k, many in values.items()}
    outs = {k: [nd.zeros_like(x) for x in many] for k, many in values.items()}
    kv.pushpull(list(values), list(values.values()), out=list(outs.values()))
    for key, total in expected.items():
        for out in outs[key]:
            np.testing.assert_array_equal(out.asnumpy(), total)
    assert library.calls == [("reduce", 1054), ("broadcast", 1054)]
    real._communicators.cache_clear()


@pytest.mark.cuda
def test_two_cuda_devices() -> None:
    if mx.context.num_gpus() < 2 or backend_of(mx.gpu(0)) != "cuda":
        pytest.skip("needs two CUDA devices")
    kv = mx.kv.create("nccl")
    kv.init(0, nd.zeros(5))
    values = [nd.ones(5, ctx=mx.gpu(k)) * (k + 1) for k in range(2)]
    kv.pushpull(0, values)
    assert [value.asnumpy().tolist() for value in values] == [[3.0] * 5] * 2


def test_without_cupy_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    real.library.cache_clear()
    with pytest.raises(Unavailable, match=r"pip install 'minimx\[nccl\]'"):
        real.library()


def test_sparse_parameters_are_refused() -> None:
    table = gluon.Parameter("table", shape=(4, 2), grad_stype="row_sparse")
    table.initialize(ctx=[mx.gpu(0), mx.gpu(1)])
    trainer = gluon.Trainer([table], "sgd", kvstore="nccl")
    with mx.autograd.record():
        losses = [nd.Embedding(nd.array([1], ctx=w.context), w, input_dim=4,
                               output_dim=2, sparse_grad=True).sum()
                  for w in table.list_data()]  # fmt: skip
    mx.autograd.backward(losses)
    with pytest.raises(ArgumentError, match="adds dense arrays only"):
        trainer.step(1)
