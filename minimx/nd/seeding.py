"""Starting random numbers anew."""

from __future__ import annotations

from typing import Any

from minimx.core import engine, rng
from minimx.core.device import Context

__all__ = ["seed"]


def seed(seed_state: int, ctx: Context | str = "all", device: Any = None) -> None:
    """Start the random numbers of a device, or of all, from a seed.

    Operations that were called before still draw from the old numbers: seeding takes
    its turn in the engine. NumPy's own generator, which shuffles data, is not touched.

    >>> import minimx as mx
    >>> mx.random.seed(7)
    >>> first = mx.random.uniform(shape=(2,)).asnumpy()
    >>> mx.random.seed(7)
    >>> bool((first == mx.random.uniform(shape=(2,)).asnumpy()).all())
    True
    """
    for stream in rng.set_seed(seed_state, ctx if device is None else device):
        _reseed(stream, int(seed_state))


def _reseed(stream: rng.Stream, value: int) -> None:
    if stream.var is None:
        stream.var = engine.Var()

    def run() -> None:
        stream.reseed(value)

    # On the host, where the generator is; the device itself may be gone by now.
    engine.push(run, Context("cpu", 0), (), (stream.var,), "seed")
