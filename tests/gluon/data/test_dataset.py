"""Datasets made from datasets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minimx import nd
from minimx.core.errors import ArgumentError
from minimx.gluon.data import ArrayDataset, Dataset, SequentialSampler, SimpleDataset


def test_arrays_side_by_side() -> None:
    images = nd.array(np.arange(12).reshape(3, 2, 2))
    pairs = ArrayDataset(images, nd.array([7, 8, 9]))
    image, label = pairs[1]
    assert image.asnumpy().tolist() == [[4.0, 5.0], [6.0, 7.0]]
    assert type(label) is np.float32  # a number, not an array of one
    assert label == 8.0
    assert len(pairs) == 3
    assert ArrayDataset([1, 2])[0] == 1


def test_arrays_must_have_one_length() -> None:
    with pytest.raises(ArgumentError, match="array 1 has 2 rows, the first has 3"):
        ArrayDataset([1, 2, 3], [1, 2])
    with pytest.raises(ArgumentError, match="at least one"):
        ArrayDataset()


def test_transform_takes_the_parts_of_a_sample() -> None:
    pairs = ArrayDataset([1, 2], [10, 20])
    assert pairs.transform(lambda a, b: a + b)[1] == 22
    assert pairs.transform_first(lambda a: -a)[1] == (-2, 20)
    assert SimpleDataset([1, 2]).transform(lambda a: a * 3)[1] == 6
    assert SimpleDataset([1, 2]).transform_first(lambda a: a * 3)[1] == 6


def test_lazy_and_eager_transforms() -> None:
    calls: list[int] = []

    def note(x: int) -> int:
        calls.append(x)
        return x

    lazy = SimpleDataset([1, 2]).transform(note)
    assert calls == []
    eager = SimpleDataset([1, 2]).transform(note, lazy=False)
    assert calls == [1, 2]
    assert [eager[0], eager[1], lazy[1]] == [1, 2, 2]
    assert calls == [1, 2, 2]


def test_filter_take_and_sample() -> None:
    data = SimpleDataset(list(range(10)))
    even = data.filter(lambda x: x % 2 == 0)
    assert [even[i] for i in range(len(even))] == [0, 2, 4, 6, 8]
    assert len(data.take(3)) == 3
    assert len(data.take(None)) == len(data.take(99)) == 10
    part = data.sample(SequentialSampler(3, start=4))
    assert [part[i] for i in range(len(part))] == [4, 5, 6]


@given(st.integers(0, 50), st.integers(1, 9))
def test_shards_are_the_whole_and_of_about_one_size(length: int, count: int) -> None:
    data = SimpleDataset(list(range(length)))
    shards = [data.shard(count, i) for i in range(count)]
    assert [s[i] for s in shards for i in range(len(s))] == list(range(length))
    sizes = [len(shard) for shard in shards]
    assert max(sizes) - min(sizes) <= 1


def test_there_is_no_such_shard() -> None:
    with pytest.raises(ArgumentError, match="no part 3 among 3"):
        SimpleDataset([1]).shard(3, 3)


def test_the_base_asks_for_its_methods() -> None:
    with pytest.raises(ArgumentError, match="__getitem__"):
        Dataset()[0]
    with pytest.raises(ArgumentError, match="__len__"):
        len(Dataset())


@pytest.mark.parametrize("indices", [[0, 1], [3, 0, 3], [-1]])
def test_a_batch_is_its_samples_stacked(indices: list[int]) -> None:
    numbers = np.arange(24, dtype=np.int32).reshape(4, 2, 3)
    for column in (numbers, nd.array(numbers, dtype="int32")):
        found = ArrayDataset(column, numbers[:, 0, 0]).batch(indices)
        np.testing.assert_array_equal(found[0].asnumpy(), numbers[indices])
        np.testing.assert_array_equal(found[1].asnumpy(), numbers[indices, 0, 0])
        assert found[0].dtype is np.int32


def test_a_batch_of_a_part_of_a_dataset() -> None:
    data = ArrayDataset(np.arange(10.0)).filter(lambda x: x > 4)
    assert data.batch([0, 2]).asnumpy().tolist() == [5.0, 7.0]


def test_lists_are_not_batched_at_once() -> None:
    assert ArrayDataset([1, 2]).batch([0]) is None
    assert SimpleDataset(np.ones(3)).batch([0]) is None
    plain: Any = ArrayDataset(np.ones(3)).transform(lambda x: x)
    assert plain.batch([0]) is None


def test_a_sample_that_does_not_exist() -> None:
    with pytest.raises(IndexError, match="dataset of 3"):
        ArrayDataset(np.ones(3)).batch([3])


def test_a_batch_does_not_share_memory_with_the_dataset() -> None:
    numbers = np.zeros((3, 2), np.float32)
    for data in (ArrayDataset(numbers), ArrayDataset(nd.array(numbers))):
        batch = data.batch([0, 1])
        batch[:] = 5.0
        assert data.batch([0, 1]).asnumpy().sum() == 0.0
