"""One row of the table from which every operator is questioned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

FLOATS = ("float32", "float64", "float16")


@dataclass(frozen=True)
class Sample:
    """A call of an operator, and what NumPy says about it.

    inputs: arrays in float64 where they are numbers that take part in the computation;
        integer arrays (indices) keep their type in every test.
    oracle: the same call in NumPy, `(*inputs) -> output or tuple of outputs`; None
        where the outputs are random.
    dtypes: the element types in which the call is made.
    smooth: whether the gradient is compared with central differences; a tuple says it
        for each input.
    tolerance: how many units in the last place of a number of size 1 are forgiven.
    """

    op: str
    inputs: tuple[Any, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    oracle: Callable[..., Any] | None = None
    dtypes: tuple[str, ...] = FLOATS
    smooth: bool | tuple[bool, ...] = True
    tolerance: float = 8
    note: str = ""

    def __str__(self) -> str:
        settings = ",".join(f"{k}={v}" for k, v in self.settings.items())
        return f"{self.op}({settings}){self.note}".replace(" ", "")

    def cast(self, dtype: str) -> tuple[Any, ...]:
        """The inputs with their real numbers in an element type."""
        return tuple(
            a.astype(dtype) if np.asarray(a).dtype == np.float64 else np.asarray(a)
            for a in self.inputs
        )

    def wants(self) -> tuple[bool, ...]:
        """Which inputs are real numbers whose gradient is asked for."""
        smooth = self.smooth
        if isinstance(smooth, bool):
            smooth = (smooth,) * len(self.inputs)
        return tuple(
            ask and np.asarray(a).dtype == np.float64
            for ask, a in zip(smooth, self.inputs, strict=True)
        )


def numbers(*shape: int, low: float = -2.0, high: float = 2.0, seed: int = 0) -> Any:
    """Different numbers between two bounds, well away from each other, shuffled."""
    size = int(np.prod(shape))
    steps = (np.arange(size) + 0.37) / max(size, 1)
    np.random.default_rng(seed + size).shuffle(steps)
    return (low + (high - low) * steps).reshape(shape)
