"""Iterators over iterators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minimx.core.errors import ArgumentError
from minimx.io import (
    DataBatch,
    DataDesc,
    DataIter,
    NDArrayIter,
    PrefetchingIter,
    ResizeIter,
)


def numbers(count: int = 5, batch_size: int = 2, **settings: Any) -> NDArrayIter:
    return NDArrayIter(np.arange(count), np.arange(count), batch_size, **settings)


def seen(it: Any) -> list[Any]:
    found = [batch.data[0].asnumpy().tolist() for batch in it]
    it.reset()
    return found


def test_another_number_of_batches() -> None:
    longer = ResizeIter(numbers(), 4)
    assert seen(longer) == seen(longer) == [[0, 1], [2, 3], [4, 0], [0, 1]]
    shorter = ResizeIter(numbers(), 2, reset_internal=False)
    assert (seen(shorter), seen(shorter)) == ([[0, 1], [2, 3]], [[4, 0], [0, 1]])
    assert shorter.provide_data == numbers().provide_data
    assert shorter.iter_next()
    assert (shorter.getpad(), shorter.getindex()) == (0, None)
    assert shorter.getdata()[0].shape == shorter.getlabel()[0].shape == (2,)
    with pytest.raises(ArgumentError, match="moves to a batch"):
        ResizeIter(numbers(), 1).getdata()


def test_a_batch_ahead() -> None:
    it = PrefetchingIter(numbers())
    assert seen(it) == seen(it) == [[0, 1], [2, 3], [4, 0]]
    it.next()
    it.reset()  # in the middle
    assert seen(it)[0] == [0, 1]
    assert it.batch_size == 2


def test_several_are_joined() -> None:
    names = [{"data": "left"}, {"data": "right"}]
    it = PrefetchingIter([numbers(), numbers(data_name="data")], rename_data=names)
    assert [desc.name for desc in it.provide_data] == ["left", "right"]
    assert [desc.name for desc in it.provide_label] == ["softmax_label"] * 2
    batch = it.next()
    assert batch.data is not None
    assert [array.asnumpy().tolist() for array in batch.data] == [[0, 1], [0, 1]]


def test_what_cannot_be_joined() -> None:
    with pytest.raises(ArgumentError, match="at least one"):
        PrefetchingIter([])
    uneven = PrefetchingIter([numbers(4), numbers(6)])
    uneven.next()
    uneven.next()
    with pytest.raises(ArgumentError, match="different numbers of batches"):
        uneven.next()
    padded = PrefetchingIter([numbers(1), numbers(2)])
    with pytest.raises(ArgumentError, match=r"pad is \[1, 0\]"):
        padded.next()


class Failing(DataIter):
    """Fails at its second batch."""

    provide_data = provide_label = [DataDesc("data", (1,))]

    def __init__(self) -> None:
        super().__init__(1)
        self.count = 0

    def next(self) -> DataBatch:
        self.count += 1
        if self.count == 2:
            raise OSError("no such disk")
        return DataBatch([], pad=0)


def test_an_error_comes_where_its_batch_would() -> None:
    it = PrefetchingIter(Failing())
    it.next()
    with pytest.raises(OSError, match="no such disk"):
        it.next()
    it.reset()
    it.next()
