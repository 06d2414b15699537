"""Loss scalers: a policy says by what the next loss is multiplied.

    class Impatient:
        '''Half after an overflow, twice after 200 good steps.'''

        def scale(self, scale, good, overflow):
            if overflow:
                return scale / 2
            return min(2.0**24, scale * 2) if good >= 200 else scale

    mx.amp.register_scaler("Impatient", Impatient)
    mx.amp.init_trainer(trainer, "Impatient")        # or LossScaler(policy="Impatient")

`scale(scale, good, overflow)`: the scale now, how many steps in a row were good since
it last changed, and whether a gradient of this step overflowed. The answer is the next
scale: at most half of it after an overflow, and always above 0 and at most 2**24.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from math import isfinite
from typing import Any, Final

import numpy as np

from minimx.amp.loss_scaler import LossScaler, Policy, doubling, registered
from minimx.policies.asking import Asked, Broken
from minimx.policies.kinds import Entry, Kind, guarded

STEPS: Final = 3000
#: The sizes of gradients that are followed, in each step.
VALUES: Final = 16
#: Of float16: the largest number, and the smallest above zero.
LARGEST, SMALLEST = 65504.0, 2.0**-24
MOST: Final = 2.0**24
Sizes = Any  # float64, (steps, values)


@dataclass(frozen=True)
class Trace:
    """A training: the sizes of some gradients in each step, drawn from a seed."""

    name: str
    family: str
    seed: int

    @property
    def sizes(self) -> Sizes:
        """Absolute values, (steps, values)."""
        return _sizes(self.family, self.seed)


class Scalers(Kind[Policy, Trace]):
    """Of `mx.amp`: the scale of the loss."""

    name = "loss scaler"
    method = "scale"
    families = ("training", "spikes", "adversarial")
    unit = "steps for what one step brings in which no gradient becomes 0"
    bound_says = (
        "the best scale of a step is the largest without an overflow; what is 0 under "
        "it is 0 under every other"
    )
    default = "doubling"
    builtins: Mapping[str, Policy] = {
        "doubling": doubling,
        "doubling after 200": partial(doubling, window=200),
    }

    def subject(self, ask: Asked) -> Policy:
        """A policy that also counts good steps."""
        return partial(_next, ask)

    def trace(self, family: str, seed: int) -> Trace:
        """Gradients that drift, that jump now and then, or that rise without end."""
        return Trace(f"{family} {seed}", family, seed)

    def run(self, subject: Policy, trace: Trace) -> float:
        """Let the real scaler decide, step by step."""
        scaler = LossScaler(policy=subject)
        sizes = trace.sizes
        largest = sizes.max(1)
        kept = 0
        for step in range(len(sizes)):
            overflow = bool(largest[step] * scaler.loss_scale > LARGEST)
            if not overflow:
                kept += int((sizes[step] * scaler.loss_scale >= SMALLEST).sum())
            try:
                scaler.update(overflow)
            except Broken as error:
                error.step = f"step {step + 1} of {len(sizes)}"
                raise
        return float(sizes.size / max(kept, 1))

    def bound(self, trace: Trace) -> float:
        """What is kept under the best scale of each step, known in advance."""
        sizes = trace.sizes
        best = np.minimum(LARGEST / sizes.max(1, keepdims=True), MOST)
        return float(1 / (sizes * best >= SMALLEST).mean())

    def _connect(self, entry: Entry) -> None:
        def new() -> Policy:
            policy: Policy = guarded(entry, doubling, partial(_next, entry.new()))
            return policy

        registered[entry.name] = new

    def _disconnect(self, name: str) -> None:
        del registered[name]


def _next(ask: Asked, scale: float, good: int, overflow: bool) -> tuple[float, int]:
    """The next scale and number of good steps. Raises `Broken` for a bad scale."""
    answer = ask(scale, good, overflow)

    def wrong(rule: str) -> Broken:
        return Broken(ask.shown((scale, good, overflow), answer), rule)

    if isinstance(answer, bool) or not isinstance(answer, int | float):
        raise wrong("a scale is a number")
    if not isfinite(answer) or not 0 < answer <= MOST:
        raise wrong("a scale is above 0 and at most 2**24 = 16,777,216")
    if overflow and answer > scale / 2:
        raise wrong(f"after an overflow the scale is at most half, {scale / 2:g}")
    return float(answer), 0 if overflow or answer != scale else good + 1


@lru_cache(16)
def _sizes(family: str, seed: int) -> Sizes:
    chance = np.random.default_rng([*family.encode(), seed])
    spread = chance.normal(-12, 9, (1, VALUES))
    walk = chance.normal(0, 0.02, STEPS).cumsum()
    if family == "spikes":
        walk = walk + 14 * (chance.random(STEPS) < 0.002)
    if family == "adversarial":  # up in steps, then suddenly far down
        walk = (np.arange(STEPS) % chance.integers(300, 900)) // 20 * 1.0
    noise = chance.normal(0, 1, (STEPS, VALUES))
    found = np.exp2(walk[:, None] + spread + noise)
    if family == "adversarial":
        found[100 : 100 + random.Random(seed).randint(20, 60)] = 1e30  # all overflow
        found[1500:2700] = np.exp2(noise[1500:2700] - 38)  # none does
    return found


SCALERS: Final[Any] = Scalers()
