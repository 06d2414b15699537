"""Data sheets of NumPy's functions that are no single operator here.

Their names, inputs, settings and defaults are those of MXNet's operators, so that
graphs with them can be exchanged.

Those called `_numpy_…` take more than the operator `_npi_…` here: `_npi_argmax` needs
an axis to be there, `np.argmax` of an array without axes takes 0 as well; `_npi_eig`
computes with fractions, `np.linalg.eig` converts whole numbers first. In files both are
one operator, under MXNet's name.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from minimx import np
from minimx.core.ops.casting import SINGLE, WIDEST
from minimx.nd.signatures import functions
from minimx.symbol.composed import composed

# -- rows: operators that are computed by a function of `mx.np`, which is named last --


def _of_numpy(path: str, *arrays: Any, **settings: Any) -> Any:
    """Call a function of `mx.np`, such as "linalg.eigh"."""
    if settings.get("initial", 0) is None:  # `mean` does not know it
        del settings["initial"]
    return attrgetter(path)(np)(*arrays, **settings)


#: How many outputs those have that have several.
_OUTPUTS = {"_npi_eigh": 2, "_numpy_slogdet": 2, "_numpy_eig": 2, "_numpy_svd": 3}
#: What operators called `_numpy_…` are called in files, if not `_npi_…`.
_IN_FILES = {
    "_numpy_any": "_np_any", "_numpy_all": "_np_all", "_numpy_cumsum": "_np_cumsum",
    "_numpy_squeeze": "_np_squeeze", "_numpy_linspace": "_linspace",
    "_numpy_split": "_split_v2", "_numpy_array_split": "_split_v2",
}  # fmt: skip


def _enter(table: str, body: Callable[..., Any] = _of_numpy, **more: Any) -> None:
    """Enter the rows of a table as operators; more: as `composed` takes it."""
    for name, function in functions(body, __name__, table, inputs=3).items():
        written = ""
        if name.startswith("_numpy_"):
            written = _IN_FILES.get(name, name.replace("_numpy_", "_npi_"))
        composed(name, written=written, **(_gives(name) | more))(function)


def _gives(name: str) -> dict[str, Any]:
    """How many outputs an operator has, as `composed` takes it; nothing if one."""
    count = _OUTPUTS.get(name)
    return {} if count is None else {"gives": lambda op: count}


_enter(
    """
    _npi_full_like(a, *, fill_value: float, dtype: str | None = None): full_like
        One value everywhere, in the shape of an array.

    _npi_indices(*, dimensions: Shape, dtype: str = "int32"): indices
        The index along each axis of every place of an array.

    _npi_logspace(
        *, start: float, stop: float, num: int, endpoint: bool = True,
        base: float = 10.0, dtype: str | None = None): logspace
        Powers of `base` with evenly spaced exponents.

    _npi_hanning(*, M: int, dtype: str = "float32"): hanning
        Hann's window of M points.

    _npi_hamming(*, M: int, dtype: str = "float32"): hamming
        Hamming's window of M points.

    _npi_blackman(*, M: int, dtype: str = "float32"): blackman
        Blackman's window of M points.

    _npi_resize_fallback(a, *, new_shape: Shape): resize
        The elements in a new shape, repeated where it has room for more.

    _npi_mvn_fallback(mean, cov, *, size: Any = None): random.multivariate_normal
        Vectors of a normal distribution with a mean vector and a covariance matrix.

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
    """
)
_enter(
    """
    _npi_std(
        a, *, axis: Any = None, dtype: str | None = None, ddof: int = 0,
        keepdims: bool = False): std
        The square root of the variance over some axes, or over all.

    _npi_var(
        a, *, axis: Any = None, dtype: str | None = None, ddof: int = 0,
        keepdims: bool = False): var
        The mean squared distance from the mean over some axes, or over all.

    _npi_polyval(p, x): polyval
        The polynomial with the coefficients p, the highest first, at x.

    _npi_eigh(A, *, UPLO: str = "L"): linalg.eigh
        Eigenvalues, ascending, and eigenvectors, in columns, of symmetric matrices.

    _npi_eigvalsh(A, *, UPLO: str = "L"): linalg.eigvalsh
        The eigenvalues of symmetric matrices, ascending.

    _npi_pinv(A, rcond, *, hermitian: bool = False): linalg.pinv
        The pseudo-inverse, without singular values below `rcond` of the largest.

    _npi_pinv_scalar_rcond(
        A, *, rcond: float = 1e-15, hermitian: bool = False): linalg.pinv
        The pseudo-inverse, without singular values below `rcond` of the largest.

    _npi_tensorinv(a, *, ind: int = 2): linalg.tensorinv
        The inverse of an array as a map from its last axes to its first `ind`.

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
_enter(
    """
    _npi_unique(
        data, *, return_index: bool = False, return_inverse: bool = False,
        return_counts: bool = False, axis: Any = None): unique
        The distinct elements, ascending; their indices and how often they come.
    """,
    gives=lambda op: 1 + op.return_index + op.return_inverse + op.return_counts,
    planned=False,
)

# -- statistics ------------------------------------------------------------------------


def _weighted(path: str, data: Any, weights: Any, **settings: Any) -> Any:
    """A function with weights, from settings that say also whether there are some."""
    for flag in ("weighted", "has_weights"):
        settings.pop(flag, None)
    name = "p" if path == "random.choice" else "weights"
    return _of_numpy(path, data, **settings, **{name: weights})


_enter(
    """
    _npi_average(
        a, weights=None, *, axis: Any = None, returned: bool = False,
        weighted: bool = True): average
        The average, of which each element has a weight; and the sum of the weights.
    """,
    body=_weighted,
    takes=lambda op: ("a", "weights") if op.weighted else ("a",),
    gives=lambda op: 2 if op.returned else 1,
    casting=SINGLE,
)
_enter(
    """
    _npi_bincount(
        data, weights=None, *, minlength: int = 0, has_weights: bool = False): bincount
        How often each whole number occurs, or the sum of the weights where it does.
    """,
    body=_weighted,
    takes=lambda op: ("data", "weights") if op.has_weights else ("data",),
    planned=False,
)
_enter(
    """
    _npi_choice_of(
        input1, input2=None, *, size: Any = None, replace: bool = True,
        weighted: bool = False): random.choice
        Elements of a vector, each as likely, or as `input2` says. out: `size`.
    """,
    body=_weighted,
    takes=lambda op: ("input1", "input2") if op.weighted else ("input1",),
)


@composed("_npx_nonzero", planned=False)
def nonzero(x: Any) -> Any:
    """Where elements are not 0: a row of places for each."""
    return _npx().nonzero(x)


@composed("_npx_constraint_check", planned=False)
def constraint_check(input: Any, *, msg: str = "Constraint violated.") -> Any:  # noqa: A002
    """True where all elements hold; else an error where the result is waited for."""
    return _npx().constraint_check(input, msg)


def _npx() -> Any:
    from minimx import npx

    return npx


@composed("_npi_diag_indices_from")
def diag_indices_from(data: Any) -> Any:
    """The places of a square array's diagonal: a row for each axis."""
    found = np.diag_indices_from(data)
    return np.stack(found) if isinstance(found, (list, tuple)) else found


# -- framing, cutting, deleting, inserting ---------------------------------------------


def _pad(
    _: str, data: Any, *, pad_width: Any, mode: str, constant_values: float, **__: Any
) -> Any:
    given = {"constant_values": constant_values} if mode == "constant" else {}
    return np.pad(data, pad_width, mode, **given)


_enter(
    """
    _numpy_pad(
        data, *, pad_width: Any, mode: str = "constant", constant_values: float = 0.0,
        reflect_type: str = "even")
        An array inside a frame.
    """,
    body=_pad,
)


def _pieces(op: Any) -> int:
    """How many pieces the settings of a cut ask for."""
    return op.sections or len(op.indices)


def _cut(name: str, data: Any, indices: Any, axis: int, sections: int, **_: Any) -> Any:
    """`np.split` and its like, from an operator's settings."""
    where = sections or tuple(indices)[1:]  # the first piece begins at 0
    axes = () if name in ("hsplit", "dsplit") else (axis,)
    return getattr(np, name)(data, where, *axes)


_enter(
    """
    _npi_hsplit(
        data, *, indices: Shape = (), axis: int = 1, squeeze_axis: bool = False,
        sections: int = 0): hsplit
        An array cut into columns; vectors along their only axis.

    _npi_dsplit(
        data, *, indices: Shape = (), axis: int = 2, squeeze_axis: bool = False,
        sections: int = 0): dsplit
        An array cut along its third axis.

    _numpy_split(
        ary, *, indices: Shape = (), axis: int = 0, squeeze_axis: bool = False,
        sections: int = 0): split
        `np.split`; the first piece begins at 0.

    _numpy_array_split(
        ary, *, indices: Shape = (), axis: int = 0, squeeze_axis: bool = False,
        sections: int = 0): array_split
        `np.array_split`; the first piece begins at 0.
    """,
    body=_cut,
    gives=_pieces,
)


def _key(start: Any, stop: Any, step: Any, int_ind: Any) -> Any:
    return slice(start, stop, step) if int_ind is None else int_ind


def _delete(_: str, arr: Any, obj: Any, *, axis: Any, **where: Any) -> Any:
    return np.delete(arr, _key(**where) if obj is None else obj, axis)


def _has_key(op: Any) -> bool:
    """Whether the settings say where, and no array does."""
    return op.step is not None or op.int_ind is not None


_enter(
    """
    _npi_delete(
        arr, obj=None, *, start: Any = None, stop: Any = None, step: Any = None,
        int_ind: Any = None, axis: Any = None)
        An array without the slices at some places along an axis.
    """,
    body=_delete,
    takes=lambda op: ("arr",) if _has_key(op) else ("arr", "obj"),
    planned=False,
)


def _values(op: Any) -> tuple[str, ...]:
    return ("arr",) if op.val is not None else ("arr", "values")


def _insert(_: str, arr: Any, values: Any, *, val: Any, axis: Any, **where: Any) -> Any:
    return np.insert(arr, _key(**where), val if values is None else values, axis)


_enter(
    """
    _npi_insert_scalar(
        arr, values=None, *, val: Any = None, start: Any = None, stop: Any = None,
        step: Any = None, int_ind: Any = None, axis: Any = None)
        An array with values put in before some places along an axis.

    _npi_insert_slice(
        arr, values=None, *, val: Any = None, start: Any = None, stop: Any = None,
        step: Any = None, int_ind: Any = None, axis: Any = None)
        An array with values put in before some places along an axis.
    """,
    body=_insert,
    takes=_values,
)


def _insert_at(
    _: str, arr: Any, values: Any, obj: Any, *, val: Any, axis: Any, **where: Any
) -> Any:
    if obj is None:  # the values are a number, `val`
        values, obj = val, values
    return np.insert(arr, obj, values, axis)


_enter(
    """
    _npi_insert_tensor(
        arr, values, obj=None, *, val: Any = None, start: Any = None, stop: Any = None,
        step: Any = None, int_ind: Any = None, axis: Any = None)
        An array with values put in before the places that another array names.
    """,
    body=_insert_at,
    takes=lambda op: (*_values(op), "obj"),
    planned=False,
)


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


@composed("_npi_share_memory", planned=False)
def share_memory(a: Any, b: Any) -> Any:
    """Whether two arrays lie in the same memory."""
    return np.array(np.shares_memory(a, b), dtype="bool", ctx=a.context)


# -- linear algebra --------------------------------------------------------------------


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
