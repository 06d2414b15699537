"""Data sheets of further update operators; `optim.py` says how they are called.

    lamb_update_phase1, phase2     LAMB in two halves, between which norms are taken
    _lamb_update                   both halves in one call

AdamW's `rescale_grad` is an array of one element: where it is 0 or not finite, which is
how loss scaling says that a gradient overflowed, nothing is changed.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from minimx.core.dtypes import FLOAT32
from minimx.core.kernels import find
from minimx.core.ops.checks import expect
from minimx.core.ops.registry import Kernel, Op, register
from minimx.core.ops.spec import Cost, Spec
from minimx.operators.updates.optim import NAG, Mixed, Update


@register("mp_nag_mom_update")
class MixedNAG(NAG, Mixed):
    """nag_mom_update of a float32 weight32 and mom, rounded into a float16 weight."""


@register("ftml_update")
class FTML(Update):
    """Follow the moving leader (Zheng and Kwok, 2017).

    With g = rescale_grad * grad + wd * weight, clipped to ±clip_grad, v averages g * g;
    d = (1 - beta1**t) / lr * (sqrt(v / (1 - beta2**t)) + epsilon)
    z = beta1 * z + (1 - beta1) * g - (d - beta1 * d_before) * weight; weight = -z / d
    t: which update this is, from 1.
    """

    lr: float
    t: int
    beta1: float = 0.6
    beta2: float = 0.999
    epsilon: float = 1e-8
    wd: float = 0.0
    rescale_grad: float = 1.0
    clip_grad: float = -1.0

    rule, states = "adaptive.ftml", ("d", "v", "z")
    steps = 20

    @property
    def values(self) -> tuple[float, ...]:
        """The numbers of the rule, with the two corrections worked out."""
        first, second = 1 - self.beta1**self.t, 1 - self.beta2**self.t
        return (
            self.lr, self.beta1, self.beta2, self.epsilon, first, second, self.wd,
            self.rescale_grad, self.clip_grad,
        )  # fmt: skip


@register("ftrl_update")
class Ftrl(Update):
    """Follow the regularised leader (McMahan et al., 2013).

    z += grad - (sqrt(n + grad * grad) - sqrt(n)) * weight / lr; n += grad * grad
    weight = (sign(z) * lamda1 - z) / ((beta + sqrt(n)) / lr + wd) if |z| > lamda1, or 0
    """

    lr: float
    lamda1: float = 0.01
    beta: float = 1.0
    wd: float = 0.0
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0

    rule, states = "adaptive.ftrl", ("z", "n")
    steps = 16


# -- AdamW -----------------------------------------------------------------------------


@register("_adamw_update")
class AdamW(Update):
    """Adam with a weight decay of its own (Loshchilov and Hutter, 2017).

    mean and var average rescale_grad * grad and its square
    weight -= eta * (lr * mean / (sqrt(var) + epsilon) + wd * weight)
    """

    lr: float
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    wd: float = 0.0
    eta: float = 1.0
    clip_gradient: float = -1.0

    rule, states, constants = "adaptive.adamw", ("mean", "var"), ("rescale_grad",)
    steps = 16

    def infer(self, *specs: Spec) -> Spec:
        """The spec of weight; rescale_grad is one number."""
        for name, spec in zip(self.inputs[1:-1], specs[1:-1], strict=True):
            expect(self.name, name, spec, specs[0].shape, "weight")
        if specs[-1].size != 1:
            expect(self.name, "rescale_grad", specs[-1], (1,), "one scale for all")
        return specs[0]

    def kernel(self, *specs: Spec) -> Kernel:
        """A step, unless the scale says that there was an overflow."""

        def run(weight: Any, *rest: Any) -> None:
            *arrays, scale, out = rest
            rescale = float(scale.reshape(-1)[0])
            if np.isfinite(rescale) and rescale != 0:
                self.with_numbers((*self.values, rescale))(weight, *arrays, out)
            else:
                np.copyto(out, weight)

        return run


@register("_mp_adamw_update")
class MixedAdamW(AdamW, Mixed):
    """_adamw_update of a float32 weight32, rounded into a float16 weight."""


# -- LAMB ------------------------------------------------------------------------------


class _Direction(Update):
    """The first half of LAMB."""

    rule, states = "adaptive.lamb", ("mean", "var")
    steps = 18

    t: int
    beta1: float
    beta2: float
    epsilon: float
    bias_correction: bool
    wd: float
    rescale_grad: float
    clip_gradient: float

    @property
    def values(self) -> tuple[float, ...]:
        """The numbers of the rule, with the two corrections worked out."""
        first = second = 1.0
        if self.bias_correction:
            first, second = 1 - self.beta1**self.t, 1 - self.beta2**self.t
        return (
            self.beta1, self.beta2, self.epsilon, first, second, self.wd,
            self.rescale_grad, self.clip_gradient,
        )  # fmt: skip


@register("lamb_update_phase1")
class LambPhase1(_Direction):
    """The direction of a step of LAMB (You et al., 2019); out: that, not the weight.

    mean and var average grad and its square; without bias_correction as they are
    out = mean / (1 - beta1**t) / (sqrt(var / (1 - beta2**t)) + epsilon) + wd * weight
    """

    t: int
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-6
    bias_correction: bool = True
    wd: float = 0.0
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0


@register("mp_lamb_update_phase1")
class MixedLambPhase1(LambPhase1):
    """lamb_update_phase1 for a float32 weight32 and a float16 grad. out: float32."""

    constants = ("weight32",)

    def infer(self, *specs: Spec) -> Spec:
        """The shape of weight, in single precision."""
        return super().infer(*specs).with_dtype(FLOAT32)

    def kernel(self, *specs: Spec) -> Kernel:
        """The half-precision weight is not read."""
        run = super().kernel(*specs)

        def single(weight: Any, grad: Any, mean: Any, var: Any, *rest: Any) -> None:
            master, out = rest
            run(master, grad.astype(np.float32), mean, var, out)

        return single


@register("lamb_update_phase2")
class LambPhase2(Op):
    """A step along g, as long as the lengths of weight and g say.

    weight, g, out: one shape; r1, r2 (1,): the norms of weight and g, r1 kept within
    the bounds that are not negative; out = weight - lr * r1 / r2 * g
    """

    lr: float
    lower_bound: float = -1.0
    upper_bound: float = -1.0

    inputs: ClassVar[tuple[str, ...]] = ("weight", "g", "r1", "r2")
    differentiable = False

    def infer(self, *specs: Spec) -> Spec:
        """The spec of weight; r1 and r2 are one number each."""
        weight, g, r1, r2, *master = specs
        for name, spec in (("g", g), *(("weight32", spec) for spec in master)):
            expect(self.name, name, spec, weight.shape, "weight")
        for name, spec in (("r1", r1), ("r2", r2)):
            if spec.size != 1:
                expect(self.name, name, spec, (1,), "a length")
        return weight

    def rate(self, r1: Any, r2: Any) -> float:
        """The step length, from the lengths of the weight and of the direction."""
        found: float = find("adaptive.trust")(
            self.lr,
            self.lower_bound,
            self.upper_bound,
            float(r1.reshape(-1)[0]),
            float(r2.reshape(-1)[0]),
        )
        return found

    def kernel(self, *specs: Spec) -> Kernel:
        """One pass over the weight."""

        def run(weight: Any, g: Any, r1: Any, r2: Any, out: Any) -> None:
            np.subtract(weight, g.dtype.type(self.rate(r1, r2)) * g, out=out)

        return run

    def cost(self, *specs: Spec) -> Cost:
        """A multiplication and a subtraction for each element."""
        return Cost(2 * specs[0].size, 3 * specs[0].nbytes)


@register("mp_lamb_update_phase2")
class MixedLambPhase2(LambPhase2):
    """lamb_update_phase2 of a float32 weight32, rounded into a float16 weight."""

    inputs = ("weight", "g", "r1", "r2", "weight32")
    mutates = ("weight32",)

    def kernel(self, *specs: Spec) -> Kernel:
        """One pass over the weight, then the rounding."""

        def run(weight: Any, g: Any, r1: Any, r2: Any, *rest: Any) -> None:
            master, out = rest
            master -= np.float32(self.rate(r1, r2)) * g
            out[...] = master

        return run


@register("_lamb_update")
class Lamb(_Direction):
    """A whole step of LAMB: phase 1, the norms of weight and direction, phase 2."""

    t: int
    lr: float
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-6
    bias_correction: bool = True
    wd: float = 0.0
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0
    lower_bound: float = -1.0
    upper_bound: float = -1.0

    def kernel(self, *specs: Spec) -> Kernel:
        """The direction, two norms, the step."""
        direction = self.with_numbers(self.values)
        trust, mixed = find("adaptive.trust"), bool(self.masters)

        def run(weight: Any, grad: Any, mean: Any, var: Any, *rest: Any) -> None:
            *master, out = rest
            if mixed:
                weight, grad = master[0], grad.astype(np.float32)
            g = np.empty_like(weight)
            direction(weight, grad, mean, var, g)
            r1, r2 = (float(np.linalg.norm(x.astype(np.float64))) for x in (weight, g))
            rate = trust(self.lr, self.lower_bound, self.upper_bound, r1, r2)
            g *= g.dtype.type(rate)
            if mixed:
                weight -= g
                out[...] = weight
            else:
                np.subtract(weight, g, out=out)

        return run


@register("_mp_lamb_update")
class MixedLamb(Lamb):
    """_lamb_update of a float32 weight32, rounded into a float16 weight."""

    masters = ("weight32",)


@register("_contrib_group_adagrad_update")
class GroupAdaGrad(Op):
    """AdaGrad with one step length for each row.

    weight, grad (n, m); history (n, 1): history += mean(grad * grad) over a row
    weight -= lr * grad / sqrt(history + epsilon)
    """

    lr: float
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0
    epsilon: float = 1e-5

    inputs = ("weight", "grad", "history")
    mutates = ("history",)
    differentiable = False

    def infer(self, *specs: Spec) -> Spec:
        """The spec of weight."""
        weight, grad, history = specs
        expect(self.name, "grad", grad, weight.shape, "weight")
        if history.size != weight.shape[0]:
            expect(self.name, "history", history, (weight.shape[0], 1), "weight")
        return weight

    def kernel(self, *specs: Spec) -> Kernel:
        """Row by row."""
        made: Kernel = find("adaptive.group_adagrad")(
            self.lr, self.epsilon, self.rescale_grad, self.clip_gradient
        )
        return made
