"""Which samples stand in which batch."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minimx.core.errors import ArgumentError
from minimx.io.rounds import Rounds, chunked, part_of, shuffled

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


@given(
    st.lists(st.integers(0, 500), min_size=1, max_size=40, unique=True),
    st.integers(1, 6),
    st.one_of(st.none(), st.integers(0, 9)),
)
def test_pieces_of_a_file_are_taken_in_turn(
    starts: list[int], chunks: int, inside: int | None
) -> None:
    size = max(starts) + 1
    order = chunked(starts, size, chunks, 3, inside)
    step = size - min(starts)
    for epoch in range(3):
        rows = order(epoch)
        assert sorted(rows) == list(range(len(starts)))
        assert rows == order(epoch)
        pieces = [(starts[row] - min(starts)) * chunks // step for row in rows]
        changes = sum(a != b for a, b in pairwise(pieces))
        assert changes == len(set(pieces)) - 1  # a piece is left once, and for good
        if inside is None:
            inner = [(p, starts[row]) for p, row in zip(pieces, rows, strict=True)]
            for number in set(pieces):
                mine = [start for p, start in inner if p == number]
                assert mine == sorted(mine)


def test_each_epoch_has_its_own_order_of_pieces() -> None:
    starts = list(range(0, 1000, 10))
    plain, mixed = (chunked(starts, 1000, 10, 7, inside) for inside in (None, 1))
    assert len({tuple(plain(epoch)) for epoch in range(5)}) == 5
    assert [row // 10 for row in plain(0)] == [row // 10 for row in mixed(0)]
    assert plain(0) != mixed(0)
