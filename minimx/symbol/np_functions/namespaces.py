"""`mx.sym.np.linalg` and `mx.sym.np.random`: the functions that `mx.np` has there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from minimx.core.dtypes import resolve
from minimx.nd.signatures import functions
from minimx.np.random import DISTRIBUTIONS
from minimx.symbol.functions import FUNCTIONS
from minimx.symbol.np_functions import operators  # noqa: F401 (fills the registry)
from minimx.symbol.symbol import Symbol

# -- linear algebra --------------------------------------------------------------------


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A002
    """The length of vectors, or the size of matrices."""
    axis = tuple(axis) if isinstance(axis, (list, tuple)) else axis
    matrix = isinstance(axis, tuple) and len(axis) == 2
    if ord is None and axis is None:
        flag = -2
    elif ord in (None, "fro"):
        flag = 1
    elif ord == "nuc":
        flag = 2
    else:
        flag = 0 if matrix and ord in (2, -2) else -1
    settings = {"ord": 2 if flag in (-2, 1, 2) else ord, "axis": axis, "flag": flag}
    return FUNCTIONS["_npi_norm"](x, keepdims=keepdims, **settings)


def _pinv(a: Any, rcond: Any = 1e-15, hermitian: bool = False) -> Any:
    """The pseudo-inverse, without singular values below `rcond` of the largest."""
    if isinstance(rcond, Symbol):
        return FUNCTIONS["_npi_pinv"](a, rcond, hermitian=hermitian)
    name = "_npi_pinv_scalar_rcond"
    return FUNCTIONS[name](a, rcond=float(rcond), hermitian=hermitian)


def _tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """The x with tensordot(a, x, x.ndim) = b."""
    return FUNCTIONS["_npi_tensorsolve"](a, b, a_axes=tuple(axes or ()))


def _matrix_functions() -> dict[str, Any]:
    same = ("cholesky", "det", "eig", "eigvals", "inv", "slogdet", "solve", "svd")
    words = ("eigh", "eigvalsh", "tensorinv")
    found = {word: FUNCTIONS[f"_numpy_{word}"] for word in same}
    return found | {word: FUNCTIONS[f"_npi_{word}"] for word in words}


#: `mx.sym.np.linalg`.
linalg = SimpleNamespace(
    **_matrix_functions(), norm=_norm, pinv=_pinv, tensorsolve=_tensorsolve
)

# -- random numbers --------------------------------------------------------------------


def draw(
    name: str,
    size: Any = None,
    dtype: Any = None,
    ctx: Any = None,
    out: Any = None,
    **parameters: Any,
) -> Any:
    """Numbers of the distribution whose operator is `_npi_` and `name`.

    parameters: of the distribution, numbers or symbols. ctx, out: a graph learns them
    when it is bound.
    """
    symbols = [value for value in parameters.values() if isinstance(value, Symbol)]
    plain = {k: None if isinstance(v, Symbol) else v for k, v in parameters.items()}
    if size is not None:
        plain["size"] = (size,) if isinstance(size, int) else tuple(size)
    kind = resolve("float32" if dtype is None else dtype).name
    return FUNCTIONS[f"_npi_{name}"](*symbols, **plain, dtype=kind)


# Here all of them have `out`, which is last, and no `device`.
_TABLE = DISTRIBUTIONS.replace(", out=None", "").replace("device=None", "out=None")
_DISTRIBUTIONS = functions(draw, __name__, _TABLE)


def _lognormal(
    mean: Any = 0.0, sigma: Any = 1.0, size: Any = None, dtype: Any = None, **_: Any
) -> Any:
    """Numbers whose logarithms are normal."""
    return FUNCTIONS["exp"](_DISTRIBUTIONS["normal"](mean, sigma, size, dtype))


def _rand(*size: int, **kwargs: Any) -> Any:
    """Numbers evenly distributed in [0, 1); the shape is given as arguments."""
    return _DISTRIBUTIONS["uniform"](0.0, 1.0, size, kwargs.get("dtype"))


def _randint(
    low: int,
    high: int | None = None,
    size: Any = None,
    dtype: Any = None,
    ctx: Any = None,
    out: Any = None,
) -> Any:
    """Whole numbers from low up to, without, high; from 0 up to low without high."""
    low, high = (0, low) if high is None else (low, high)
    if low >= high:
        raise ValueError(f"random.randint: low={low} must be less than high={high}.")
    shape = () if size is None else (size,) if isinstance(size, int) else tuple(size)
    kind = resolve("int64" if dtype in (None, int, "int") else dtype).name
    function = FUNCTIONS["_random_randint"]
    return function(low=low, high=high, shape=shape, dtype=kind)


def _choice(
    a: Any,
    size: Any = None,
    replace: bool = True,
    p: Any = None,
    ctx: Any = None,
    out: Any = None,
) -> Any:
    """Elements of the vector `a`, or numbers from 0 up to, without, the number `a`."""
    size = () if size is None else (size,) if isinstance(size, int) else tuple(size)
    symbols = [x for x in (a, p) if isinstance(x, Symbol)]
    settings = {"size": size, "replace": replace, "weighted": p is not None}
    if isinstance(a, Symbol):
        return FUNCTIONS["_npi_choice_of"](*symbols, **settings)
    return FUNCTIONS["_npi_choice"](*symbols, a=a, **settings)


def _multivariate_normal(
    mean: Any, cov: Any, size: Any = None, check_valid: Any = None, tol: Any = None
) -> Any:
    """Vectors of a normal distribution with a mean vector and a covariance matrix."""
    return FUNCTIONS["_npi_mvn_fallback"](mean, cov, size=size)


def _shuffle(x: Any) -> Any:
    """The slices along the first axis in a random order."""
    return FUNCTIONS["shuffle"](x)


#: `mx.sym.np.random`.
random = SimpleNamespace(
    **_DISTRIBUTIONS,
    choice=_choice,
    lognormal=_lognormal,
    multivariate_normal=_multivariate_normal,
    rand=_rand,
    randint=_randint,
    shuffle=_shuffle,
)
