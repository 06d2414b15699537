"""Launches of the updates: one step of an optimizer, in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.kernels.formula import Formula
from minimx.core.ops.registry import Kernel
from minimx.core.ops.spec import Spec
from minimx.cuda.kernels import pointwise, scratch
from minimx.cuda.kernels.core import reduce
from minimx.cuda.kernels.updates import adaptive, updates
from minimx.cuda.launches import found, implements
from minimx.cuda.launches.core.nn import real

_SAME = Formula("x", ("x",))

#: Rules for one weight, and those of a float32 weight beside it.
_SINGLE = {
    "sgd_update": updates.sgd,
    "sgd_mom_update": updates.sgd_mom,
    "nag_mom_update": updates.nag_mom,
    "signsgd_update": updates.signsgd,
    "signum_update": updates.signum,
    "adam_update": updates.adam,
    "rmsprop_update": updates.rmsprop,
    "rmspropalex_update": updates.rmspropalex,
    "ftml_update": adaptive.ftml,
    "ftrl_update": adaptive.ftrl,
    "_adamw_update": adaptive.adamw,
    "lamb_update_phase1": adaptive.lamb,
}
_MIXED = {
    "mp_sgd_update": updates.sgd,
    "mp_sgd_mom_update": updates.sgd_mom,
    "mp_nag_mom_update": updates.nag_mom,
    "_mp_adamw_update": adaptive.adamw,
}


@implements(*_SINGLE)
def single(op: Any, *specs: Spec) -> Kernel | None:
    """One weight."""
    if not real(*specs):
        return None
    rule, values = _SINGLE[op.name], op.values

    def run(weight: Any, grad: Any, *rest: Any) -> None:
        *states, out = rest
        updates.step(rule, weight, grad, tuple(states), out, values)

    return run


@implements(*_MIXED)
def mixed(op: Any, *specs: Spec) -> Kernel | None:
    """The float32 weight takes the step; the other one is its copy."""
    if not real(*specs):
        return None
    rule, values = _MIXED[op.name], op.values
    place, copy = op.inputs.index("weight32"), _copied(specs[0])

    def run(weight: Any, grad: Any, *rest: Any) -> None:
        *states, out = rest
        master = states.pop(place - 2)
        updates.step(rule, master, grad, tuple(states), master, values)
        copy(master, out)

    return run


def _copied(spec: Spec) -> Any:
    flat = (spec.size,)
    return pointwise.kernel(_SAME, [flat], [np.dtype("float32")], flat, spec.dtype)


@implements(
    "multi_sgd_update", "multi_sgd_mom_update", "multi_mp_sgd_update",
    "multi_mp_sgd_mom_update", "_multi_adamw_update", "_multi_mp_adamw_update",
    "_multi_lamb_update", "_multi_mp_lamb_update",
)  # fmt: skip
def many(op: Any, *specs: Spec) -> Kernel | None:
    """One weight after the other."""
    width, end = len(op.own), len(specs)
    kernels = [
        found(step, mine, (step.infer(*mine),)) for step, mine in op.parts(specs)
    ]
    if None in kernels:
        return None
    ready: list[Any] = kernels
    tail = end - len(op.shared)

    def run(*arrays: Any) -> None:
        outs, common = arrays[end:], arrays[tail:end]
        for i, (kernel, out) in enumerate(zip(ready, outs, strict=True)):
            kernel(*arrays[i * width : (i + 1) * width], *common, out)

    return run


@implements(
    "preloaded_multi_sgd_update", "preloaded_multi_sgd_mom_update",
    "preloaded_multi_mp_sgd_update", "preloaded_multi_mp_sgd_mom_update",
)  # fmt: skip
def preloaded(op: Any, *specs: Spec) -> Kernel | None:
    """One weight after the other; each finds its rate on the device."""
    if not real(*specs):
        return None
    width, end, own = len(op.own), len(specs), op.own
    copies = [_copied(specs[i * width]) for i in range(op.count)]
    skipped = ("lr", "wd")

    def run(*arrays: Any) -> None:
        rates = arrays[end - 2 : end]
        for i, (step, copy) in enumerate(zip(op.steps(), copies, strict=True)):
            mine = dict(zip(own, arrays[i * width : (i + 1) * width], strict=True))
            words = zip(step.numbers, step.values, strict=True)
            numbers = tuple(value for word, value in words if word not in skipped)
            states = (mine["mom"],) if "mom" in mine else ()
            weight, out = mine.get("weight32", mine["weight"]), arrays[end + i]
            target = mine.get("weight32", out)
            gradient = mine["grad"]
            updates.preloaded(weight, gradient, states, target, rates, i, numbers)
            if target is not out:
                copy(target, out)

    return run


# -- LAMB and LARS ---------------------------------------------------------------------


@implements("lamb_update_phase2")
def lamb_end(op: Any, *specs: Spec) -> Kernel | None:
    """The step, as long as two numbers on the device say."""
    if not real(*specs):
        return None
    numbers, trust = (op.lr, op.lower_bound, op.upper_bound), adaptive.trust

    def run(weight: Any, g: Any, r1: Any, r2: Any, out: Any) -> None:
        trust(weight, g, r1, r2, out, *numbers)

    return run


@implements("mp_lamb_update_phase2")
def mixed_lamb_end(op: Any, *specs: Spec) -> Kernel | None:
    """The same for the float32 weight, and a copy."""
    if not real(*specs):
        return None
    numbers, copy = (op.lr, op.lower_bound, op.upper_bound), _copied(specs[0])

    def run(weight: Any, g: Any, r1: Any, r2: Any, master: Any, out: Any) -> None:
        adaptive.trust(master, g, r1, r2, master, *numbers)
        copy(master, out)

    return run


@implements("mp_lamb_update_phase1")
def mixed_lamb_start(op: Any, *specs: Spec) -> Kernel | None:
    """From the float32 weight."""
    if not real(*specs):
        return None
    values = op.values

    def run(weight: Any, grad: Any, *rest: Any) -> None:
        *states, master, out = rest
        updates.step(adaptive.lamb, master, grad, tuple(states), out, values)

    return run


@implements("_lamb_update", "_mp_lamb_update")
def lamb(op: Any, *specs: Spec) -> Kernel | None:
    """The direction, two norms, the step."""
    if not real(*specs):
        return None
    weight, flat = specs[0], (specs[0].size,)
    norm: Any = reduce.reduction("norm2", flat, (0,), weight.dtype)
    values, bounds = op.values, (op.lr, op.lower_bound, op.upper_bound)
    copy, dtype = _copied(weight), weight.dtype

    def run(weight: Any, grad: Any, mean: Any, var: Any, *rest: Any) -> None:
        *master, out = rest
        weight, target = (master[0], master[0]) if master else (weight, out)
        with scratch.allocated((flat, dtype), (1, dtype), (1, dtype)) as (g, r1, r2):
            updates.step(adaptive.lamb, weight, grad, (mean, var), g, values)
            norm(weight, r1)
            norm(g, r2)
            adaptive.trust(weight, g, r1, r2, target, *bounds)
        if master:
            copy(target, out)

    return run


@implements("multi_lars")
def lars(op: Any, *specs: Spec) -> Kernel | None:
    """A rate for each layer."""
    if not real(*specs):
        return None
    launch: Kernel = updates.lars(op.eta, op.eps, op.rescale_grad)
    return launch


# -- all arrays at once ----------------------------------------------------------------


@implements("all_finite", "multi_all_finite")
def finite(op: Any, *specs: Spec) -> Kernel | None:
    """1, until a thread has seen a number that is not finite."""
    kinds = [
        pointwise.kernel(
            Formula("where(isfinite(x), 0, 1)", ("x",)),
            [(spec.size,)], [spec.dtype], (spec.size,), np.dtype("float32"),
        )
        for spec in specs
    ]  # fmt: skip
    sums = [
        reduce.reduction("max", (s.size,), (0,), np.dtype("float32")) for s in specs
    ]
    if None in kinds or None in sums:
        return None
    ready: Any = list(zip(kinds, sums, specs, strict=True))
    single = np.dtype("float32")
    start, fresh = pointwise.filler(np.float32(1)), op.init_output
    keep: Any = pointwise.kernel(
        Formula("where(b != 0, 0, where(a != 0, 1, 0))", ("a", "b")),
        [(1,), (1,)], [single, single], (1,), single,
    )  # fmt: skip

    def run(*arrays: Any) -> None:
        *xs, out = arrays
        if fresh:
            start(out)
        for x, (mark, most, spec) in zip(xs, ready, strict=True):
            with scratch.allocated((spec.size, single), (1, single)) as (marks, found):
                mark(x, marks)
                most(marks, found)
                keep(out, found, out)

    return run


@implements("reset_arrays")
def reset(op: Any, *specs: Spec) -> Kernel | None:
    """Zeros everywhere."""
    if any(spec.dtype.isbuiltin != 1 for spec in specs):
        return None
    fills = [pointwise.filler(spec.dtype.type(0)) for spec in specs]

    def run(*arrays: Any) -> None:
        for fill, x in zip(fills, arrays, strict=True):
            fill(x)

    return run
