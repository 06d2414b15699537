"""Element by element, where 0 stays 0: what is not stored need not be computed.

The stored elements are one flat array, on which the operator's own kernel runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.operators.pointwise import Backward
from minimx.core.ops import Kernel, Op
from minimx.core.ops.registry import REGISTRY
from minimx.core.ops.spec import Spec
from minimx.core.ops.stypes import (
    CSR,
    ROW_SPARSE,
    Entries,
    Rows,
    SparseSpec,
    dense,
    like,
    stype_of,
)
from minimx.operators.sparse import Answer, Target, rule

#: Operators of one array that MXNet keeps sparse.
_UNARY = """
    abs arcsin arcsinh arctan arctanh cbrt ceil degrees expm1 fix floor log1p negative
    radians relu rint round sign sin sinh sqrt square tan tanh trunc _copy BlockGrad
    make_loss _mul_scalar _div_scalar _contrib_round_ste _contrib_sign_ste
    _contrib_gradientmultiplier _scatter_plus_scalar _scatter_minus_scalar
"""
#: And those that are kept sparse if, with their settings, 0 stays 0.
_DEPENDS = """
    clip _plus_scalar _minus_scalar _equal_scalar _not_equal_scalar _greater_scalar
    _greater_equal_scalar _lesser_scalar _lesser_equal_scalar _contrib_quadratic
"""


def flat(op: Op, *arrays: Any) -> Kernel:
    """The operator's kernel for the stored elements of arrays, as flat arrays."""
    return op.compute(*[Spec((array.size,), array.dtype) for array in arrays])


def apply(op: Op, out: Any, *arrays: Any) -> None:
    """Compute `out` from stored elements, whatever the shape they are stored in."""
    flat(op, *arrays)(*[array.reshape(-1) for array in (*arrays, out)])


def same_places(parts: Rows | Entries, out: Target) -> Any:
    """Room for the same elements in `out`, which may be where `parts` lie; its data."""
    if out.parts is parts:
        return parts.data
    if isinstance(parts, Rows):
        made: Rows | Entries = out.rows(len(parts.indices))
    else:
        made = out.entries(len(parts.indices))
        np.copyto(made.indptr, parts.indptr)
    np.copyto(made.indices, parts.indices)
    return made.data


def stored(op: Op, x: Spec, out: Spec | None = None) -> Answer:
    """Compute on the stored elements only; `out` where the element type changes."""

    def run(parts: Rows | Entries, target: Target) -> None:
        data = same_places(parts, target)
        apply(op, data, parts.data)

    return Answer(x if out is None else out, run)


@rule(_UNARY, ROW_SPARSE, CSR)
def unary(op: Op, x: Spec) -> Answer:
    """The same places, other numbers."""
    return stored(op, x)


def keeps_zero(op: Op) -> bool:
    """Whether 0 stays 0 with the operator's settings."""
    zero = np.zeros(1, np.float64)
    out = np.empty(1, np.float64)
    with np.errstate(all="ignore"):
        flat(op, zero)(zero, out)
    return bool(out[0] == 0)


@rule(_DEPENDS, ROW_SPARSE, CSR)
def depends(op: Op, x: Spec) -> Answer | None:
    """The same places if 0 stays 0; sums with a number become dense."""
    if op.name == "_contrib_quadratic" and stype_of(x) != CSR:
        return None
    if keeps_zero(op):
        return stored(op, x)
    if op.name in ("_plus_scalar", "_minus_scalar"):
        return densely(op, x)
    return None


def densely(op: Op, x: Spec) -> Answer:
    """A dense output: what is not stored is computed once, and is the same all over."""

    def run(parts: Rows | Entries, out: Any) -> None:
        zero = np.zeros(1, x.dtype)
        elsewhere = np.empty(1, x.dtype)
        flat(op, zero)(zero, elsewhere)
        out.fill(elsewhere[0])
        data = np.empty_like(parts.data)
        apply(op, data, parts.data)
        put(parts, data, out)

    return Answer(dense(x), run)


def row_of_each(parts: Entries) -> Any:
    """The row that each element of a csr matrix is in."""
    return np.repeat(np.arange(len(parts.indptr) - 1), np.diff(parts.indptr))


def rising(parts: Any) -> bool:
    """Whether rows, or the columns in each row, are stored in order, each once."""
    steps = np.diff(parts.indices) > 0
    if not isinstance(parts, Rows):
        steps |= np.diff(row_of_each(parts)) > 0
    return bool(steps.all())


def in_order(parts: Any) -> Any:
    """The same parts with rising places, whatever the caller put together."""
    if rising(parts):
        return parts
    if isinstance(parts, Rows):
        order = np.argsort(parts.indices, kind="stable")
        return Rows(parts.data[order], parts.indices[order])
    order = np.lexsort((parts.indices, row_of_each(parts)))
    return Entries(parts.data[order], parts.indices[order], parts.indptr)


def put(parts: Rows | Entries, data: Any, out: Any) -> None:
    """Write numbers to the places of `parts` in a dense array."""
    if isinstance(parts, Rows):
        out[parts.indices] = data
    else:
        out[row_of_each(parts), parts.indices] = data


def pick(parts: Rows | Entries, array: Any) -> Any:
    """What a dense array has at the places of `parts`."""
    if isinstance(parts, Rows):
        return array[parts.indices]
    return array[row_of_each(parts), parts.indices]


def rows_at(parts: Rows, wanted: Any) -> Any:
    """The rows of those numbers; 0 where none is stored. The stored ones must rise."""
    found = np.zeros((len(wanted), *parts.data.shape[1:]), parts.data.dtype)
    if len(parts.indices):
        place = np.searchsorted(parts.indices, wanted)
        place = np.minimum(place, len(parts.indices) - 1)
        hit = parts.indices[place] == wanted
        found[hit] = parts.data[place[hit]]
    return found


@rule("zeros_like", ROW_SPARSE, CSR)
def zeros_like(op: Op, x: Spec) -> Answer:
    """Nothing is stored."""
    assert isinstance(x, SparseSpec)
    return Answer(x, nothing(x))


def nothing(spec: SparseSpec) -> Kernel:
    """A kernel that stores nothing, whatever its inputs."""

    def run(*parts: Any) -> None:
        out = parts[-1]
        if spec.stype == ROW_SPARSE:
            out.rows(0)
        else:
            out.entries(0).indptr.fill(0)

    return run


@rule("ones_like", ROW_SPARSE, CSR)
def ones_like(op: Op, x: Spec) -> Answer:
    """Ones are dense."""

    def run(parts: Any, out: Any) -> None:
        out.fill(1)

    return Answer(dense(x), run)


# -- gradients -------------------------------------------------------------------------


def _values_at(parts: Any, other: Any) -> Any:
    """The numbers of `other`, of any storage type, at the places of `parts`."""
    if other is parts or not isinstance(other, Rows | Entries):
        return parts.data if other is parts else pick(parts, other)
    other = in_order(other)
    if isinstance(parts, Rows):
        return rows_at(other, parts.indices)
    return _entries_at(parts, other)


def _entries_at(parts: Entries, other: Entries) -> Any:
    """Places are compared as one number, row times columns plus column."""
    columns = 1 + max(_largest(parts.indices), _largest(other.indices))
    have = row_of_each(other) * columns + other.indices
    wanted = row_of_each(parts) * columns + parts.indices
    return rows_at(Rows(other.data, have), wanted)


def _largest(numbers: Any) -> int:
    return int(numbers.max()) if len(numbers) else 0


def gradient(op: Op, dout: Spec, *saved: Spec) -> Answer | None:
    """A sparse gradient stays where it is: where it is 0, so is what comes of it.

    Not so for `sqrt` and its like, whose slope at 0 is no number: 0 times it is none.
    """
    if not _vanishes(op, 0.0, len(saved)):
        return None

    def run(parts: Any, *rest: Any) -> None:
        *values, out = rest
        at = [parts.data, *(_values_at(parts, value) for value in values)]
        apply(op, same_places(parts, out), *at)

    return Answer(dout, run)


def _vanishes(op: Op, dout: float, count: int) -> bool:
    """Whether a gradient becomes 0 where the saved values are 0."""
    arrays = [np.full(1, dout), *(np.zeros(1) for _ in range(count))]
    out = np.empty(1)
    with np.errstate(all="ignore"):
        flat(op, *arrays)(*arrays, out)
    return bool(out[0] == 0)


def gradient_of_dense(op: Op, dout: Spec, saved: Spec) -> Answer | None:
    """Of a dense gradient only what is stored beside it counts, if the rest is 0."""
    if dout.shape != saved.shape or not _vanishes(op, 1.0, 1):
        return None

    def run(douts: Any, parts: Any, out: Any) -> None:
        picked = pick(parts, douts)
        apply(op, same_places(parts, out), picked, parts.data)

    return Answer(like(dout, stype_of(saved)), run)


def _backward_rules() -> None:
    """Enter the two rules for the gradient of every pointwise operator."""
    for name, sheet in REGISTRY.items():
        if not issubclass(sheet, Backward):
            continue
        count = len(sheet.inputs) - 1
        for stype in (ROW_SPARSE, CSR):
            for other in {"default", stype} if count else {""}:
                rule(name, " ".join([stype, *[other] * count]))(_stretchless(gradient))
            if count == 1:
                rule(name, f"default {stype}")(gradient_of_dense)


def _stretchless(function: Any) -> Any:
    """The rule for arrays of one shape."""

    def asked(op: Op, first: Spec, *others: Spec) -> Answer | None:
        if any(other.shape != first.shape for other in others):
            return None
        made: Answer | None = function(op, first, *others)
        return made

    return asked


_backward_rules()
