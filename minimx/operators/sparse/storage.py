"""From one storage type to another."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.kernels import find
from minimx.core.ops import Kernel, Op
from minimx.core.ops.spec import Spec
from minimx.core.ops.stypes import (
    CSR,
    DEFAULT,
    ROW_SPARSE,
    Entries,
    Rows,
    like,
    stype_of,
)
from minimx.operators.sparse import Answer, Target, rule
from minimx.operators.sparse.pointwise import same_places


def to_rows(array: Any, out: Target) -> None:
    """Store the rows that are not 0 all over."""
    stored = np.flatnonzero((array != 0).reshape(len(array), -1).any(1))
    made = out.rows(len(stored))
    np.copyto(made.indices, stored)
    np.take(array, stored, axis=0, out=made.data, mode="wrap")


def to_entries(array: Any, out: Target) -> None:
    """Store the elements that are not 0."""
    indptr = find("sparse.count_entries")(array)
    made = out.entries(int(indptr[-1]))
    np.copyto(made.indptr, indptr)
    find("sparse.collect_entries")(array, made.data, made.indices, made.indptr)


def from_rows(parts: Rows, out: Any) -> None:
    """Every row, with zeros where none is stored."""
    if len(parts.indices) < len(out):
        out.fill(0)
    out[parts.indices] = parts.data


def from_entries(parts: Entries, out: Any) -> None:
    """Every element, with zeros where none is stored."""
    find("sparse.spread_entries")(*parts, out)


def same(parts: Rows | Entries, out: Target) -> None:
    """A copy of what is stored."""
    data = same_places(parts, out)
    if data is not parts.data:
        np.copyto(data, parts.data, casting="unsafe")


_KERNELS: dict[tuple[str, str], Kernel] = {
    (DEFAULT, DEFAULT): lambda array, out: np.copyto(out, array),
    (DEFAULT, ROW_SPARSE): to_rows,
    (DEFAULT, CSR): to_entries,
    (ROW_SPARSE, DEFAULT): from_rows,
    (CSR, DEFAULT): from_entries,
    (ROW_SPARSE, ROW_SPARSE): same,
    (CSR, CSR): same,
}


def conversion(source: str, target: str) -> Kernel | None:
    """The kernel from one storage type to another; None for two sparse ones."""
    return _KERNELS.get((source, target))


@rule("cast_storage", DEFAULT, ROW_SPARSE, CSR)
def cast_storage(op: Op, x: Spec) -> Answer:
    """Dense to sparse, and back."""
    spec = op.infer(x)
    assert isinstance(spec, Spec)
    return Answer(spec, _KERNELS[stype_of(x), stype_of(spec)])


@rule("_identity_with_attr_like_rhs", "row_sparse default", "csr default")
def identity(op: Op, x: Spec, other: Spec) -> Answer:
    """The first input, in the storage type of the second."""
    kernel = _KERNELS[stype_of(x), DEFAULT]
    return Answer(like(x, DEFAULT), lambda parts, ignored, out: kernel(parts, out))
