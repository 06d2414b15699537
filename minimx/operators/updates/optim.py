"""Data sheets of the update operators: one step of an optimizer, in place.

    sgd_mom_update(weight, grad, mom, lr=0.1, momentum=0.9, out=weight)

The states (`mom`, `mean`, ...) are changed; the new weight is the output, which callers
let be `weight` itself. wd is weight decay; the gradient is first multiplied by
rescale_grad, then clipped to ±clip_gradient unless that is negative (Adam and RMSProp
add the weight decay first and clip the sum, as in MXNet). lazy_update asks for skipped
rows in sparse gradients; a dense gradient has none.

`multi_` operators do the same for many weights in one call, `mp_` ones keep a weight in
float32 beside the one in float16 that the network uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any, ClassVar, Self

from minimx.core.errors import OperatorError
from minimx.core.kernels import find
from minimx.core.ops.checks import expect
from minimx.core.ops.registry import Kernel, Op, Plan, register
from minimx.core.ops.settings import fields_of
from minimx.core.ops.spec import Cost, Spec

#: What of a plan does not depend on an operator's numbers.
_FACTS = "cost", "eager", "name", "needs_rng", "outs", "plain", "workspace"


class Update(Op):
    """A step for one weight; every input has the shape of weight.

    A sheet names its rule and its states; inputs and `mutates` follow from them.
    """

    differentiable = False
    #: The rule in `operators/kernels/updates/updates.py`. Its numbers are the settings
    #: that are floats, in their order.
    rule: ClassVar[str] = ""
    #: Arrays that the rule changes besides the weight.
    states: ClassVar[tuple[str, ...]] = ()
    #: Arrays after them: copies of the weight in float32, which change too.
    masters: ClassVar[tuple[str, ...]] = ()
    #: Arrays at the end that are only read.
    constants: ClassVar[tuple[str, ...]] = ()
    #: Operations for one element.
    steps: ClassVar[int] = 6

    #: The settings of the operator made last, without its floats; and the operator.
    _last: ClassVar[Any]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.mutates = (*cls.states, *cls.masters)
        cls.inputs = ("weight", "grad", *cls.mutates, *cls.constants)
        cls._last = None, None

    @classmethod
    def of(cls, **settings: Any) -> Self:
        """As for any operator; where only floats changed, a copy of the last one.

        A rate may change with every step, and that is faster than checking all again.
        """
        key = repr(settings)
        made: Self | None = cls._made.get(key)
        if made is None:
            floats = {name: x for name, x in settings.items() if type(x) is float}
            others = repr({**settings, **dict.fromkeys(floats, float)})
            form, last = cls._last  # once, as threads may change it
            if form == others:
                made = object.__new__(cls)
                plans = made._planned_as(last)
                vars(made).update(last.settings, **floats, plans=plans)
            else:
                made = super().of(**settings)
            if len(cls._made) >= 4096:
                cls._made.clear()
            cls._last, cls._made[key] = (others, made), made
        return made

    def _planned_as(self, last: Op) -> dict[Any, Plan]:
        """The plans of another operator, with this one's numbers."""
        plans = {}
        for specs, plan in list(last.plans.items()):
            if isinstance(plan, Plan) and plan.eager is None:
                plans[specs] = made = object.__new__(Plan)
                for name in _FACTS:
                    setattr(made, name, getattr(plan, name))
                made._op, made._compute = self, partial(self.compute, *specs)
        return plans

    def infer(self, *specs: Spec) -> Spec:
        """The shape of weight."""
        weight = specs[0]
        for name, spec in zip(self.inputs[1:], specs[1:], strict=True):
            expect(self.name, name, spec, weight.shape, "weight")
        return weight

    @property
    def found_rule(self) -> Any:
        """The rule, in this file of kernels or the one that its name begins with."""
        return find(self.rule if "." in self.rule else f"updates.{self.rule}")

    @property
    def numbers(self) -> tuple[str, ...]:
        """The settings that the rule takes, in its order."""
        fields = fields_of(type(self))
        return tuple([field.name for field in fields if field.type == "float"])

    @cached_property
    def values(self) -> tuple[float, ...]:
        """The numbers of the rule, in its order."""
        return tuple([getattr(self, name) for name in self.numbers])

    def kernel(self, *specs: Spec) -> Kernel:
        """One pass over all arrays."""
        return self.with_numbers(self.values)

    def with_numbers(self, values: tuple[float, ...]) -> Kernel:
        """The kernel for other numbers than those of the settings."""
        step, rule = find("updates.step"), self.found_rule

        def run(weight: Any, grad: Any, *rest: Any) -> None:
            *states, out = rest
            step(rule, weight, grad, tuple(states), out, values)

        return run

    def cost(self, *specs: Spec) -> Cost:
        """Every array is read; the weight and the states are written."""
        moved = sum(spec.nbytes for spec in specs) * 2 - specs[1].nbytes
        return Cost(self.steps * specs[0].size, moved)


class Mixed(Update):
    """A step for a float32 weight, `weight32`, rounded into a float16 one."""

    masters = ("weight32",)

    def with_numbers(self, values: tuple[float, ...]) -> Kernel:
        """A step of the float32 weight, then the rounding."""
        mixed, rule = find("updates.mixed"), self.found_rule

        def run(weight: Any, grad: Any, *rest: Any) -> None:
            *states, master, out = rest
            mixed(rule, grad, tuple(states), master, out, values)

        return run


@register("sgd_update")
class SGD(Update):
    """Stochastic gradient descent: weight -= lr * (grad + wd * weight)."""

    lr: float
    wd: float = 0.0
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0
    lazy_update: bool = True

    rule = "sgd"


@register("sgd_mom_update")
class SGDMom(Update):
    """Gradient descent with momentum.

    mom = momentum * mom - lr * (grad + wd * weight); weight += mom
    """

    lr: float
    momentum: float = 0.0
    wd: float = 0.0
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0
    lazy_update: bool = True

    rule, states = "sgd_mom", ("mom",)


@register("mp_sgd_update")
class MixedSGD(SGD, Mixed):
    """sgd_update of a float32 weight32, rounded into a float16 weight."""


@register("mp_sgd_mom_update")
class MixedSGDMom(SGDMom, Mixed):
    """sgd_mom_update of a float32 weight32 and mom, rounded into a float16 weight."""


@register("nag_mom_update")
class NAG(Update):
    """Nesterov's momentum: the step is taken from where the momentum leads.

    mom = momentum * mom - lr * g, with g = grad + wd * weight
    weight += momentum * mom - lr * g
    What is kept as mom has, as in MXNet, the decay of the new weight in it.
    """

    lr: float
    momentum: float = 0.0
    wd: float = 0.0
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0

    rule, states = "nag_mom", ("mom",)


@register("signsgd_update")
class SignSGD(Update):
    """Only the sign counts: weight = (1 - lr * wd) * weight - lr * sign(grad)."""

    lr: float
    wd: float = 0.0
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0

    rule = "signsgd"


@register("signum_update")
class Signum(Update):
    """The sign of a momentum.

    mom = momentum * mom - (1 - momentum) * (grad + wd * weight)
    weight = (1 - lr * wd_lh) * weight + lr * sign(mom)
    """

    lr: float
    momentum: float = 0.0
    wd: float = 0.0
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0
    wd_lh: float = 0.0

    rule, states = "signum", ("mom",)
    steps = 8


@register("adam_update")
class Adam(Update):
    """Adam without bias correction, which its caller puts into lr.

    mean and var average g and g * g, with g = grad + wd * weight
    weight -= lr * mean / (sqrt(var) + epsilon)
    """

    lr: float
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    wd: float = 0.0
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0
    lazy_update: bool = True

    rule, states = "adam", ("mean", "var")
    steps = 14


@register("rmsprop_update")
class RMSProp(Update):
    """Divide the gradient by its running size.

    n averages g * g, with g = grad + wd * weight; weight -= lr * g / sqrt(n + epsilon)
    clip_weights: weights are kept within ± that, unless it is negative.
    """

    lr: float
    gamma1: float = 0.95
    epsilon: float = 1e-8
    wd: float = 0.0
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0
    clip_weights: float = -1.0

    rule, states = "rmsprop", ("n",)
    steps = 10


@register("rmspropalex_update")
class RMSPropAlex(Update):
    """RMSProp about the mean gradient, with momentum (Alex Graves's version).

    n averages g * g, g averages the gradient
    delta = gamma2 * delta - lr * grad / sqrt(n - g * g + epsilon); weight += delta
    """

    lr: float
    gamma1: float = 0.95
    gamma2: float = 0.9
    epsilon: float = 1e-8
    wd: float = 0.0
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0
    clip_weights: float = -1.0

    rule, states = "rmspropalex", ("n", "g", "delta")
    steps = 16


# -- many weights at once --------------------------------------------------------------


class Multi(Op):
    """Steps for `num_weights` weights; out: the weights.

    The inputs are those of `single` for the first weight, then for the second, ...
    lrs, wds: a number for each weight.
    """

    variadic = True
    differentiable = False
    #: The update operator that does one of the steps.
    single: ClassVar[type[Update]] = SGD

    #: Settings with a number for each weight, and what a single step calls them.
    lists: ClassVar[dict[str, str]] = {"lrs": "lr", "wds": "wd"}
    #: The setting that says how many weights there are.
    counter: ClassVar[str] = "num_weights"
    #: Arrays after those of the weights: all steps read them.
    shared: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.lists:
            given = getattr(self, name)
            given = given if isinstance(given, tuple) else (given,)
            if len(given) != self.count:
                raise OperatorError(
                    f"{self.name}: {name} has {len(given)} numbers for {self.counter}="
                    f"{self.count}. Give one for each weight."
                )
            object.__setattr__(self, name, given)
        own, count = self.own, range(self.count)
        names = tuple(f"{name}{i}" for i in count for name in own)
        moves = tuple(f"{name}{i}" for i in count for name in self.single.mutates)
        object.__setattr__(self, "visible", self.count)
        object.__setattr__(self, "inputs", (*names, *self.shared))
        object.__setattr__(self, "mutates", moves)

    @property
    def count(self) -> int:
        """How many weights there are."""
        return int(getattr(self, self.counter))

    @property
    def own(self) -> tuple[str, ...]:
        """The inputs of a single step that are not shared."""
        names: tuple[str, ...] = self.single.inputs
        return tuple(name for name in names if name not in self.shared)

    def parts(self, specs: Sequence[Spec]) -> list[tuple[Update, tuple[Spec, ...]]]:
        """The single step of every weight, and the specs it is for."""
        width, end = len(self.own), len(specs) - len(self.shared)
        if end != width * self.count:
            more = f", and at the end {', '.join(self.shared)}" if self.shared else ""
            raise OperatorError(
                f"{self.name}: {len(specs)} arrays for {self.counter}={self.count}; "
                f"each weight needs {', '.join(self.own)}{more}."
            )
        tail = specs[end:] if self.own != self.single.inputs else ()
        return [
            (step, (*specs[i * width : (i + 1) * width], *tail))
            for i, step in enumerate(self.steps())
        ]

    def steps(self) -> list[Update]:
        """The single step of every weight."""
        common = {
            name: value
            for name, value in self.settings.items()
            if name not in self.lists and name != self.counter
        }
        numbers = zip(*(getattr(self, name) for name in self.lists), strict=True)
        names = self.lists.values()
        return [
            self.single.of(**dict(zip(names, mine, strict=True)), **common)
            for mine in numbers
        ]

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """The shapes of the weights."""
        return tuple(step.infer(*mine) for step, mine in self.parts(specs))

    def kernel(self, *specs: Spec) -> Kernel:
        """One step after the other."""
        width, end = len(self.own), len(specs)
        kernels = [step.kernel(*mine) for step, mine in self.parts(specs)]
        tail = end - len(self.shared)

        def run(*arrays: Any) -> None:
            outs, common = arrays[end:], arrays[tail:end]
            for i, (kernel, out) in enumerate(zip(kernels, outs, strict=True)):
                kernel(*arrays[i * width : (i + 1) * width], *common, out)

        return run

    def cost(self, *specs: Spec) -> Cost:
        """The sum over the weights."""
        costs = [step.cost(*mine) for step, mine in self.parts(specs)]
        return sum(costs, Cost(0, 0))


@register("multi_sgd_update")
class MultiSGD(Multi):
    """sgd_update for many weights: weight0, grad0, weight1, grad1, ..."""

    lrs: Any
    wds: Any
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0
    num_weights: int = 1


@register("multi_sgd_mom_update")
class MultiSGDMom(Multi):
    """sgd_mom_update for many weights: weight0, grad0, mom0, weight1, ..."""

    lrs: Any
    wds: Any
    momentum: float = 0.0
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0
    num_weights: int = 1

    single = SGDMom


@register("multi_mp_sgd_update")
class MultiMixedSGD(MultiSGD):
    """mp_sgd_update for many weights: weight0, grad0, weight32_0, weight1, ..."""

    single = MixedSGD


@register("multi_mp_sgd_mom_update")
class MultiMixedSGDMom(MultiSGDMom):
    """mp_sgd_mom_update for many weights: weight0, grad0, mom0, weight32_0, ..."""

    single = MixedSGDMom
