"""The ring keeps the newest rows and knows how many had to go."""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st

from minimx.core.record.ring import SLACK, Ring


def filled(capacity: int, rows: int) -> Ring:
    ring = Ring(capacity)
    for i in range(rows):
        ring.add((i,))
    return ring


@given(st.integers(1, 2 * SLACK), st.integers(0, 3 * SLACK), st.integers(0, 4 * SLACK))
def test_positions_never_change(capacity: int, rows: int, position: int) -> None:
    ring = filled(capacity, rows)
    first, kept = ring.since(position)
    assert kept == [(i,) for i in range(first, rows)]
    assert first == min(max(position, rows - capacity), rows)
    assert (ring.total, len(ring)) == (rows, min(rows, capacity))
    assert ring.dropped == rows - len(ring)


def test_following_a_ring_sees_every_row_once() -> None:
    ring, seen, position = Ring(50), [], 0
    for i in range(20_000):
        ring.add((i,))
        if i % 37 == 0:
            first, rows = ring.since(position)
            assert first == position
            seen += rows
            position = first + len(rows)
    assert seen == [(i,) for i in range(len(seen))]


def test_many_threads_lose_nothing() -> None:
    ring = Ring(1000)

    def add_many() -> None:
        for _ in range(20_000):
            ring.add((0,))

    threads = [threading.Thread(target=add_many) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        first, rows = ring.since(0)
        assert len(rows) <= 1000 + 80_000
        assert first + len(rows) <= 80_000
    assert (ring.total, ring.dropped, len(ring)) == (80_000, 79_000, 1000)
