"""Optimizers with row_sparse gradients: only the rows with a gradient are touched.

That is the lazy update; rows without a gradient do not decay and keep their momentum.
A standard update (lazy_update=False) makes the gradient dense.

A row_sparse weight stores all its rows, or none, which means that they are 0; so do its
states.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.kernels import find
from minimx.core.ops import Op
from minimx.core.ops.spec import Spec
from minimx.core.ops.stypes import ROW_SPARSE, Rows, dense, stype_of
from minimx.operators.sparse import Answer, rule
from minimx.operators.sparse.products import all_rows


def _state(target: Any, length: int, name: str) -> Any:
    """The numbers of a state; a row_sparse one without rows is given rows of zeros."""
    if isinstance(target, np.ndarray):
        return target
    if len(target.parts.indices):
        return all_rows(target.parts, length, name)
    made = target.rows(length)
    made.indices[...] = np.arange(length)
    made.data.fill(0)
    return made.data


def _result(weight: Any, out: Any, length: int, name: str) -> Any:
    """The numbers to change: those of the output, which start as the weight's."""
    if isinstance(weight, Rows):
        if out.parts is weight:
            return _state(out, length, name)
        numbers = all_rows(weight, length, name)
        made = out.rows(length)
        made.indices[...] = weight.indices
        target = made.data
    else:
        numbers, target = weight, out
    if not np.may_share_memory(numbers, target):
        np.copyto(target, numbers)
    return target


def update(op: Op, lazy: bool, specs: tuple[Spec, ...]) -> Answer:
    """The operator's own kernel, on the rows of the gradient or on everything."""
    weight, grad, *states = specs
    length = weight.shape[0]
    kernel = op.compute(*map(dense, specs))  # it takes any number of rows

    def run(w: Any, g: Rows, *rest: Any) -> None:
        *slots, out = rest
        kept = [_state(slot, length, op.name) for slot in slots]
        target = _result(w, out, length, op.name)
        if lazy:
            _on_rows(kernel, target, g, kept)
        else:
            full = np.zeros(weight.shape, weight.dtype)
            full[g.indices] = g.data
            kernel(target, full, *kept, target)

    return Answer(weight, run, by_rows=lazy)


def _on_rows(kernel: Any, target: Any, grad: Rows, states: list[Any]) -> None:
    """Take the rows out, update them, and put them back."""
    rows = grad.indices
    if not len(rows):
        return
    weight = target.take(rows, 0)
    some = [state.take(rows, 0) for state in states]
    kernel(weight, grad.data, *some, weight)
    for array, changed in zip((target, *states), (weight, *some), strict=True):
        find("sparse.put_rows")(_matrix(changed), rows, _matrix(array))


def _matrix(array: Any) -> Any:
    """Rows of bits or numbers that a kernel moves."""
    return find("sparse.as_number")(array.reshape(len(array), -1))


@rule("sgd_update", "default row_sparse", "row_sparse row_sparse")
@rule(
    "sgd_mom_update", "default row_sparse default", "row_sparse row_sparse row_sparse"
)
@rule(
    "adam_update",
    "default row_sparse default default",
    "row_sparse row_sparse row_sparse row_sparse",
)
def lazy_or_not(op: Any, *specs: Spec) -> Answer | None:
    """As the operator's setting says."""
    return update(op, op.lazy_update, specs) if _fit(specs) else None


@rule("sgd_mom_update", "row_sparse row_sparse default")
@rule("adam_update", "row_sparse row_sparse default default")
def standard(op: Any, *specs: Spec) -> Answer | None:
    """With dense states, all rows are updated."""
    return update(op, False, specs) if _fit(specs) else None


@rule("ftrl_update", "row_sparse row_sparse row_sparse row_sparse")
@rule(
    "_sparse_adagrad_update",
    "default row_sparse default",
    "row_sparse row_sparse row_sparse",
)
def lazily(op: Any, *specs: Spec) -> Answer | None:
    """Rows without a gradient are left alone."""
    return update(op, True, specs) if _fit(specs) else None


@rule(
    "_contrib_group_adagrad_update",
    "default row_sparse default",
    "row_sparse row_sparse row_sparse",
)
def by_group(op: Any, *specs: Spec) -> Answer | None:
    """The state has one number for each row."""
    op.infer(*[dense(spec) for spec in specs])
    return update(op, True, specs)


def _fit(specs: tuple[Spec, ...]) -> bool:
    """Whether all inputs are alike but for how they are stored."""
    first = specs[0]
    if stype_of(specs[1]) != ROW_SPARSE:
        return False
    return all(s.shape == first.shape and s.dtype == first.dtype for s in specs)
