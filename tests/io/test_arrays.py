"""`NDArrayIter`: which examples stand in which batch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd
from minimx.core.errors import ArgumentError, DTypeError, Unavailable
from minimx.io import DataBatch, DataDesc, DataIter, NDArrayIter

Rows = list[list[float]]


def seen(batches: Iterable[DataBatch]) -> Rows:
    return [batch.data[0].asnumpy().tolist() for batch in batches if batch.data]


def test_the_last_batch_is_filled_from_the_beginning() -> None:
    it = NDArrayIter(np.arange(5), batch_size=2)
    pads = [batch.pad for batch in it]
    it.reset()
    assert seen(it) == [[0, 1], [2, 3], [4, 0]]
    assert pads == [0, 0, 1]
    assert seen(it) == []  # until reset
    assert seen(NDArrayIter(np.arange(2), batch_size=5)) == [[0, 1, 0, 1, 0]]


def test_the_last_batch_is_dropped() -> None:
    it = NDArrayIter(np.arange(5), batch_size=2, last_batch_handle="discard")
    for _ in range(2):
        assert seen(it) == [[0, 1], [2, 3]]
        it.reset()


def test_the_last_batch_begins_the_next_epoch() -> None:
    it = NDArrayIter(np.arange(5), batch_size=2, last_batch_handle="roll_over")
    assert seen(it) == [[0, 1], [2, 3]]
    it.reset()
    first = it.next()
    assert first.pad == 1
    assert seen([first, *it]) == [[4, 0], [1, 2], [3, 4]]
    it.reset()
    assert seen(it) == [[0, 1], [2, 3]]
    it.hard_reset()
    assert seen(it) == [[0, 1], [2, 3]]


def test_few_examples_roll_over_until_they_fill_a_batch() -> None:
    it = NDArrayIter(np.arange(2), batch_size=5, last_batch_handle="roll_over")
    epochs = []
    for _ in range(3):
        epochs.append(seen(it))
        it.reset()
    assert epochs == [[], [], [[0, 1, 0, 1, 0]]]


@pytest.mark.parametrize("handle", ["pad", "discard", "roll_over"])
def test_shuffling_keeps_data_and_labels_together(handle: str) -> None:
    x = np.arange(20)
    it = NDArrayIter({"b": x, "a": x * 2}, x * 3, 4, True, handle)
    orders = []
    for _ in range(2):
        order: list[float] = []
        for batch in it:
            assert batch.data and batch.label
            a, b, label = (y.asnumpy() for y in (*batch.data, *batch.label))
            assert (a == 2 * b).all() and (label == 3 * b).all()
            order += b.tolist()
        assert sorted(order) == x.tolist()
        assert order == it.idx.tolist()
        orders.append(order)
        it.reset()
    assert orders[0] != orders[1]


def test_what_batches_look_like_is_known_before_they_come() -> None:
    x = nd.zeros((4, 6, 3), dtype="float16")
    it = NDArrayIter([x, x], {"y": x}, 2, layout="TNC")
    assert it.provide_data == [("_0_data", (4, 2, 3)), ("_1_data", (4, 2, 3))]
    (label,) = it.provide_label
    assert (label.name, label.shape, label.dtype, label.layout) == (
        "y", (4, 2, 3), np.float16, "TNC",
    )  # fmt: skip
    batch = next(it)
    assert batch.data and batch.label
    assert [y.shape for y in (*batch.data, *batch.label)] == [(4, 2, 3)] * 3
    assert str(batch) == (
        "DataBatch: data shapes: [(4, 2, 3), (4, 2, 3)] label shapes: [(4, 2, 3)]"
    )
    assert len(list(it)) == 2


def test_arrays_of_numpys_flavour_stay_so() -> None:
    for shuffle in (False, True):
        batch = next(NDArrayIter(mx.np.arange(4), batch_size=2, shuffle=shuffle))
        assert batch.data
        assert isinstance(batch.data[0], mx.np.ndarray)


def test_sparse_rows_stay_sparse() -> None:
    dense = np.diag([1.0, 2, 3, 4, 5])
    csr = nd.array(dense).tostype("csr")
    for shuffle in (False, True):
        it = NDArrayIter(csr, dense, 2, shuffle, "discard")
        for batch in it:
            assert batch.data and batch.label
            assert batch.data[0].stype == "csr"
            np.testing.assert_array_equal(
                batch.data[0].asnumpy(), batch.label[0].asnumpy()
            )
    with pytest.raises(Unavailable, match="discard"):
        NDArrayIter(csr, batch_size=2)


@pytest.mark.parametrize(
    ("error", "said", "given"),
    [
        (ArgumentError, "no data", {"data": []}),
        (ArgumentError, "no data", {"data": None}),
        (DTypeError, "data cannot be used", {"data": "text"}),
        (ArgumentError, "fewer: {'data': 3, 'softmax_label': 2}",
         {"data": np.ones(3), "label": np.ones(2)}),
        (ArgumentError, "roll_over", {"data": np.ones(3), "last_batch_handle": "keep"}),
        (ArgumentError, "must have an N", {"data": np.ones(3), "layout": "TC"}),
        (ArgumentError, "at least 1", {"data": np.ones(3), "batch_size": 0}),
    ],
)  # fmt: skip
def test_what_cannot_be_iterated_over(error: Any, said: str, given: Any) -> None:
    with pytest.raises(error, match=said):
        NDArrayIter(**given)


def test_there_is_no_batch_before_the_first_and_after_the_last() -> None:
    it = NDArrayIter(np.ones(1))
    with pytest.raises(ArgumentError, match="no batch here"):
        it.getdata()
    assert it.iter_next() and not it.iter_next()
    with pytest.raises(ArgumentError, match="no batch here"):
        it.getlabel() if it.label else it.getdata()


def test_an_iterator_of_ones_own() -> None:
    class Counting(DataIter):
        at = 0

        def reset(self) -> None:
            self.at = 0

        def iter_next(self) -> bool:
            self.at += 1
            return self.at <= 3

        def getdata(self) -> list[nd.NDArray]:
            return [nd.full((self.batch_size,), self.at)]

    it = Counting(1)
    assert seen(it) == [[1], [2], [3]]
    it.reset()
    assert it.next().label is None


def test_a_description_of_an_array() -> None:
    assert DataDesc.get_batch_axis(None) == 0
    assert DataDesc.get_batch_axis("CHW") == -1
    types = [("a", "int8"), ("b", "f")]
    a, b = DataDesc.get_list([("a", (2,)), ("b", (3,))], types)
    assert (a.dtype, b.dtype) == ("int8", "f")
    (plain,) = DataDesc.get_list([("a", (2,))], None)
    assert repr(plain) == "DataDesc[a,(2,),<class 'numpy.float32'>,NCHW]"
    with pytest.raises(ArgumentError, match=r"\[label\]"):
        DataBatch([], nd.ones(2))  # type: ignore[arg-type]


@pytest.mark.parametrize("stype", ["default", "csr"])
def test_a_batch_is_a_copy(stype: str) -> None:
    x = mx.nd.ones((4, 2)).tostype(stype)
    feed = mx.io.NDArrayIter(x, batch_size=2, last_batch_handle="discard")
    batch: Any = next(feed).data
    (batch[0] if stype == "default" else batch[0].data)[:] = 7
    assert x.asnumpy().sum() == 8
