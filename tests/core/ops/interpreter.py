"""The plainest interpreter of operators: NumPy arrays, computed at once.

It has no engine, no memory pool and no tape, so that a data sheet can be tested alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

import minimx.operators  # noqa: F401  (fills the registry)
from minimx.core.ops.registry import GradContext, Op, lookup
from minimx.core.ops.spec import Spec

NOTHING: Mapping[int, int] = MappingProxyType({})


def specs_of(arrays: Sequence[Any]) -> tuple[Spec, ...]:
    return tuple(Spec.of(a.shape, a.dtype) for a in arrays)


def run(
    op: Op, *arrays: Any, seed: int = 0, over: Mapping[int, int] = NOTHING
) -> tuple[Any, ...]:
    """All outputs of an operator, the hidden ones as well.

    over: {place of an output: place of the input that it is written over}.
    """
    inputs = [np.asarray(a, order="C") for a in arrays]
    plan = op.plan(specs_of(inputs))
    outs = [np.empty(spec.shape, spec.dtype) for spec in plan.outs]
    for place, place_in in over.items():
        outs[place] = inputs[place_in].reshape(outs[place].shape)
    extras: list[Any] = []
    if plan.workspace:
        extras.append(np.empty(plan.workspace, np.uint8))
    if plan.needs_rng:
        extras.append(np.random.default_rng(seed))
    plan.kernel(*inputs, *outs, *extras)
    return tuple(outs)


class Value:
    """A NumPy array that answers to `bind` and to arithmetic."""

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, array: Any) -> None:
        self.array = array

    def _bind(self, op: Op, values: Sequence[Value]) -> Any:
        outs = run(op, *(value.array for value in values))
        made = tuple(Value(out) for out in outs[: op.visible])
        return made if op.visible > 1 else made[0]

    def _two(self, name: str, scalar: str, other: Any) -> Value:
        if isinstance(other, Value):
            return self._bind(lookup(name).of(), (self, other))  # type: ignore[no-any-return]
        return self._bind(lookup(scalar).of(scalar=other), (self,))  # type: ignore[no-any-return]

    def __neg__(self) -> Value:
        return self._bind(lookup("negative").of(), (self,))  # type: ignore[no-any-return]

    def __add__(self, other: Any) -> Value:
        return self._two("broadcast_add", "_plus_scalar", other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Value:
        return self._two("broadcast_sub", "_minus_scalar", other)

    def __rsub__(self, other: Any) -> Value:
        return self._two("broadcast_sub", "_rminus_scalar", other)

    def __mul__(self, other: Any) -> Value:
        return self._two("broadcast_mul", "_mul_scalar", other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Value:
        return self._two("broadcast_div", "_div_scalar", other)

    def __rtruediv__(self, other: Any) -> Value:
        return self._two("broadcast_div", "_rdiv_scalar", other)

    def __pow__(self, other: Any) -> Value:
        return self._two("broadcast_power", "_power_scalar", other)

    def __eq__(self, other: object) -> Value:  # type: ignore[override]
        return self._two("broadcast_equal", "_equal_scalar", other)

    def __ne__(self, other: object) -> Value:  # type: ignore[override]
        return self._two("broadcast_not_equal", "_not_equal_scalar", other)

    def __gt__(self, other: Any) -> Value:
        return self._two("broadcast_greater", "_greater_scalar", other)

    def __ge__(self, other: Any) -> Value:
        return self._two("broadcast_greater_equal", "_greater_equal_scalar", other)

    def __lt__(self, other: Any) -> Value:
        return self._two("broadcast_lesser", "_lesser_scalar", other)

    def __le__(self, other: Any) -> Value:
        return self._two("broadcast_lesser_equal", "_lesser_equal_scalar", other)


def input_names(op: Op, count: int) -> tuple[str, ...]:
    """The names of the inputs of a call with `count` arrays."""
    names: tuple[str, ...] = tuple(op.inputs)
    return tuple(f"data{k}" for k in range(count)) if op.variadic else names


def saved_values(op: Op, inputs: Sequence[Any], outs: Sequence[Any]) -> list[Any]:
    """The arrays that `saves` names."""
    known = dict(zip(input_names(op, len(inputs)), inputs, strict=True))
    known |= {f"out{k}" if k else "out": out for k, out in enumerate(outs)}
    return [known[name] for name in op.saves]


def gradients(
    op: Op,
    inputs: Sequence[Any],
    douts: Sequence[Any],
    wants: Sequence[bool],
    saved: Sequence[Any] | None = None,
) -> list[Any]:
    """The gradients of the inputs as NumPy arrays; None where there is none."""
    outs = run(op, *inputs)
    if saved is None:
        saved = saved_values(op, inputs, outs)
    site = GradContext(specs_of(inputs), specs_of(outs), tuple(wants))
    dout: Any = tuple(Value(d) for d in douts) if op.visible > 1 else Value(douts[0])
    found = op.grad(site, dout, *(Value(s) for s in saved))
    return [None if value is None else value.array for value in found]
