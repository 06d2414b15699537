"""Storage types: what is known of an array that stores only a part of its elements.

    default      every element
    row_sparse   some rows in full, and their numbers; the other rows are 0
    csr          of a matrix the elements that are not 0, row by row, and their columns

How much an array stores is known when its numbers are, not before; so it is no part of
the spec.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from minimx.core.dtypes import DType
from minimx.core.errors import OperatorError, ShapeError, did_you_mean
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Shape

DEFAULT, ROW_SPARSE, CSR = STYPES = ("default", "row_sparse", "csr")


class Rows(NamedTuple):
    """What a row_sparse array stores, as NumPy arrays.

    data (n, *shape[1:]); indices (n,): int64, rising: the numbers of the stored rows.
    """

    data: Any
    indices: Any


class Entries(NamedTuple):
    """What a csr array (m, k) stores, as NumPy arrays.

    data (n,); indices (n,): the columns, int64, rising within each row; indptr (m + 1,)
    int64: row i is what lies from indptr[i] up to, without, indptr[i + 1].
    """

    data: Any
    indices: Any
    indptr: Any


class SparseSpec(Spec):
    """A shape, an element type and a storage type other than default. Interned."""

    __slots__ = ("stype",)

    _sparse: dict[tuple[Shape, DType, str], SparseSpec] = {}

    def __init__(self, shape: Shape, dtype: DType, stype: str) -> None:
        super().__init__(shape, dtype)
        self.stype = stype

    def __repr__(self) -> str:
        return f"{self.stype} {super().__repr__()}"


def spec_of(shape: Shape, dtype: DType, stype: str) -> Spec:
    """The one spec with this shape, dtype and storage type.

    >>> import numpy as np
    >>> spec_of((2, 3), np.dtype("float32"), "csr")
    csr float32[2, 3]
    """
    if stype == DEFAULT:
        return Spec.of(shape, dtype)
    key = (shape, dtype, stype)
    known = SparseSpec._sparse
    found = known.get(key)
    if found is None:
        check_stype(shape, stype)
        if len(known) >= 1 << 16:
            known.clear()
        found = known.setdefault(key, SparseSpec(shape, dtype, stype))
    return found


def check_stype(shape: Shape, stype: str) -> None:
    """Refuse a storage type that does not exist, or that the shape cannot have.

    Raises OperatorError for an unknown word, ShapeError for csr with other than two
    axes and for row_sparse without any.
    """
    if stype not in STYPES:
        raise OperatorError(
            f"storage type {stype!r} is not known; choose one of {', '.join(STYPES)}."
            + did_you_mean(str(stype), STYPES)
        )
    if stype == CSR and len(shape) != 2:
        raise ShapeError(
            f"csr arrays are matrices; the shape {shape} has {len(shape)} axes. "
            "Reshape it to two axes, or store it as row_sparse or default."
        )
    if stype == ROW_SPARSE and len(shape) < 1:
        raise ShapeError("row_sparse arrays have rows; a shape () has none.")


def stype_of(spec: Spec) -> str:
    """The storage type of a spec."""
    return spec.stype if isinstance(spec, SparseSpec) else DEFAULT


def stypes_of(specs: Iterable[Spec]) -> tuple[str, ...]:
    """The storage types of specs."""
    return tuple([stype_of(spec) for spec in specs])


def dense(spec: Spec) -> Spec:
    """The spec of the same array with every element stored."""
    return Spec.of(spec.shape, spec.dtype)


def like(spec: Spec, stype: str) -> Spec:
    """The spec of the same array in another storage type; raises as `check_stype`."""
    return spec_of(spec.shape, spec.dtype, stype)
