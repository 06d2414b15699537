"""KMP_AFFINITY: what the texts of Intel's manual mean on machines that we make up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minimx.core.errors import KnobError
from minimx.fast.affinity import Affinity, Processor, places, read

# Two sockets of two cores of two hyper-threads, numbered as Linux does: first all first
# hyper-threads.
MACHINE = [
    Processor(package, core, thread, thread * 4 + package * 2 + core)
    for package in range(2)
    for core in range(2)
    for thread in range(2)
]


def numbers(text: str, count: int = 8) -> list[int]:
    """The processors of threads that have one each."""
    found = places(read(text), MACHINE, count)
    assert all(len(place) == 1 for place in found)
    return [min(place) for place in found]


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("granularity=fine,compact", [0, 4, 1, 5, 2, 6, 3, 7]),
        ("granularity=thread,compact,0,3", [5, 2, 6, 3, 7, 0, 4, 1]),
        ("granularity=fine,compact,1,0", [0, 1, 2, 3, 4, 5, 6, 7]),
        ("granularity=fine,compact,1", [0, 1, 2, 3, 4, 5, 6, 7]),
        ("verbose,granularity=fine,scatter", [0, 2, 1, 3, 4, 6, 5, 7]),
        ("granularity=fine,scatter,1", [0, 1, 2, 3, 4, 5, 6, 7]),
        ("granularity=fine,scatter,2", [0, 4, 1, 5, 2, 6, 3, 7]),
        ("granularity=fine,explicit,proclist=[7,0,2-4]", [7, 0, 2, 3, 4, 7, 0, 2]),
        ("GRANULARITY=FINE,Compact", [0, 4, 1, 5, 2, 6, 3, 7]),
    ],
)
def test_orders(text: str, order: list[int]) -> None:
    assert numbers(text) == order


def test_few_balanced_threads_spread_and_stay_in_order() -> None:
    assert numbers("granularity=fine,balanced", 4) == [0, 1, 2, 3]
    assert numbers("granularity=fine,balanced", 2) == [0, 2]
    assert numbers("granularity=fine,balanced", 8) == [0, 4, 1, 5, 2, 6, 3, 7]


def test_with_cores_as_places_a_thread_may_use_both_hyper_threads() -> None:
    found = places(read("compact"), MACHINE, 3)
    assert found == [{0, 4}, {0, 4}, {1, 5}]
    assert places(read("explicit,proclist=[{1,5},0]"), MACHINE, 2) == [{1, 5}, {0}]


@pytest.mark.parametrize("text", ["", "none", "disabled", "verbose,none"])
def test_nobody_is_bound(text: str) -> None:
    assert not read(text).binds
    assert places(read(text), MACHINE, 2) == [frozenset(range(8))] * 2


@pytest.mark.parametrize(
    "text",
    [
        "kompakt",
        "granularity=fine",
        "granularity=tile,compact",
        "compact,scatter",
        "compact,1,0,0",
        "compact,-1",
        "1,compact",
        "explicit",
        "compact,proclist=[1]",
        "explicit,proclist=1",
        "explicit,proclist=[]",
        "explicit,proclist=[a]",
        "explicit,proclist=[{1]",
        "explicit,proclist=[99]",
    ],
)
def test_what_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(KnobError, match="KMP_AFFINITY"):
        places(read(text), MACHINE, 2)


@given(
    st.sampled_from(["compact", "scatter", "balanced"]),
    st.sampled_from(["fine", "core"]),
    st.integers(0, 5),
    st.integers(0, 20),
    st.integers(1, 30),
)
def test_everybody_has_a_place_and_none_is_left_empty(
    kind: str, granularity: str, permute: int, offset: int, count: int
) -> None:
    found = places(Affinity(kind, granularity, permute, offset), MACHINE, count)
    assert len(found) == count
    there = {one.number for one in MACHINE}
    assert all(place and place <= there for place in found)
    if granularity == "fine" and kind != "balanced":
        assert len(set(found)) == min(count, len(MACHINE))
