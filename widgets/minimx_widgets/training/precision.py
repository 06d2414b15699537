"""In which type the layers of a running training compute, and what scales its losses.

It may change between any two steps: the weights and the optimizer's states are float32
throughout, and only what operators read is converted. Other trainings and cells of the
process are not affected.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import minimx as mx

#: Types in which layers compute; weights and updates are float32 in any case.
SINGLE, HALF = "float32", "float16"
DTYPES = (SINGLE, HALF, "bfloat16")
#: What the loss is multiplied by: a scale that adapts itself, one that stays, or none.
DYNAMIC, STATIC, OFF = "dynamic", "static", "off"
SCALINGS = (DYNAMIC, STATIC, OFF)
#: Where the static scale stays. Gradients of float16 vanish below 6e-8.
STATIC_SCALE = 1024.0


def scaler_for(dtype: str, scaling: str) -> mx.amp.LossScaler | None:
    """What scales the losses; only float16 needs it, as its exponents are few."""
    if dtype != HALF or scaling == OFF:
        return None
    if scaling == DYNAMIC:
        return mx.amp.LossScaler()
    return mx.amp.LossScaler(init_scale=STATIC_SCALE, policy=_stays)


def _stays(scale: float, good: int, overflow: bool) -> tuple[float, int]:
    """The policy of a static scale; a step that overflows is skipped all the same."""
    return scale, 0 if overflow else good + 1


class Precision:
    """The type and the loss scale of one trainer.

    skipped: steps that were left out because of an overflow, under all scalers so far.
    """

    def __init__(self, trainer: mx.gluon.Trainer) -> None:
        self._trainer = trainer
        self._cast = mx.amp.autocast(SINGLE)
        self._skipped_before = 0
        self.dtype, self.scaling = SINGLE, DYNAMIC
        self.scaler: mx.amp.LossScaler | None = None

    @property
    def skipped(self) -> int:
        """How many steps were skipped since training began."""
        now = 0 if self.scaler is None else self.scaler.skipped
        return self._skipped_before + now

    @property
    def loss_scale(self) -> float:
        """What the loss is multiplied by; 1 without a scaler."""
        return 1.0 if self.scaler is None else self.scaler.loss_scale

    def change(self, dtype: str, scaling: str) -> bool:
        """Compute in another way from the next step on; returns whether it is one."""
        if (dtype, scaling) == (self.dtype, self.scaling):
            return False
        self._skipped_before = self.skipped
        if dtype != self.dtype:
            self._cast = mx.amp.autocast(dtype)
        self.scaler = scaler_for(dtype, scaling)
        mx.amp.set_scaler(self._trainer, self.scaler)
        self.dtype, self.scaling = dtype, scaling
        return True

    def computing(self) -> mx.amp.autocast:
        """A block of code whose operators compute in the type."""
        return self._cast

    @contextmanager
    def scaled(self, loss: Any) -> Iterator[Any]:
        """The loss to walk back from: scaled, if there is a scaler."""
        if self.scaler is None:
            yield loss
        else:
            with mx.amp.scale_loss(loss, self._trainer) as large:
                yield large
