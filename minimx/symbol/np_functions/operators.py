"""Data sheets of NumPy's functions that are no single operator here.

Their names, inputs, settings and defaults are those of MXNet's operators, so that
graphs with them can be exchanged.
"""

from __future__ import annotations

from typing import Any

from minimx import np
from minimx.core.ops.casting import SINGLE, WIDEST
from minimx.core.shapes import Shape
from minimx.symbol.composed import composed

# -- statistics ------------------------------------------------------------------------


@composed("_npi_std", casting=SINGLE)
def std(
    a: Any,
    *,
    axis: Any = None,
    dtype: str | None = None,
    ddof: int = 0,
    keepdims: bool = False,
) -> Any:
    """The square root of the variance over some axes, or over all."""
    return np.std(a, axis, dtype, None, ddof, keepdims)


@composed("_npi_var", casting=SINGLE)
def var(
    a: Any,
    *,
    axis: Any = None,
    dtype: str | None = None,
    ddof: int = 0,
    keepdims: bool = False,
) -> Any:
    """The mean squared distance from the mean over some axes, or over all."""
    return np.var(a, axis, dtype, None, ddof, keepdims)


@composed(
    "_npi_average",
    takes=lambda op: ("a", "weights") if op.weighted else ("a",),
    gives=lambda op: 2 if op.returned else 1,
    casting=SINGLE,
)
def average(
    a: Any,
    weights: Any = None,
    *,
    axis: Any = None,
    returned: bool = False,
    weighted: bool = True,
) -> Any:
    """The average, of which each element has a weight; and the sum of the weights."""
    return np.average(a, axis, weights, returned)


@composed(
    "_npi_bincount",
    takes=lambda op: ("data", "weights") if op.has_weights else ("data",),
    planned=False,
)
def bincount(
    data: Any, weights: Any = None, *, minlength: int = 0, has_weights: bool = False
) -> Any:
    """How often each whole number occurs, or the sum of the weights where it does."""
    return np.bincount(data, weights, minlength)


@composed(
    "_npi_unique",
    gives=lambda op: 1 + op.return_index + op.return_inverse + op.return_counts,
    planned=False,
)
def unique(
    data: Any,
    *,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
) -> Any:
    """The distinct elements, ascending; where they stand and how often."""
    return np.unique(data, return_index, return_inverse, return_counts, axis)


@composed("_npx_nonzero", planned=False)
def nonzero(x: Any) -> Any:
    """Where elements are not 0: a row of places for each."""
    return _npx().nonzero(x)


@composed("_npx_constraint_check", planned=False)
def constraint_check(input: Any, *, msg: str = "Constraint violated.") -> Any:  # noqa: A002
    """True where all elements hold; else an error where somebody waits."""
    return _npx().constraint_check(input, msg)


def _npx() -> Any:
    from minimx import npx

    return npx


# -- making arrays ---------------------------------------------------------------------


@composed("_npi_full_like")
def full_like(a: Any, *, fill_value: float, dtype: str | None = None) -> Any:
    """One value everywhere, in the shape of an array."""
    return np.full_like(a, fill_value, dtype)


@composed("_npi_indices")
def indices(*, dimensions: Shape, dtype: str = "int32") -> Any:
    """The index along each axis of every place of an array."""
    return np.indices(dimensions, dtype)


@composed("_npi_logspace")
def logspace(
    *,
    start: float,
    stop: float,
    num: int,
    endpoint: bool = True,
    base: float = 10.0,
    dtype: str | None = None,
) -> Any:
    """Powers of `base` with evenly spaced exponents."""
    return np.logspace(start, stop, num, endpoint, base, dtype)


@composed("_npi_hanning")
def hanning(*, M: int, dtype: str = "float32") -> Any:  # noqa: N803 (NumPy's name)
    """Hann's window of M points."""
    return np.hanning(M, dtype)


@composed("_npi_hamming")
def hamming(*, M: int, dtype: str = "float32") -> Any:  # noqa: N803
    """Hamming's window of M points."""
    return np.hamming(M, dtype)


@composed("_npi_blackman")
def blackman(*, M: int, dtype: str = "float32") -> Any:  # noqa: N803
    """Blackman's window of M points."""
    return np.blackman(M, dtype)


@composed("_npi_diag_indices_from")
def diag_indices_from(data: Any) -> Any:
    """The places of a square array's diagonal: a row for each axis."""
    found = np.diag_indices_from(data)
    return np.stack(found) if isinstance(found, (list, tuple)) else found


# -- cutting, deleting, inserting ------------------------------------------------------


def _pieces(op: Any) -> int:
    return op.sections or len(op.indices)


def _cuts(indices: Any, sections: int) -> Any:
    return sections or tuple(indices)[1:]  # the first piece begins at 0


@composed("_npi_hsplit", gives=_pieces)
def hsplit(
    data: Any,
    *,
    indices: Shape = (),
    axis: int = 1,
    squeeze_axis: bool = False,
    sections: int = 0,
) -> Any:
    """An array cut into columns; vectors along their only axis."""
    return np.hsplit(data, _cuts(indices, sections))


@composed("_npi_dsplit", gives=_pieces)
def dsplit(
    data: Any,
    *,
    indices: Shape = (),
    axis: int = 2,
    squeeze_axis: bool = False,
    sections: int = 0,
) -> Any:
    """An array cut along its third axis."""
    return np.dsplit(data, _cuts(indices, sections))


def _where(start: Any, stop: Any, step: Any, int_ind: Any) -> Any:
    return slice(start, stop, step) if int_ind is None else int_ind


@composed(
    "_npi_delete",
    takes=lambda op: ("arr",) if _is_place(op) else ("arr", "obj"),
    planned=False,
)
def delete(
    arr: Any,
    obj: Any = None,
    *,
    start: Any = None,
    stop: Any = None,
    step: Any = None,
    int_ind: Any = None,
    axis: Any = None,
) -> Any:
    """An array without the slices at some places along an axis."""
    key = _where(start, stop, step, int_ind) if obj is None else obj
    return np.delete(arr, key, axis)


def _is_place(op: Any) -> bool:
    """Whether the settings say where, and no array does."""
    return op.step is not None or op.int_ind is not None


def _values(op: Any) -> tuple[str, ...]:
    return ("arr",) if op.val is not None else ("arr", "values")


def _insert(
    arr: Any,
    values: Any = None,
    *,
    val: Any = None,
    start: Any = None,
    stop: Any = None,
    step: Any = None,
    int_ind: Any = None,
    axis: Any = None,
) -> Any:
    """An array with values put in before some places along an axis."""
    key = _where(start, stop, step, int_ind)
    return np.insert(arr, key, val if values is None else values, axis)


composed("_npi_insert_scalar", takes=_values)(_insert)
composed("_npi_insert_slice", takes=_values)(_insert)


@composed("_npi_insert_tensor", takes=lambda op: (*_values(op), "obj"), planned=False)
def insert_tensor(
    arr: Any,
    values: Any,
    obj: Any = None,
    *,
    val: Any = None,
    start: Any = None,
    stop: Any = None,
    step: Any = None,
    int_ind: Any = None,
    axis: Any = None,
) -> Any:
    """An array with values put in before the places that another array names."""
    if obj is None:
        values, obj = val, values
    return np.insert(arr, obj, values, axis)


@composed("_npi_resize_fallback")
def resize(a: Any, *, new_shape: Shape) -> Any:
    """The elements in a new shape, repeated where it has room for more."""
    return np.resize(a, new_shape)


# -- sums and differences --------------------------------------------------------------


def _edges(op: Any) -> tuple[str, ...]:
    count = op.to_begin_arr_given + op.to_end_arr_given
    return ("input1", "input2", "input3")[: 1 + count]


@composed("_npi_ediff1d", takes=_edges, casting=WIDEST)
def ediff1d(
    input1: Any,
    input2: Any = None,
    input3: Any = None,
    *,
    to_begin_arr_given: bool = False,
    to_end_arr_given: bool = False,
    to_begin_scalar: Any = None,
    to_end_scalar: Any = None,
) -> Any:
    """What each element adds to the one before, of the flat array."""
    rest = [value for value in (input2, input3) if value is not None]
    begin = rest.pop(0) if to_begin_arr_given else to_begin_scalar
    return np.ediff1d(input1, rest.pop(0) if to_end_arr_given else to_end_scalar, begin)


@composed("_npi_polyval", casting=SINGLE)
def polyval(p: Any, x: Any) -> Any:
    """The polynomial with the coefficients p, the highest first, at x."""
    return np.polyval(p, x)


@composed("_npi_share_memory", planned=False)
def share_memory(a: Any, b: Any) -> Any:
    """Whether two arrays lie in the same memory."""
    return np.array(np.shares_memory(a, b), dtype="bool", ctx=a.context)


# -- linear algebra --------------------------------------------------------------------


@composed("_npi_eigh", gives=lambda op: 2, casting=SINGLE)
def eigh(A: Any, *, UPLO: str = "L") -> Any:  # noqa: N803 (NumPy's names)
    """Eigenvalues, ascending, and eigenvectors, in columns, of symmetric matrices."""
    return np.linalg.eigh(A, UPLO)


@composed("_npi_eigvalsh", casting=SINGLE)
def eigvalsh(A: Any, *, UPLO: str = "L") -> Any:  # noqa: N803
    """The eigenvalues of symmetric matrices, ascending."""
    return np.linalg.eigvalsh(A, UPLO)


@composed("_npi_pinv", casting=SINGLE)
def pinv(A: Any, rcond: Any, *, hermitian: bool = False) -> Any:  # noqa: N803
    """The pseudo-inverse, without singular values below `rcond` of the largest."""
    return np.linalg.pinv(A, rcond, hermitian)


@composed("_npi_pinv_scalar_rcond", casting=SINGLE)
def pinv_scalar_rcond(
    A: Any,  # noqa: N803
    *,
    rcond: float = 1e-15,
    hermitian: bool = False,
) -> Any:
    """The pseudo-inverse, without singular values below `rcond` of the largest."""
    return np.linalg.pinv(A, rcond, hermitian)


@composed("_npi_tensorinv", casting=SINGLE)
def tensorinv(a: Any, *, ind: int = 2) -> Any:
    """The inverse of an array as a map from its last axes to its first `ind`."""
    return np.linalg.tensorinv(a, ind)


@composed("_npi_tensorsolve", casting=SINGLE)
def tensorsolve(a: Any, b: Any, *, a_axes: Any = ()) -> Any:
    """The x with tensordot(a, x, x.ndim) = b."""
    return np.linalg.tensorsolve(a, b, a_axes or None)


@composed("_npi_norm", casting=SINGLE)
def norm(
    data: Any,
    *,
    ord: float | str = 2.0,  # noqa: A002 (NumPy's name)
    axis: Any = None,
    keepdims: bool = False,
    flag: int = -1,
) -> Any:
    """The length of vectors, or the size of matrices.

    flag: which norm MXNet computes: -2 that of all elements, 1 Frobenius', 2 the sum
    of the singular values, otherwise the one that `ord` names
    """
    if isinstance(axis, tuple) and len(axis) == 1:
        (axis,) = axis
    if flag == -2 or (flag == 1 and axis is None):
        total = np.sum(np.square(data), axis, keepdims=keepdims)
        return np.sqrt(total)
    matrix = axis is None or isinstance(axis, tuple)
    named = {1: "fro" if matrix else 2, 2: "nuc"}.get(flag, ord)
    return np.linalg.norm(data, named, axis, keepdims)


@composed(
    "_npi_choice_of",
    takes=lambda op: ("input1", "input2") if op.weighted else ("input1",),
)
def choice(
    input1: Any,
    input2: Any = None,
    *,
    size: Any = None,
    replace: bool = True,
    weighted: bool = False,
) -> Any:
    """Elements of a vector, each as likely, or as `input2` says. out: `size`."""
    return np.random.choice(input1, size, replace, input2)


@composed("_npi_mvn_fallback")
def multivariate_normal(mean: Any, cov: Any, *, size: Any = None) -> Any:
    """Vectors of a normal distribution with a mean vector and a covariance matrix."""
    return np.random.multivariate_normal(mean, cov, size)
