"""Notebook 08: a program whose tensors have another size in every batch, and its pools.

The traces are made by a seeded generator, so their numbers are the same everywhere. The
pools are those of `minimx.storage`, over the simulated GPU or over the driver that only
counts (`minimx.replay`).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from minimx import nd
from minimx.device import gpu
from minimx.knobs import knobs
from minimx.record import Record

MIB = 1 << 20
#: One time step of one buffer: 64 KiB, as float32.
WIDTH = 16_384
BUFFERS = 8


def lengths(batches: int = 200, seed: int = 0) -> list[int]:
    """How many time steps each batch has: evenly from 10 to 100.

    >>> lengths()[:5], max(lengths())
    ([59, 63, 15, 43, 75], 100)
    """
    chance = random.Random(seed)
    return [chance.randint(10, 100) for _ in range(batches)]


@contextmanager
def fresh_gpu(memory: str = "512MiB", **settings: Any) -> Iterator[None]:
    """A simulated GPU whose pool has lent nothing yet, under some knobs.

    Operations run one after the other, so that arrays live as long as their names.
    """
    with (
        knobs(MXNET_ENGINE_TYPE="NaiveEngine", MINIMX_SIM_GPU_MEMORY="1MiB"),
        knobs(**settings),
        knobs(MINIMX_SIM_GPU_MEMORY=memory),
    ):
        yield


def run(steps: Iterable[int]) -> Record:
    """One batch after the other, each with eight buffers of its length, recorded."""
    with Record() as record:
        for length in steps:
            buffers = [nd.zeros((length, WIDTH), ctx=gpu()) for _ in range(BUFFERS)]
            del buffers
    return record
