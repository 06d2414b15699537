"""In which order samples are visited."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minimx.core.errors import ArgumentError
from minimx.gluon.data import (
    ArrayDataset,
    BatchSampler,
    FilterSampler,
    IntervalSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
)


def test_sequential_order() -> None:
    assert list(SequentialSampler(3)) == [0, 1, 2]
    assert list(SequentialSampler(3, start=5)) == [5, 6, 7]


def test_random_order_is_a_permutation_that_numpys_seed_repeats() -> None:
    np.random.seed(4)
    first = list(RandomSampler(50))
    np.random.seed(4)
    assert list(RandomSampler(50)) == first
    assert sorted(first) == list(range(50))
    assert first != list(range(50))
    assert all(type(index) is int for index in first)


def test_filtered_order() -> None:
    data = ArrayDataset([5, 6, 7, 8])
    assert list(FilterSampler(lambda x: x % 2, data)) == [0, 2]


def test_interval_order() -> None:
    assert list(IntervalSampler(5, 2)) == [0, 2, 4, 1, 3]
    short = IntervalSampler(5, 2, rollover=False)
    assert list(short) == [0, 2, 4]
    assert len(short) == 3


@given(
    st.integers(0, 40),
    st.integers(1, 12),
    st.sampled_from(["keep", "discard", "rollover"]),
)
def test_batches_hold_the_order_and_len_counts_them(
    length: int, size: int, last: str
) -> None:
    batches = BatchSampler(SequentialSampler(length), size, last)
    visited: list[int] = []
    for _ in range(3):
        expected = len(batches)
        found = list(batches)
        assert len(found) == expected
        assert all(len(batch) == size for batch in found[:-1])
        visited += [index for batch in found for index in batch]
    if last == "discard":
        assert visited == list(range(length // size * size)) * 3
    else:
        whole = list(range(length)) * 3
        assert visited == whole[: len(visited)]
        assert len(whole) - len(visited) < size


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: BatchSampler(SequentialSampler(3), 2, "drop"), "keep, discard, roll"),
        (lambda: BatchSampler(SequentialSampler(3), 0), "batch_size=0"),
        (lambda: IntervalSampler(3, 0), "interval=0"),
        (lambda: len(Sampler()), "__len__"),
        (lambda: iter(Sampler()), "__iter__"),
    ],
)
def test_wrong_settings_are_named(make: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        make()
