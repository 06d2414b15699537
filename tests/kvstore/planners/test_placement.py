"""Which server keeps what, what P3 sends where, and which keys share a bucket."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from minimx.kvstore.planners.buckets import Sized, plan_buckets
from minimx.kvstore.planners.placement import Slicer, place


@given(st.integers(0, 10**6), st.integers(1, 10**6), st.integers(1, 9))
def test_parts_cover_a_key_once(key: int, elements: int, servers: int) -> None:
    for bound in (0, elements, elements + 1):
        parts = place(key, elements, servers, bound)
        assert parts[0].start == 0
        assert parts[-1].stop == elements
        assert [p.stop for p in parts[:-1]] == [p.start for p in parts[1:]]
        assert len(parts) == (1 if elements < bound else servers)
        sizes = [part.stop - part.start for part in parts]
        assert max(sizes) - min(sizes) <= 1


def test_small_keys_go_where_mxnet_sends_them() -> None:
    servers = [place(key, 1, 4, bound=10)[0].server for key in range(6)]
    assert servers == [0, 1, 2, 3, 0, 1]  # 9973 is 1 modulo 4
    assert [place(key, 1, 3, 10)[0].server for key in range(4)] == [0, 1, 2, 0]


def test_slices_take_turns_over_keys() -> None:
    slicer = Slicer(servers=3, threshold=40_000)
    first = [part.server for part in slicer.slices(100_000)]
    second = [part.server for part in slicer.slices(50_000)]
    assert first + second == [0, 1, 2, 0, 1]


KEYS = st.lists(st.tuples(st.integers(0, 50), st.sampled_from("ab")), max_size=20)


@given(KEYS, st.integers(0, 100))
def test_buckets_keep_the_order_and_the_limit(
    keys: list[tuple[int, str]], limit: int
) -> None:
    sized = [Sized(k, nbytes, kind) for k, (nbytes, kind) in enumerate(keys)]
    buckets = plan_buckets(sized, limit)
    assert [key for bucket in buckets for key in bucket] == list(range(len(keys)))
    for bucket in buckets:
        size = sum(keys[key][0] for key in bucket)
        assert len(bucket) == 1 or size <= limit
        assert len({keys[key][1] for key in bucket}) == 1
