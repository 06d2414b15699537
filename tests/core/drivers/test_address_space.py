"""First fit with coalescing: ranges never overlap, neighbours always melt together."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from minimx.core.drivers.address_space import AddressSpace

SIZE = 64
requests = st.lists(
    st.one_of(st.integers(1, 20), st.integers(-30, -1)), min_size=1, max_size=120
)


def run(space: AddressSpace, program: list[int]) -> dict[int, int]:
    """Positive numbers take that many bytes, negative ones give a taken range back."""
    taken: dict[int, int] = {}
    for step in program:
        if step > 0:
            start = space.take(step)
            if start is not None:
                taken[start] = space.rounded(step)
        elif taken:
            start = sorted(taken)[-step % len(taken)]
            space.give(start)
            del taken[start]
        check(space, taken)
    return taken


def check(space: AddressSpace, taken: dict[int, int]) -> None:
    assert space.taken == sorted(taken.items())
    assert space.free == space.size - sum(taken.values())
    ranges = sorted([*taken.items(), *space.holes])
    ends = [start + length for start, length in ranges]
    assert [start for start, _ in ranges] == [0, *ends][: len(ranges)], "gap or overlap"
    assert ends[-1] == space.size
    holes = space.holes
    touching = [a for a, b in zip(holes, holes[1:], strict=False) if sum(a) == b[0]]
    assert not touching, "two holes side by side"
    assert space.largest_hole == max((length for _, length in holes), default=0)


@given(requests, st.sampled_from([1, 4]))
def test_every_byte_is_taken_or_free_and_holes_never_touch(
    program: list[int], grain: int
) -> None:
    space = AddressSpace(SIZE, grain)
    for start in run(space, program):
        space.give(start)
    assert space.holes == [(0, SIZE)]


@given(requests)
def test_a_request_fails_only_if_no_hole_is_long_enough(program: list[int]) -> None:
    space = AddressSpace(SIZE, 4)
    for step in program:
        possible = space.rounded(abs(step)) <= space.largest_hole
        assert (space.take(abs(step)) is not None) == possible


def test_the_first_hole_that_fits_is_cut_from_the_front() -> None:
    space = AddressSpace(10, 1)
    for nbytes in (3, 1, 2, 1):
        space.take(nbytes)
    space.give(0)
    space.give(4)  # holes at 0 (3 bytes), 4 (2) and 7 (3)
    assert space.take(2) == 0
    assert space.holes == [(2, 1), (4, 2), (7, 3)]
    assert space.take(3) == 7


def test_free_bytes_in_pieces_do_not_help() -> None:
    space = AddressSpace(8, 1)
    for start in [space.take(1) for _ in range(8)][::2]:
        assert start is not None
        space.give(start)
    assert (space.free, space.largest_hole, space.take(2)) == (4, 1, None)


def test_a_space_is_whole_grains() -> None:
    assert AddressSpace(1300, 512).size == 1024
    assert AddressSpace(100, 512).take(1) is None
