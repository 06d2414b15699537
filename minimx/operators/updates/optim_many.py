"""Data sheets of further updates of many weights at once; see `Multi` in `optim.py`.

`preloaded_` operators take learning rates and weight decays as arrays on the device, so
that no number has to travel from the host with every call.
"""

from __future__ import annotations

from typing import Any, ClassVar

from minimx.core.ops.checks import expect
from minimx.core.ops.registry import Kernel, register
from minimx.core.ops.spec import Spec
from minimx.operators.updates.optim import (
    SGD,
    MixedSGD,
    MixedSGDMom,
    Multi,
    SGDMom,
    Update,
)
from minimx.operators.updates.optim_adaptive import AdamW, Lamb, MixedAdamW, MixedLamb


@register("_multi_adamw_update")
class MultiAdamW(Multi):
    """_adamw_update for many: weight0, grad0, mean0, var0, ..., rescale_grad."""

    lrs: Any
    wds: Any
    etas: Any
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    clip_gradient: float = -1.0
    num_weights: int = 1

    single = AdamW
    lists = {"lrs": "lr", "wds": "wd", "etas": "eta"}
    shared = ("rescale_grad",)


@register("_multi_mp_adamw_update")
class MultiMixedAdamW(MultiAdamW):
    """_mp_adamw_update for many: as above, with weight32 after each var."""

    single = MixedAdamW


@register("_multi_lamb_update")
class MultiLamb(Multi):
    """A step of LAMB for many weights: weight0, grad0, mean0, var0, weight1, ..."""

    learning_rates: Any
    wds: Any
    step_count: Any
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-6
    rescale_grad: float = 1.0
    lower_bound: float = -1.0
    upper_bound: float = -1.0
    clip_gradient: float = -1.0
    bias_correction: bool = True
    num_tensors: int = 1

    single = Lamb
    lists = {"learning_rates": "lr", "wds": "wd", "step_count": "t"}
    counter = "num_tensors"


@register("_multi_mp_lamb_update")
class MultiMixedLamb(MultiLamb):
    """A step of LAMB for many: weight0, grad0, mean0, var0, weight32_0, weight1, ..."""

    single = MixedLamb


# -- rates as arrays -------------------------------------------------------------------


class Preloaded(Multi):
    """The last two inputs, lrs and wds, have a number for each weight."""

    lists: ClassVar[dict[str, str]] = {}
    shared = ("lrs", "wds")

    def steps(self) -> list[Update]:
        """The single steps, with rates that the arrays will replace."""
        common = {k: v for k, v in self.settings.items() if k != self.counter}
        return [self.single.of(lr=0.0, **common)] * self.count

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """The shapes of the weights."""
        found = super().infer(*specs)
        for name, spec in zip(self.shared, specs[-2:], strict=True):
            expect(self.name, name, spec, (self.count,), self.counter)
        return found

    def kernel(self, *specs: Spec) -> Kernel:
        """One step after the other, with the numbers found in the arrays."""
        steps, width, end = self.steps(), len(self.own), len(specs)

        def run(*arrays: Any) -> None:
            lrs, wds = arrays[end - 2 : end]
            for i, step in enumerate(steps):
                numbers = {"lr": float(lrs[i]), "wd": float(wds[i])}
                named = zip(step.numbers, step.values, strict=True)
                values = tuple(numbers.get(name, value) for name, value in named)
                mine = arrays[i * width : (i + 1) * width]
                step.with_numbers(values)(*mine, arrays[end + i])

        return run


@register("preloaded_multi_sgd_update")
class PreloadedMultiSGD(Preloaded):
    """sgd_update for many weights: weight0, grad0, weight1, ..., lrs, wds."""

    rescale_grad: float = 1.0
    clip_gradient: float = -1.0
    num_weights: int = 1

    single = SGD


@register("preloaded_multi_sgd_mom_update")
class PreloadedMultiSGDMom(Preloaded):
    """sgd_mom_update for many weights: weight0, grad0, mom0, weight1, ..., lrs, wds."""

    momentum: float = 0.0
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0
    num_weights: int = 1

    single = SGDMom


@register("preloaded_multi_mp_sgd_update")
class PreloadedMultiMixedSGD(PreloadedMultiSGD):
    """mp_sgd_update for many weights: weight0, grad0, weight32_0, ..., lrs, wds."""

    single = MixedSGD


@register("preloaded_multi_mp_sgd_mom_update")
class PreloadedMultiMixedSGDMom(PreloadedMultiSGDMom):
    """mp_sgd_mom_update for many: weight0, grad0, mom0, weight32_0, ..., lrs, wds."""

    single = MixedSGDMom
