"""A bounded memory of things that take long to make.

    cache = LruCache(most)             -1: no bound
    cache.take(key, make)            what is kept under a key, else what `make()` gives
    cache.keep_at_most(most)         drops at once what is too many
    cache.counts()                   kept, hits, misses, dropped

When one too many is kept, the least recently used one goes. A program that
meets more shapes in turn than are kept therefore never finds one again: with a bound of
2, the shapes A B C A B C … are six misses, as every one is dropped just before its use.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Counts(NamedTuple):
    """What a `LruCache` did since the process began.

    kept: things that it has now. hits: how often something was found. misses: how often
    it had to be made. dropped: how many were given up to stay within the bound.
    """

    kept: int
    hits: int
    misses: int
    dropped: int


class LruCache(Generic[T]):
    """Keeps at most so many things, by key; -1 keeps all. Threads may share it."""

    def __init__(self, most: int = -1) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = threading.Lock()
        self._hits = self._misses = self._dropped = 0

    def take(self, key: Hashable, make: Callable[[], T]) -> T:
        """What is kept under `key`; made first, if it is not there.

        Two threads that miss the same key at once both make it, and one is kept: no
        other thread waits meanwhile.
        """
        with self._lock:
            if key in self._kept:
                self._hits += 1
                self._kept.move_to_end(key)
                return self._kept[key]
            self._misses += 1
        made = make()
        with self._lock:
            self._kept[key] = made
            self._trim()
        return made

    def keep_at_most(self, most: int) -> None:
        """Another bound; what is too many goes at once, the longest unused first."""
        with self._lock:
            self._most = most
            self._trim()

    def forget(self) -> None:
        """Drop everything, without counting it."""
        with self._lock:
            self._kept.clear()

    def _trim(self) -> None:
        while 0 <= self._most < len(self._kept):
            self._kept.popitem(last=False)
            self._dropped += 1

    def counts(self) -> Counts:
        """What happened so far."""
        with self._lock:
            return Counts(len(self._kept), self._hits, self._misses, self._dropped)
