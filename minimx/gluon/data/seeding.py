"""Random numbers in workers: the same for the same seeds.

Each batch has seeds of its own. They follow from the main process' generators as they
are when a pass begins, and from the batch's place in the pass; so they do not depend on
which worker makes it, on how many workers there are, or on who is quicker. NumPy's,
Python's and our own numbers follow each from its own generator: to seed one of
them repeats the numbers of that one.

A process seeds its generators; a thread gets some of its own, which give the same
numbers. Our transforms and `mx.random` draw from those. What a dataset draws from
`random` or `numpy.random` itself is shared by all threads, and so depends on who is
quicker.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import chain, islice
from typing import Any, TypeVar

import numpy as np

from minimx.core import rng
from minimx.nd.seeding import seed as seed_devices

Entropy = tuple[int, int, int]
Order = TypeVar("Order")


def begin(orders: Iterator[Order]) -> tuple[Entropy, Iterator[Order]]:
    """What the seeds of a pass follow from; returns the orders of its batches, too.

    Every pass must differ from the one before. Drawing a number from NumPy's generator
    would do, but it would disturb the order in which a sampler shuffles from then on.
    So the generator moves only if the sampler, asked for its first batch, has not.
    """
    before = _numpys_state()
    first = list(islice(orders, 1))
    if _numpys_state() == before:
        np.random.random()
    entropy = before, random.getrandbits(64), rng.child_seed()
    return entropy, chain(first, orders)


def seed(entropy: Entropy, number: int) -> None:
    """Seed all generators of this process for batch `number` of a pass."""
    numpys, pythons, ours = _seeds(entropy, number)
    np.random.seed(numpys)
    random.seed(pythons)
    seed_devices(ours)


def own(entropy: Entropy, number: int) -> AbstractContextManager[None]:
    """Generators of this thread's own for batch `number` of a pass."""
    numpys, pythons, ours = _seeds(entropy, number)
    return rng.own(pythons, numpys, ours)


def _seeds(entropy: Entropy, number: int) -> list[int]:
    """For NumPy's, Python's and our generators."""
    sequences = (np.random.SeedSequence((source, number)) for source in entropy)
    return [int(sequence.generate_state(1)[0]) for sequence in sequences]


def _numpys_state() -> int:
    state: Any = np.random.get_state(legacy=False)
    inner = state["state"]
    text = repr((state["bit_generator"], inner.get("pos"), state["gauss"])).encode()
    return zlib.crc32(np.asarray(inner["key"]).tobytes(), zlib.crc32(text))
