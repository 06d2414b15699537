"""Data sheets of NumPy's functions that take more than the operator of that name.

`_npi_argmax` needs an axis to be there; `np.argmax` of an array without axes takes 0 as
well. `_npi_eig` computes with fractions; `np.linalg.eig` converts whole numbers first.
In files both are one operator, under MXNet's name.
"""

from __future__ import annotations

from typing import Any

from minimx import np
from minimx.core.ops.casting import SINGLE
from minimx.symbol.composed import composed
from minimx.symbol.np_functions.operators import cut, enter_rows, pieces_of

#: What they are called in files.
_IN_FILES = {
    **dict.fromkeys(("_numpy_split", "_numpy_array_split"), "_split_v2"),
    **{f"_numpy_{n}": f"_np_{n}" for n in ("any", "all", "cumsum", "squeeze")},
    **{f"_numpy_{n}": f"_npi_{n}" for n in ("argmax", "argmin", "flip", "solve")},
    **{f"_numpy_{n}": f"_npi_{n}" for n in ("cholesky", "det", "eig", "eigvals")},
    **{f"_numpy_{n}": f"_npi_{n}" for n in ("inv", "slogdet", "svd")},
    "_numpy_linspace": "_linspace",
}
enter_rows(
    """
    _np_sum(
        a, *, axis: Any = None, dtype: str | None = None, keepdims: bool = False,
        initial: Any = None): sum
        `np.sum` over some axes, or over all.

    _np_prod(
        a, *, axis: Any = None, dtype: str | None = None, keepdims: bool = False,
        initial: Any = None): prod
        `np.prod` over some axes, or over all.

    _npi_mean(
        a, *, axis: Any = None, dtype: str | None = None, keepdims: bool = False,
        initial: Any = None): mean
        `np.mean` over some axes, or over all.
    """,
    casting=SINGLE,
)
enter_rows(
    """
    _np_max(
        a, *, axis: Any = None, keepdims: bool = False, initial: Any = None): max
        `np.max` over some axes, or over all.

    _np_min(
        a, *, axis: Any = None, keepdims: bool = False, initial: Any = None): min
        `np.min` over some axes, or over all.

    _numpy_any(a, *, axis: Any = None, keepdims: bool = False): any
        `np.any` over some axes, or over all.

    _numpy_all(a, *, axis: Any = None, keepdims: bool = False): all
        `np.all` over some axes, or over all.

    _numpy_argmax(a, *, axis: Any = None, keepdims: bool = False): argmax
        `np.argmax` over some axes, or over all.

    _numpy_argmin(a, *, axis: Any = None, keepdims: bool = False): argmin
        `np.argmin` over some axes, or over all.

    _numpy_cumsum(a, *, axis: Any = None, dtype: str | None = None): cumsum
        The sum so far, along an axis or of all elements in a row.

    _numpy_squeeze(a, *, axis: Any = None): squeeze
        An array without axes of length 1: those named, or all.

    _numpy_flip(data, *, axis: Any = None): flip
        The elements in reverse order along some axes, or along all.

    _npi_eye(*, N: int, M: Any = None, k: int = 0, dtype: str = "float32"): eye
        A matrix with ones on the k-th diagonal.

    _numpy_linspace(
        *, start: float, stop: float, num: int, endpoint: bool = True,
        dtype: str = "float32"): linspace
        `num` evenly spaced numbers from `start` to `stop`.

    _npi_clip(data, *, a_min: Any = None, a_max: Any = None): clip
        Move what lies outside [a_min, a_max] to its border; None leaves a side open.

    _numpy_cholesky(A): linalg.cholesky
        `np.linalg.cholesky`; whole numbers are converted.

    _numpy_det(A): linalg.det
        `np.linalg.det`; whole numbers are converted.

    _numpy_eig(A): linalg.eig
        `np.linalg.eig`; whole numbers are converted.

    _numpy_eigvals(A): linalg.eigvals
        `np.linalg.eigvals`; whole numbers are converted.

    _numpy_inv(A): linalg.inv
        `np.linalg.inv`; whole numbers are converted.

    _numpy_slogdet(A): linalg.slogdet
        `np.linalg.slogdet`; whole numbers are converted.

    _numpy_svd(A): linalg.svd
        `np.linalg.svd`; whole numbers are converted.

    _numpy_solve(A, B): linalg.solve
        The x with A · x = B.
    """,
    written=_IN_FILES,
)
enter_rows(
    """
    _numpy_split(
        ary, *, indices: Shape = (), axis: int = 0, squeeze_axis: bool = False,
        sections: int = 0): split
        `np.split`; the first piece begins at 0.

    _numpy_array_split(
        ary, *, indices: Shape = (), axis: int = 0, squeeze_axis: bool = False,
        sections: int = 0): array_split
        `np.array_split`; the first piece begins at 0.
    """,
    body=cut,
    written=_IN_FILES,
    gives=pieces_of,
)


@composed("_numpy_pad", written="_npi_pad")
def pad(
    data: Any,
    *,
    pad_width: Any,
    mode: str = "constant",
    constant_values: float = 0.0,
    reflect_type: str = "even",
) -> Any:
    """An array inside a frame."""
    words: dict[str, Any] = {}
    if mode == "constant":
        words = {"constant_values": constant_values}
    return np.pad(data, pad_width, mode, **words)
