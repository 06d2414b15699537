"""The books kept row by row say what the record's own curve says afterwards."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from minimx.core.events import CATEGORIES, Owner
from minimx.core.record import Record
from minimx_widgets.training.ledger import Ledger

# (begins or ends a loan, which one, size in KiB, category)
moves = st.lists(
    st.tuples(
        st.booleans(), st.integers(0, 9), st.integers(1, 64), st.integers(0, 7)
    ),
    max_size=120,
)  # fmt: skip


def played(program: list[tuple[bool, int, int, int]]) -> Record:
    """A record of a pool that never keeps anything, driven by random moves."""
    record, held, number = Record(), {}, 0
    for begins, slot, size, category in program:
        if begins and slot not in held:
            number += 1
            owner = Owner("op", "layer", "forward", CATEGORIES[category])
            held[slot] = (number, size * 1000, size * 1024, owner)
            block, requested, rounded, owner = held[slot]
            record.memory("alloc", "cpu(0)", block, requested, rounded, 0, owner)
        elif not begins and slot in held:
            block, requested, rounded, owner = held.pop(slot)
            for event in ("free", "release"):
                record.memory(event, "cpu(0)", block, requested, rounded, 0, owner)
    return record


@given(moves, st.integers(1, 40))
@settings(deadline=None)
def test_books_agree_with_the_curve_however_they_are_fed(
    program: list[tuple[bool, int, int, int]], portion: int
) -> None:
    record = played(program)
    mem = record.mem()
    ledger = Ledger(record.strings, 0)
    parts = [ledger.take(mem[i : i + portion]) for i in range(0, len(mem), portion)]
    changes = np.concatenate(parts) if parts else ledger.take(mem)
    for quantity in ("requested", "rounded", "reserved"):
        total = record.memory_curve("cpu(0)", quantity).total
        assert np.cumsum(changes[quantity]).astype(int).tolist() == total.tolist()
    for number, category in enumerate(CATEGORIES):
        curve = record.memory_curve("cpu(0)", "requested")
        mine = int(changes["requested"][changes["category"] == number].sum())
        there = category in curve.bands
        last = int(curve.nbytes[curve.bands.index(category), -1]) if there else 0
        assert mine == last


@given(moves)
@settings(deadline=None)
def test_what_no_longer_fits_is_summed_up_and_not_lost(
    program: list[tuple[bool, int, int, int]],
) -> None:
    record = played(program)
    mem = record.mem()
    ledger = Ledger(record.strings, 0, capacity=10)
    for row in range(len(mem)):
        ledger.take(mem[row : row + 1])
    recent = ledger.recent()
    assert len(recent) <= 10 + 1 + len(CATEGORIES)
    for quantity in ("requested", "rounded", "reserved"):
        total = record.memory_curve("cpu(0)", quantity).total
        assert int(recent[quantity].sum()) == (int(total[-1]) if len(total) else 0)


def test_a_return_nobody_saw_begin_counts_nothing() -> None:
    record, owner = Record(), Owner("op", "", "other", "temporary")
    record.memory("free", "cpu(0)", 7, 100, 128, 0, owner)
    changes = Ledger(record.strings, 0).take(record.mem())
    assert changes["requested"].tolist() == [0]
