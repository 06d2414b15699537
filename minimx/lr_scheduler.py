"""Learning rates as functions of the number of updates, from plain to smooth.

A scheduler is a callable: `scheduler(num_update)` is the learning rate of that update.
Every scheduler can warm up first: during `warmup_steps` updates the rate climbs from
`warmup_begin_lr` to `base_lr` (`linear`) or stays at `warmup_begin_lr` (`constant`).

>>> halving = FactorScheduler(step=2, factor=0.5, base_lr=1.0)
>>> [halving(n) for n in (1, 2, 3, 4, 5)]
[1.0, 1.0, 0.5, 0.5, 0.25]
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi

from minimx.core.errors import ArgumentError

WARMUP_MODES = ("linear", "constant")


class LRScheduler:
    """The base: warm-up, and `base_lr`, which the optimizer sets."""

    def __init__(
        self,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        name = type(self).__name__
        if warmup_steps < 0 or int(warmup_steps) != warmup_steps:
            raise ArgumentError(
                f"{name}: warmup_steps={warmup_steps} is not a number of updates; "
                "give 0 (no warm-up) or a positive integer."
            )
        if warmup_begin_lr > base_lr:
            raise ArgumentError(
                f"{name}: warm-up climbs from warmup_begin_lr={warmup_begin_lr} to "
                f"base_lr={base_lr}, but the first is larger. Lower it."
            )
        if warmup_mode not in WARMUP_MODES:
            raise ArgumentError(
                f"{name}: warmup_mode={warmup_mode!r}: choose one of "
                f"{', '.join(WARMUP_MODES)}."
            )
        self.base_lr = base_lr
        self.warmup_steps = warmup_steps
        self.warmup_begin_lr = warmup_begin_lr
        self.warmup_final_lr = base_lr
        self.warmup_mode = warmup_mode

    def get_warmup_lr(self, num_update: int) -> float:
        """The learning rate of an update that belongs to the warm-up."""
        if self.warmup_mode == "constant":
            return self.warmup_begin_lr
        climb = self.warmup_final_lr - self.warmup_begin_lr
        return self.warmup_begin_lr + climb * num_update / self.warmup_steps

    def __call__(self, num_update: int) -> float:
        """The learning rate of update number `num_update` (from 1)."""
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        return self._after_warmup(num_update)

    def _after_warmup(self, num_update: int) -> float:
        """The learning rate of an update that does not belong to the warm-up."""
        raise ArgumentError(
            f"{type(self).__name__} has no schedule; override __call__(num_update)."
        )


def _check_factor(name: str, factor: float) -> None:
    if factor > 1:
        raise ArgumentError(
            f"{name}: factor={factor} would make the rate grow; give 1 or less."
        )


class FactorScheduler(LRScheduler):
    """Multiply the rate by `factor` every `step` updates, down to `stop_factor_lr`.

    Raises ArgumentError for a step below 1 or a factor above 1.
    """

    def __init__(
        self,
        step: int,
        factor: float = 1,
        stop_factor_lr: float = 1e-8,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if step < 1:
            raise ArgumentError(
                f"FactorScheduler: step={step} is no number of updates; give 1 or more."
            )
        _check_factor("FactorScheduler", factor)
        self.step = step
        self.factor = factor
        self.stop_factor_lr = stop_factor_lr
        self.count = 0

    def _after_warmup(self, num_update: int) -> float:
        while num_update > self.count + self.step:
            self.count += self.step
            self.base_lr = max(self.base_lr * self.factor, self.stop_factor_lr)
        return self.base_lr


class MultiFactorScheduler(LRScheduler):
    """Multiply the rate by `factor` after each of the updates listed in `step`.

    Raises ArgumentError unless these grow from 1 on, or for a factor above 1.
    """

    def __init__(
        self,
        step: Sequence[int],
        factor: float = 1,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        steps = list(step)
        if not steps or steps[0] < 1 or steps != sorted(set(steps)):
            raise ArgumentError(
                f"MultiFactorScheduler: step={steps} must list one or more update "
                "numbers, each larger than the one before, starting at 1 or later."
            )
        _check_factor("MultiFactorScheduler", factor)
        self.step = steps
        self.factor = factor
        self.cur_step_ind = 0

    def _after_warmup(self, num_update: int) -> float:
        while (
            self.cur_step_ind < len(self.step)
            and num_update > self.step[self.cur_step_ind]
        ):
            self.cur_step_ind += 1
            self.base_lr *= self.factor
        return self.base_lr


class _Descent(LRScheduler):
    """From `base_lr` after the warm-up to `final_lr` at update `max_update`."""

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if max_update < 1 or max_update <= warmup_steps:
            raise ArgumentError(
                f"{type(self).__name__}: max_update={max_update} leaves no updates for "
                f"the way down after warmup_steps={warmup_steps}. Raise it."
            )
        self.base_lr_orig = base_lr
        self.max_update = max_update
        self.final_lr = final_lr
        self.max_steps = max_update - warmup_steps

    def _height(self, done: float) -> float:
        """How much of the way down is left, from 1 to 0, when a share is done."""
        raise ArgumentError(f"{type(self).__name__} has no curve")

    def _after_warmup(self, num_update: int) -> float:
        if num_update <= self.max_update:
            done = (num_update - self.warmup_steps) / self.max_steps
            drop = self.base_lr_orig - self.final_lr
            self.base_lr = self.final_lr + drop * self._height(done)
        return self.base_lr


class PolyScheduler(_Descent):
    """From base_lr to final_lr along (1 - t)**pwr.

    t goes from 0 to 1 between the end of the warm-up and update `max_update`; later
    the rate stays.
    """

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        pwr: int = 2,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(
            max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode
        )
        self.power = pwr

    def _height(self, done: float) -> float:
        return float((1 - done) ** self.power)


class CosineScheduler(_Descent):
    """From base_lr to final_lr along (1 + cos(pi * t)) / 2; t as in `PolyScheduler`."""

    def _height(self, done: float) -> float:
        return (1 + cos(pi * done)) / 2
