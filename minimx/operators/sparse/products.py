"""Matrix products with a csr matrix, and layers that look like them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from minimx.core.dtypes import NARROW
from minimx.core.errors import OperatorError
from minimx.core.kernels import find
from minimx.core.operators.matmul import Dot
from minimx.core.ops import Op
from minimx.core.ops.spec import Spec
from minimx.core.ops.stypes import CSR, DEFAULT, ROW_SPARSE, Entries, Rows, dense, like
from minimx.operators.sparse import Answer, Target, rule


def wide(array: Any) -> Any:
    """Half precision is multiplied and summed in single precision."""
    return array.astype(np.float32) if array.dtype in NARROW else array


@contextmanager
def widened(out: Any) -> Iterator[Any]:
    """An output to add up in: itself, or one in single precision for half precision.

    What was written there is copied to `out` at the end.
    """
    total = wide(out)
    yield total
    if total is not out:
        np.copyto(out, total, casting="same_kind")


def _matrices(lhs: Spec, rhs: Spec) -> bool:
    return lhs.ndim == 2 and rhs.ndim <= 2 and lhs.dtype == rhs.dtype


def _asked(op: Op, *possible: str) -> str | None:
    """The storage type wanted of the output: the first one unless the call says."""
    assert isinstance(op, Dot)
    wanted = op.forward_stype or possible[0]
    return wanted if wanted in possible else None


def _columns(array: Any) -> Any:
    """A vector as a matrix of one column."""
    return array if array.ndim == 2 else array.reshape(len(array), -1)


@rule("dot", "csr default")
def csr_dense(op: Any, lhs: Spec, rhs: Spec) -> Answer | None:
    """Dense; the transposed csr gives row_sparse, with the columns that it stores."""
    if op.transpose_b or not _matrices(lhs, rhs):
        return None
    out = op.infer(dense(lhs), dense(rhs))
    if not op.transpose_a:
        return Answer(out, _csr_dense) if _asked(op, DEFAULT) else None
    wanted = _asked(op, ROW_SPARSE, DEFAULT)
    if wanted == DEFAULT or (wanted and out.ndim < 2):
        return Answer(out, _turned_dense(lhs.shape[1]))
    return Answer(like(out, ROW_SPARSE), _turned_rows(lhs.shape[1])) if wanted else None


def _multiply(parts: Any, rhs: Any, out: Any) -> None:
    """Out = csr · rhs, for element types that may have to be widened."""
    data, indices, indptr = parts
    with widened(out) as total:
        find("sparse.entries_dense")(wide(data), indices, indptr, wide(rhs), total)


def _csr_dense(lhs: Entries, rhs: Any, out: Any) -> None:
    _multiply(lhs, _columns(rhs), _columns(out))


def _turned(parts: Entries, columns: int) -> tuple[Any, ...]:
    """The transpose of a csr matrix, of which only rows with elements are stored."""
    turn: Callable[..., tuple[Any, ...]] = find("sparse.turn")
    return turn(wide(parts.data), parts.indices, parts.indptr, columns)


def _turned_dense(columns: int) -> Any:
    def run(lhs: Entries, rhs: Any, out: Any) -> None:
        *turned, stored = _turned(lhs, columns)
        out.fill(0)
        made = np.empty((len(stored), *out.shape[1:]), out.dtype)
        _multiply(turned, _columns(rhs), _columns(made))
        out[stored] = made

    return run


def _turned_rows(columns: int) -> Any:
    return lambda lhs, rhs, out: _multiply_stored(_turned(lhs, columns), rhs, out)


def _multiply_stored(turned: tuple[Any, ...], rhs: Any, out: Target) -> None:
    """Out = csr · rhs, of which only those rows are stored that have elements."""
    *parts, stored = turned
    made = out.rows(len(stored))
    np.copyto(made.indices, stored)
    _multiply(parts, rhs, made.data)


def _places(parts: Rows, length: int) -> Any:
    """Where each row of a row_sparse array lies in its data; -1: nowhere."""
    place = np.full(length, -1, np.int64)
    place[parts.indices] = np.arange(len(parts.indices))
    return place


@rule("dot", "csr row_sparse")
def csr_rows(op: Any, lhs: Spec, rhs: Spec) -> Answer | None:
    """Dense; of the transposed csr, the columns of the rows that rhs stores."""
    if op.transpose_b or not _matrices(lhs, rhs) or rhs.ndim != 2:
        return None
    out = op.infer(dense(lhs), dense(rhs))
    if op.transpose_a:
        if not _asked(op, ROW_SPARSE):
            return None
        return Answer(like(out, ROW_SPARSE), _turned_by_rows(*lhs.shape))
    return Answer(out, _csr_rows) if _asked(op, DEFAULT) else None


def _csr_rows(lhs: Entries, rhs: Rows, out: Any) -> None:
    rows = rhs.indices
    columns = int(lhs.indices.max()) + 1 if len(lhs.indices) else 0
    last = int(rows.max()) + 1 if len(rows) else 0
    if len(rows) == last >= columns and (rows[1:] > rows[:-1]).all():
        _multiply(lhs, rhs.data, out)  # row i lies at i, for all that lhs names
        return
    place = _places(rhs, max(columns, last))
    with widened(out) as total:
        find("sparse.entries_rows")(
            wide(lhs.data), lhs.indices, lhs.indptr, wide(rhs.data), place, total
        )


def _turned_by_rows(length: int, columns: int) -> Any:
    def run(lhs: Entries, rhs: Rows, out: Target) -> None:
        place = _places(rhs, length)
        rows = np.repeat(place, np.diff(lhs.indptr))
        met = rows >= 0
        kept = np.zeros(length + 1, np.int64)
        np.cumsum(np.where(place >= 0, np.diff(lhs.indptr), 0), out=kept[1:])
        some = Entries(lhs.data[met], lhs.indices[met], kept)
        data, back, *stored = _turned(some, columns)
        _multiply_stored((data, place[back], *stored), rhs.data, out)

    return run


@rule("dot", "default csr")
def dense_csr(op: Any, lhs: Spec, rhs: Spec) -> Answer | None:
    """Csr, with the columns that rhs stores in every row; dense if that is wanted."""
    if op.transpose_a or lhs.ndim != 2 or lhs.dtype != rhs.dtype:
        return None
    out = op.infer(dense(lhs), dense(rhs))
    wanted = _asked(op, CSR, DEFAULT)
    if wanted == CSR and not op.transpose_b:
        return Answer(like(out, CSR), _dense_csr(out))
    if wanted != DEFAULT:
        return None
    return Answer(out, _dense_turned if op.transpose_b else _dense_dense(out))


def _dense_times(lhs: Any, parts: Entries, column: Any, out: Any) -> None:
    with widened(out) as total:
        find("sparse.dense_entries")(
            wide(lhs), wide(parts.data), parts.indices, parts.indptr, column, total
        )


def _dense_dense(spec: Spec) -> Any:
    def run(lhs: Any, rhs: Entries, out: Any) -> None:
        _dense_times(lhs, rhs, np.arange(spec.shape[1]), out)

    return run


def _dense_csr(spec: Spec) -> Any:
    rows, columns = spec.shape

    def run(lhs: Any, rhs: Entries, out: Target) -> None:
        stored = np.unique(rhs.indices)
        column = np.zeros(columns, np.int64)
        column[stored] = np.arange(len(stored))
        made = out.entries(rows * len(stored))
        np.copyto(made.indptr, np.arange(rows + 1) * len(stored))
        made.indices.reshape(rows, -1)[...] = stored
        _dense_times(lhs, rhs, column, made.data.reshape(rows, len(stored)))

    return run


def _dense_turned(lhs: Any, rhs: Entries, out: Any) -> None:
    with widened(out) as total:
        find("sparse.dense_entries_turned")(
            wide(lhs), wide(rhs.data), rhs.indices, rhs.indptr, total
        )


# -- layers ----------------------------------------------------------------------------


def all_rows(parts: Rows, length: int, name: str) -> Any:
    """The data of a row_sparse array that stores all its rows; else OperatorError."""
    if len(parts.indices) != length:
        raise OperatorError(
            f"{name}: a row_sparse weight must store all its {length} rows; this one "
            f"stores {len(parts.indices)}. Initialize it, or make it dense."
        )
    return parts.data


@rule("FullyConnected", "default row_sparse", "default row_sparse row_sparse")
@rule("FullyConnected", "default row_sparse default")
def fully_connected(op: Op, *specs: Spec) -> Answer:
    """A weight in rows that are all there is a dense one."""
    flat = [dense(spec) for spec in specs]
    out = op.infer(*flat)
    kernel = op.compute(*flat)

    def run(*arrays: Any) -> None:
        *inputs, target = arrays
        plain = [
            all_rows(parts, spec.shape[0], op.name)
            if isinstance(parts, Rows)
            else parts
            for parts, spec in zip(inputs, specs, strict=True)
        ]
        kernel(*plain, target)

    return Answer(out, run)
