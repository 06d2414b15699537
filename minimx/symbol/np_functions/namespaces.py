"""`mx.sym.np.linalg` and `mx.sym.np.random`: the functions that `mx.np` has there."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from minimx.core.dtypes import resolve
from minimx.symbol.functions import FUNCTIONS
from minimx.symbol.np_functions import operators, wider  # noqa: F401 (fill the registry)
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


def draw(name: str, given: dict[str, Any], size: Any, dtype: Any) -> Any:
    """Numbers of a distribution whose parameters are numbers or symbols."""
    symbols = [value for value in given.values() if isinstance(value, Symbol)]
    plain = {k: None if isinstance(v, Symbol) else v for k, v in given.items()}
    if size is not None:
        plain["size"] = (size,) if isinstance(size, int) else tuple(size)
    kind = resolve("float32" if dtype is None else dtype).name
    return FUNCTIONS[f"_npi_{name}"](*symbols, **plain, dtype=kind)


def _distribution(name: str, typed: bool, **defaults: Any) -> Callable[..., Any]:
    """A function of a distribution's parameters, of size, and maybe of dtype.

    defaults: those of the parameters, in order; None for one that must be given.
    """
    words = (*defaults, "size", *(["dtype"] if typed else []), "ctx", "out")

    def function(*args: Any, **kwargs: Any) -> Any:
        given = dict(zip(words, args, strict=False)) | kwargs
        parameters = {k: given.pop(k, default) for k, default in defaults.items()}
        for word, value in parameters.items():
            if value is None:
                raise TypeError(f"np.random.{name}: {word} is missing")
        if unknown := given.keys() - {"size", "dtype", "ctx", "out"}:
            raise TypeError(f"np.random.{name} has no argument {min(unknown)!r}")
        return draw(_OPERATORS.get(name, name), parameters, *_last(given))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Numbers as `np.random.{name}` draws them."
    return function


_OPERATORS = {"power": "powerd"}


def _last(given: dict[str, Any]) -> tuple[Any, Any]:
    return given.get("size"), given.get("dtype")


_DISTRIBUTIONS = {
    name: _distribution(name, typed, **defaults)
    for name, typed, defaults in (
        ("uniform", True, {"low": 0.0, "high": 1.0}),
        ("normal", True, {"loc": 0.0, "scale": 1.0}),
        ("logistic", False, {"loc": 0.0, "scale": 1.0}),
        ("gumbel", False, {"loc": 0.0, "scale": 1.0}),
        ("laplace", True, {"loc": 0.0, "scale": 1.0}),
        ("exponential", False, {"scale": 1.0}),
        ("rayleigh", False, {"scale": 1.0}),
        ("weibull", False, {"a": None}),
        ("pareto", False, {"a": None}),
        ("power", False, {"a": None}),
        ("gamma", True, {"shape": None, "scale": 1.0}),
        ("beta", True, {"a": None, "b": None}),
        ("chisquare", True, {"df": None}),
    )
}


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
