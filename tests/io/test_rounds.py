"""Which samples stand in which batch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minimx.errors import ArgumentError
from minimx.io.rounds import Rounds, part_of, shuffled

few = st.integers(1, 12)


@given(few, few, st.integers(1, 4), st.booleans())
def test_rounding_hands_out_one_order_after_the_other(
    count: int, batch_size: int, epochs: int, shuffle: bool
) -> None:
    order = shuffled(count, 3) if shuffle else None
    rounds = Rounds(count, batch_size, True, order)
    rows, ends = [], []
    for _ in range(epochs):
        batches = list(rounds.epoch())
        assert [batch.pad for batch in batches[:-1]] == [0] * (len(batches) - 1)
        rows += [row for batch in batches for row in batch.rows]
        ends.append(len(rows) - batches[-1].pad)
    orders = order or (lambda epoch: list(range(count)))
    wanted = [row for epoch in range(len(rows)) for row in orders(epoch)]
    assert rows == wanted[: len(rows)]
    assert all(end % count == 0 for end in ends)  # an epoch ends with an order


@given(few, few)
def test_without_rounding_all_epochs_are_alike(count: int, batch_size: int) -> None:
    rounds = Rounds(count, batch_size, round_batch=False)
    first, second = list(rounds.epoch()), list(rounds.epoch())
    assert first == second
    real = [row for rows, pad in first for row in rows[: batch_size - pad]]
    assert real == list(range(count))
    assert {len(batch.rows) for batch in first} == {batch_size}


def test_no_samples() -> None:
    with pytest.raises(ArgumentError, match="0 samples for batches of 3"):
        Rounds(0, 3)


@given(st.lists(st.integers(1, 50), min_size=1), st.integers(1, 6))
def test_parts_are_disjoint_and_complete(lengths: list[int], parts: int) -> None:
    starts = [sum(lengths[:i]) for i in range(len(lengths))]
    taken = [
        item
        for part in range(parts)
        for item in starts[part_of(starts, sum(lengths), parts, part)]
    ]
    assert taken == starts


def test_a_part_that_is_not_there() -> None:
    with pytest.raises(ArgumentError, match="no part 2 among 2"):
        part_of([0], 4, 2, 2)
