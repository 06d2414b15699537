"""Launches of the updates: one step of an optimizer, in place."""

from __future__ import annotations

from typing import Any

from minimx.core.dtypes import FLOAT32
from minimx.core.kernels import find
from minimx.core.kernels.formula import Formula
from minimx.core.ops.registry import Kernel
from minimx.core.ops.spec import Spec
from minimx.cuda.kernels import pointwise, scratch
from minimx.cuda.kernels.core import reduce
from minimx.cuda.kernels.default_launch import builtin, real
from minimx.cuda.kernels.updates import adaptive, updates
from minimx.cuda.launches import found, implements

_NOT_FINITE = Formula("where(isfinite(x), 0, 1)", ("x",))
_STILL_FINE = Formula("where(b != 0, 0, where(a != 0, 1, 0))", ("a", "b"))


def _rule(op: Any) -> Any:
    """The kernel that the sheet's `rule` names, of the file `updates` or another."""
    return find(op.rule if "." in op.rule else f"updates.{op.rule}", "cuda")


def _copied(spec: Spec) -> Any:
    """The launch that rounds a float32 weight into a weight of this spec."""
    return pointwise.converted(spec.size, FLOAT32, spec.dtype)


@implements(
    *("sgd_update", "sgd_mom_update", "nag_mom_update", "signsgd_update"),
    *("signum_update", "adam_update", "rmsprop_update", "rmspropalex_update"),
    *("ftml_update", "ftrl_update", "_adamw_update", "lamb_update_phase1"),
    types=real,
)
def single(op: Any, *specs: Spec) -> Kernel | None:
    """One weight; the rule is that of the sheet."""
    rule, values = _rule(op), op.values

    def run(weight: Any, grad: Any, *rest: Any) -> None:
        *states, out = rest
        updates.step(rule, weight, grad, tuple(states), out, values)

    return run


@implements("mp_sgd_update", "mp_sgd_mom_update", "mp_nag_mom_update", types=real)
@implements("_mp_adamw_update", "mp_lamb_update_phase1", types=real)
def mixed(op: Any, weight: Spec, *others: Spec) -> Kernel | None:
    """The float32 weight takes the step, and where it changes the other is its copy."""
    rule, values, index = _rule(op), op.values, op.inputs.index("weight32") - 2
    copy = _copied(weight) if "weight32" in op.mutates else None

    def run(weight: Any, grad: Any, *rest: Any) -> None:
        *states, out = rest
        master = states.pop(index)
        target = out if copy is None else master
        updates.step(rule, master, grad, tuple(states), target, values)
        if copy is not None:
            copy(master, out)

    return run


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
    types=real,
)  # fmt: skip
def preloaded(op: Any, *specs: Spec) -> Kernel | None:
    """One weight after the other; each finds its rate on the device."""
    width, end, own = len(op.own), len(specs), op.own
    copies = [_copied(specs[i * width]) for i in range(op.count)]
    skipped = ("lr", "wd")

    def run(*arrays: Any) -> None:
        rates = arrays[end - 2 : end]
        for i, (step, copy) in enumerate(zip(op.steps(), copies, strict=True)):
            mine = dict(zip(own, arrays[i * width : (i + 1) * width], strict=True))
            named = zip(step.numbers, step.values, strict=True)
            numbers = tuple(value for name, value in named if name not in skipped)
            states = (mine["mom"],) if "mom" in mine else ()
            weight, out = mine.get("weight32", mine["weight"]), arrays[end + i]
            target = mine.get("weight32", out)
            gradient = mine["grad"]
            updates.preloaded(weight, gradient, states, target, rates, i, numbers)
            if target is not out:
                copy(target, out)

    return run


@implements("_sparse_adagrad_update", types=real)
def adagrad(op: Any, *specs: Spec) -> Kernel | None:
    """One step length for each element."""
    values, step = (op.lr, op.epsilon, op.rescale_grad, op.clip_gradient), updates.step
    return lambda weight, grad, history, out: step(
        adaptive.adagrad, weight, grad, (history,), out, values
    )


# -- LAMB ------------------------------------------------------------------------------


@implements("mp_lamb_update_phase2", types=real)
def mixed_lamb_end(op: Any, weight: Spec, *others: Spec) -> Kernel | None:
    """lamb_update_phase2 for the float32 weight, and a copy."""
    bounds, copy = (op.lr, op.lower_bound, op.upper_bound), _copied(weight)

    def run(weight: Any, g: Any, r1: Any, r2: Any, master: Any, out: Any) -> None:
        adaptive.trust(master, g, r1, r2, *bounds, master)
        copy(master, out)

    return run


@implements("_lamb_update", "_mp_lamb_update", types=real)
def lamb(op: Any, weight: Spec, *others: Spec) -> Kernel | None:
    """The direction, two norms, the step."""
    dtype, size = weight.dtype, weight.size
    norm: Any = reduce.reduction("norm2", (size,), (0,), dtype)
    values, bounds = op.values, (op.lr, op.lower_bound, op.upper_bound)
    copy = _copied(weight)

    def run(weight: Any, grad: Any, mean: Any, var: Any, *rest: Any) -> None:
        *master, out = rest
        weight, target = (master[0], master[0]) if master else (weight, out)
        with scratch.allocated((size, dtype), (1, dtype), (1, dtype)) as (g, r1, r2):
            updates.step(adaptive.lamb, weight, grad, (mean, var), g, values)
            norm(weight, r1)
            norm(g, r2)
            adaptive.trust(weight, g, r1, r2, *bounds, target)
        if master:
            copy(target, out)

    return run


# -- all arrays at once ----------------------------------------------------------------


@implements("all_finite", "multi_all_finite")
def finite(op: Any, *specs: Spec) -> Kernel | None:
    """1, until a thread has seen a number that is not finite."""
    marks = [
        pointwise.elementwise(_NOT_FINITE, spec.size, [spec.dtype], FLOAT32)
        for spec in specs
    ]
    sums = [reduce.reduction("max", (spec.size,), (0,), FLOAT32) for spec in specs]
    if None in marks or None in sums:
        return None
    ready: Any = list(zip(marks, sums, specs, strict=True))
    start, fresh = pointwise.filler(FLOAT32.type(1)), op.init_output
    keep: Any = pointwise.elementwise(_STILL_FINE, 1, [FLOAT32] * 2, FLOAT32)

    def run(*arrays: Any) -> None:
        *xs, out = arrays
        if fresh:
            start(out)
        for x, (mark, most, spec) in zip(xs, ready, strict=True):
            with scratch.allocated((spec.size, FLOAT32), (1, FLOAT32)) as (each, any_):
                mark(x, each)
                most(each, any_)
                keep(out, any_, out)

    return run


@implements("reset_arrays", types=builtin)
def reset(op: Any, *specs: Spec) -> Kernel | None:
    """Zeros everywhere."""
    fills = [pointwise.filler(spec.dtype.type(0)) for spec in specs]

    def run(*arrays: Any) -> None:
        for fill, x in zip(fills, arrays, strict=True):
            fill(x)

    return run
