"""Launches that are made of others: several launches, with scratch memory between.

    @composed("moments")
    def moments(op, data):              the values in, the values of the outputs back
        mean = bind(lookup("mean").of(axis=op.over(data.spec)), data)
        ...

A rule is written with operators, as gradients are (`Op.grad`). It runs once for a plan,
on values that only write down which operator took what; the launch then goes through
that list. Every operator of the list must have a launch for what it is given, or the
whole visits the host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from minimx.core.dtypes import NARROW
from minimx.core.errors import MXNetError
from minimx.core.ops.registry import Kernel, Op, bind, lookup
from minimx.core.ops.spec import Spec
from minimx.cuda.kernels import scratch
from minimx.cuda.kernels.default_launch import Maker
from minimx.cuda.launches import found, implements

Rule = Callable[..., Any]

_SIGNS = {
    "__add__": ("broadcast_add", "_plus_scalar"),
    "__radd__": ("broadcast_add", "_plus_scalar"),
    "__sub__": ("broadcast_sub", "_minus_scalar"),
    "__rsub__": ("broadcast_sub", "_rminus_scalar"),
    "__mul__": ("broadcast_mul", "_mul_scalar"),
    "__rmul__": ("broadcast_mul", "_mul_scalar"),
    "__truediv__": ("broadcast_div", "_div_scalar"),
    "__rtruediv__": ("broadcast_div", "_rdiv_scalar"),
    "__pow__": ("broadcast_power", "_power_scalar"),
    "__gt__": ("broadcast_greater", "_greater_scalar"),
    "__lt__": ("broadcast_lesser", "_lesser_scalar"),
}


class Refused(MXNetError):
    """An operator of a composition has no CUDA implementation."""


@dataclass
class Step:
    """One launch of a composition; numbers are those of values."""

    kernel: Kernel
    ins: list[int]
    outs: list[int]


@dataclass
class Recipe:
    """What a composition does: its values, numbered from 0, and its launches."""

    specs: list[Spec] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    #: {number of a value: that of the one whose memory it looks at}.
    views: dict[int, int] = field(default_factory=dict)

    def value(self, spec: Spec) -> Value:
        """A new value."""
        self.specs.append(spec)
        return Value(self, len(self.specs) - 1)

    def home(self, number: int) -> int:
        """The value that a value lies in, often itself."""
        return self.views.get(number, number)

    def apply(self, op: Op, values: Sequence[Value]) -> Any:
        """Write a call down. Raises `Refused` if it has no CUDA implementation."""
        ins = tuple(value.spec for value in values)
        inferred = op.infer(*ins)
        outs = inferred if isinstance(inferred, tuple) else (inferred,)
        made = [self.value(spec) for spec in outs]
        if op.is_view:
            self.views[made[0].number] = self.home(values[0].number)
            return made[0]
        kernel = None if op.needs_rng else found(op, ins, outs)
        if kernel is None:
            raise Refused(f"{op.name} has no CUDA implementation for {ins}.")
        numbers = [value.number for value in values]
        self.steps.append(Step(kernel, numbers, [value.number for value in made]))
        return tuple(made[: op.visible]) if op.visible > 1 else made[0]


class Value:
    """A value of a recipe; answers to `bind` and to arithmetic."""

    def __init__(self, recipe: Recipe, number: int) -> None:
        self.recipe, self.number = recipe, number

    @property
    def spec(self) -> Spec:
        """Its shape and element type."""
        return self.recipe.specs[self.number]

    def _bind(self, op: Op, values: Sequence[Value]) -> Any:
        return self.recipe.apply(op, values)


def _method(name: str, scalar: str, mirrored: bool) -> Any:
    def method(self: Value, other: Any) -> Any:
        if isinstance(other, Value):
            pair = (other, self) if mirrored else (self, other)
            return bind(lookup(name).of(), *pair)
        return bind(lookup(scalar).of(scalar=other), self)

    return method


for _sign, (_name, _scalar) in _SIGNS.items():
    setattr(Value, _sign, _method(_name, _scalar, _sign.startswith("__r")))


def composed(*names: str) -> Callable[[Rule], Rule]:
    """Enter a rule `(op, *values)` as the CUDA implementation of some operators."""

    def enter(rule: Rule) -> Rule:
        implements(*names)(maker(rule))
        return rule

    return enter


def maker(rule: Rule) -> Maker:
    """The launches of a rule, for the specs that they are asked for."""

    def make(op: Op, *specs: Spec) -> Kernel | None:
        inferred = op.infer(*specs)
        outs = inferred if isinstance(inferred, tuple) else (inferred,)
        if any(spec.dtype in NARROW for spec in (*specs, *outs)):
            return None  # so that intermediate results stay float32: `launches.half`
        recipe = Recipe()
        values = [recipe.value(spec) for spec in specs]
        try:
            answer = rule(op, *values)
        except Refused:
            return None
        if answer is None:
            return None
        answers = answer if isinstance(answer, tuple) else (answer,)
        return _launch(recipe, len(specs), [v.number for v in answers], outs)

    make.__module__ = rule.__module__
    return make


def _launch(
    recipe: Recipe, count: int, answers: Sequence[int], outs: Sequence[Spec]
) -> Kernel:
    """The launch of all steps; answers: which values are the outputs."""
    made = {number for step in recipe.steps for number in step.outs}
    homes = [recipe.home(number) for number in answers]
    # A value that is made here and goes out once is made where it has to go.
    direct = {h: k for k, h in enumerate(homes) if h in made and homes.count(h) == 1}
    last = dict(_last_uses(recipe, homes))
    copies = [
        (k, found(lookup("_copy").of(), (out,), (out,)))
        for k, out in enumerate(outs)
        if direct.get(homes[k]) != k
    ]

    def run(*arrays: Any) -> None:
        places = dict(enumerate(arrays[:count]))
        stacks: dict[int, ExitStack] = {}

        def place(number: int) -> Any:
            home, spec = recipe.home(number), recipe.specs[number]
            if home not in places:
                stacks[home] = stack.enter_context(ExitStack())
                own = recipe.specs[home]
                buffer = scratch.allocated((own.shape or (1,), own.dtype))
                (places[home],) = stacks[home].enter_context(buffer)
            return places[home].reshape(*(spec.shape or (1,)))

        with ExitStack() as stack:
            for home, k in direct.items():
                buffer = scratch.aside(arrays[count + k], *arrays[:count])
                places[home] = stack.enter_context(buffer)
            for at, step in enumerate(recipe.steps):
                step.kernel(*map(place, (*step.ins, *step.outs)))
                for home in last.get(at, ()):
                    if home in stacks:
                        stacks.pop(home).close()
            for k, copy in copies:
                copy(place(answers[k]), arrays[count + k])  # type: ignore[misc]

    return run


def _last_uses(recipe: Recipe, kept: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
    """(step, the values that no step after it reads)."""
    last: dict[int, int] = {}
    for at, step in enumerate(recipe.steps):
        for number in (*step.ins, *step.outs):
            last[recipe.home(number)] = at
    for at in range(len(recipe.steps)):
        yield at, [home for home in last if last[home] == at and home not in kept]


def scaled(value: Any, factor: float) -> Any:
    """A product with a number, unless that is 1."""
    return value if factor == 1 else value * factor
