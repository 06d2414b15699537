"""`mx.random`: the seed, and the samplers of `mx.nd.random` under their short names."""

from __future__ import annotations

from minimx.nd.random import (
    exponential,
    gamma,
    generalized_negative_binomial,
    multinomial,
    negative_binomial,
    normal,
    poisson,
    randint,
    randn,
    shuffle,
    uniform,
)
from minimx.nd.seeding import seed

__all__ = [
    "exponential", "gamma", "generalized_negative_binomial", "multinomial",
    "negative_binomial", "normal", "poisson", "randint", "randn", "seed", "shuffle",
    "uniform",
]  # fmt: skip
