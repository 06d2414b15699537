"""Where values meet, decided without arrays."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from minimx.kvstore.policy import LARGE, needs_store, plan_homes, updates_on_store

SIZES = st.dictionaries(st.integers(0, 20), st.integers(0, 1000))


@given(SIZES, st.integers(1, 5))
def test_no_device_adds_much_more_than_another(
    sizes: dict[int, int], count: int
) -> None:
    homes = plan_homes(sizes, range(count))
    assert homes.keys() == sizes.keys()
    load = [sum(sizes[key] for key in homes if homes[key] == i) for i in range(count)]
    assert max(load) - min(load) <= max(sizes.values(), default=0)


@given(SIZES, SIZES, st.integers(1, 4))
def test_keys_that_have_a_home_keep_it(
    old: dict[int, int], new: dict[int, int], count: int
) -> None:
    settled = plan_homes(old, range(count + 1))
    homes = plan_homes({**new, **old}, range(count), settled)
    assert homes.keys() == {**new, **old}.keys()
    for key, home in settled.items():
        assert homes[key] == home or home == count  # that device has gone


def test_the_order_of_keys_decides_between_equals() -> None:
    assert plan_homes({"a": 1, "b": 1, "c": 1}, "xy") == {"a": "x", "b": "y", "c": "x"}


def test_who_needs_a_store_and_who_updates_there() -> None:
    assert not needs_store("device", 1)
    assert needs_store("device", 2)
    assert needs_store("dist_sync", 1)
    assert updates_on_store("device", LARGE + 1, knob=True)
    assert updates_on_store("local", LARGE, knob=True)
    assert not updates_on_store("local", LARGE + 1, knob=True)
    assert not updates_on_store("device", 1, knob=False)
