"""A bounded memory: what it keeps, what it drops, and what it counts."""

from __future__ import annotations

from collections import OrderedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minimx.fast.fusion.lru_cache import Counts, Keeper


def takes(keeper: Keeper[str], keys: str) -> str:
    """Take keys in turn; those that had to be made."""
    made: list[str] = []
    for key in keys:

        def make(key: str = key) -> str:
            made.append(key)
            return key.upper()

        assert keeper.take(key, make) == key.upper()
    return "".join(made)


def test_without_a_bound_everything_is_made_once() -> None:
    keeper: Keeper[str] = Keeper()
    assert takes(keeper, "abcabc") == "abc"
    assert keeper.counts() == Counts(kept=3, hits=3, misses=3, dropped=0)


def test_the_longest_unused_goes_first() -> None:
    assert takes(Keeper(2), "abacab") == "abcb"


def test_more_shapes_in_turn_than_places_are_never_found() -> None:
    keeper: Keeper[str] = Keeper(2)
    assert takes(keeper, "abcabc") == "abcabc"
    assert keeper.counts() == Counts(kept=2, hits=0, misses=6, dropped=4)


def test_nothing_is_kept_in_no_place() -> None:
    keeper: Keeper[str] = Keeper(0)
    assert takes(keeper, "aaa") == "aaa"
    assert keeper.counts() == Counts(kept=0, hits=0, misses=3, dropped=3)


def test_a_smaller_bound_acts_at_once_and_a_larger_one_brings_nothing_back() -> None:
    keeper: Keeper[str] = Keeper()
    takes(keeper, "abcde")
    keeper.keep_at_most(2)
    assert keeper.counts() == Counts(kept=2, hits=0, misses=5, dropped=3)
    keeper.keep_at_most(-1)
    assert takes(keeper, "deabc") == "abc"


def test_what_could_not_be_made_is_not_kept() -> None:
    def fail() -> str:
        raise ValueError("no")

    keeper: Keeper[str] = Keeper()
    with pytest.raises(ValueError, match="no"):
        keeper.take("a", fail)
    assert keeper.counts().kept == 0
    assert takes(keeper, "a") == "a"


def test_forgetting_is_not_dropping() -> None:
    keeper: Keeper[str] = Keeper()
    takes(keeper, "ab")
    keeper.forget()
    assert keeper.counts() == Counts(kept=0, hits=0, misses=2, dropped=0)


@given(st.integers(-1, 4), st.text("abcdef", max_size=30))
def test_it_is_the_cache_of_the_textbook(most: int, keys: str) -> None:
    kept: OrderedDict[str, None] = OrderedDict()
    missed = ""
    for key in keys:
        if key in kept:
            kept.move_to_end(key)
            continue
        missed += key
        kept[key] = None
        while most >= 0 and len(kept) > most:
            kept.popitem(last=False)
    keeper: Keeper[str] = Keeper(most)
    assert takes(keeper, keys) == missed
    assert keeper.counts().kept == len(kept)
