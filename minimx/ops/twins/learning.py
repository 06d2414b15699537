"""Twins of the updates: one step of an optimizer, in place."""

from __future__ import annotations

from typing import Any

from minimx.kernels.cuda import updates
from minimx.ops.registry import Kernel
from minimx.ops.spec import Spec
from minimx.ops.twins import twin
from minimx.ops.twins.layers import real

_SINGLE = {
    "sgd_update": updates.sgd,
    "sgd_mom_update": updates.sgd_mom,
    "nag_mom_update": updates.nag_mom,
    "signsgd_update": updates.signsgd,
    "signum_update": updates.signum,
    "adam_update": updates.adam,
    "rmsprop_update": updates.rmsprop,
}


@twin(*_SINGLE)
def single(op: Any, *specs: Spec) -> Kernel | None:
    """One weight."""
    if not real(*specs):
        return None
    rule, values = _SINGLE[op.name], op.values

    def run(weight: Any, grad: Any, *rest: Any) -> None:
        *states, out = rest
        updates.step(rule, weight, grad, tuple(states), out, values)

    return run


@twin("multi_sgd_update", "multi_sgd_mom_update")
def many(op: Any, *specs: Spec) -> Kernel | None:
    """One weight after the other."""
    if not real(*specs):
        return None
    width, end = len(op.own), len(specs)
    kernels: list[Any] = [single(step, *mine) for step, mine in op.parts(specs)]

    def run(*arrays: Any) -> None:
        for i, (kernel, out) in enumerate(zip(kernels, arrays[end:], strict=True)):
            kernel(*arrays[i * width : (i + 1) * width], out)

    return run
