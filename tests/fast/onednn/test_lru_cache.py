"""A bounded memory: what it keeps, what it drops, and what it counts."""

from __future__ import annotations

from collections import OrderedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minimx.fast.onednn.lru_cache import Counts, LruCache


def takes(cache: LruCache[str], keys: str) -> str:
    """Take keys in turn; those that had to be made."""
    made: list[str] = []
    for key in keys:

        def make(key: str = key) -> str:
            made.append(key)
            return key.upper()

        assert cache.take(key, make) == key.upper()
    return "".join(made)


def test_without_a_bound_everything_is_made_once() -> None:
    cache: LruCache[str] = LruCache()
    assert takes(cache, "abcabc") == "abc"
    assert cache.counts() == Counts(kept=3, hits=3, misses=3, dropped=0)


def test_the_longest_unused_goes_first() -> None:
    assert takes(LruCache(2), "abacab") == "abcb"


def test_more_shapes_in_turn_than_places_are_never_found() -> None:
    cache: LruCache[str] = LruCache(2)
    assert takes(cache, "abcabc") == "abcabc"
    assert cache.counts() == Counts(kept=2, hits=0, misses=6, dropped=4)


def test_nothing_is_kept_in_no_place() -> None:
    cache: LruCache[str] = LruCache(0)
    assert takes(cache, "aaa") == "aaa"
    assert cache.counts() == Counts(kept=0, hits=0, misses=3, dropped=3)


def test_a_smaller_bound_acts_at_once_and_a_larger_one_brings_nothing_back() -> None:
    cache: LruCache[str] = LruCache()
    takes(cache, "abcde")
    cache.keep_at_most(2)
    assert cache.counts() == Counts(kept=2, hits=0, misses=5, dropped=3)
    cache.keep_at_most(-1)
    assert takes(cache, "deabc") == "abc"


def test_what_could_not_be_made_is_not_kept() -> None:
    def fail() -> str:
        raise ValueError("no")

    cache: LruCache[str] = LruCache()
    with pytest.raises(ValueError, match="no"):
        cache.take("a", fail)
    assert cache.counts().kept == 0
    assert takes(cache, "a") == "a"


def test_forgetting_is_not_dropping() -> None:
    cache: LruCache[str] = LruCache()
    takes(cache, "ab")
    cache.forget()
    assert cache.counts() == Counts(kept=0, hits=0, misses=2, dropped=0)


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
    cache: LruCache[str] = LruCache(most)
    assert takes(cache, keys) == missed
    assert cache.counts().kept == len(kept)
