"""`mx.np.random`: arrays of random numbers, drawn from the device's own stream.

The parameters of a distribution are numbers or arrays, which stretch to one shape;
`size` is the shape of the result, by default that of the parameters. Numbers are
float32 unless dtype says other. Gradients flow to the parameters of normal, lognormal,
uniform, logistic, gumbel, laplace, exponential, rayleigh, weibull, pareto and power:
such a number is a smooth function of its parameters and of a standard number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as onp

from minimx.core.arrays.array import NDArray
from minimx.core.device import DeviceLike
from minimx.core.dtypes import resolve
from minimx.core.errors import ArgumentError, DTypeError
from minimx.core.ops.registry import lookup
from minimx.nd import seeding
from minimx.nd.signatures import functions
from minimx.np.arithmetic import store
from minimx.np.calling.calls import as_tuple, call, refuse_arguments, whole
from minimx.np.calling.promotion import cast
from minimx.np.creation import array, created
from minimx.np.linalg import cholesky
from minimx.np.multiarray import as_ndarray, ndarray
from minimx.np.products import matmul

Where = DeviceLike | None


def seed(seed: int, ctx: Any = "all", device: Any = None) -> None:
    """Start the random numbers of a device, or of all, again from a seed."""
    seeding.seed(seed, ctx, device)


def _size(size: Any) -> Any:
    return None if size is None else whole(as_tuple(size))


def _draw(
    name: str,
    size: Any = None,
    dtype: Any = None,
    ctx: Where = None,
    out: Any = None,
    device: Where = None,
    **parameters: Any,
) -> ndarray:
    """Numbers of the distribution whose operator is `_npi_` and `name`.

    parameters: of the distribution, numbers or arrays; other settings are among them.
    """
    if size is None and out is not None:
        size = out.shape
    arrays: list[Any] = []
    settings: dict[str, Any] = {"size": _size(size)}
    for parameter, value in parameters.items():
        if isinstance(value, onp.ndarray) and value.ndim:
            value = array(value, ctx=ctx or device)
        if isinstance(value, NDArray):
            arrays.append(as_ndarray(value, name, parameter))
            value = None
        settings[parameter] = value
    if name != "multinomial":
        kind = resolve("float32" if dtype is None else dtype)
        if kind.kind != "f" and name != "poisson":
            raise DTypeError(
                f"random.{name}: dtype={kind.name}: these numbers are not whole. Draw "
                "in float32 and convert them, or use random.randint."
            )
        settings["dtype"] = kind.name
    if not arrays:
        return created(f"_npi_{name}", ctx, device, out, **settings)
    return store(arrays[0]._bind(lookup(f"_npi_{name}").of(**settings), arrays), out)


#: The distributions; `mx.sym.np.random` has the same.
DISTRIBUTIONS = """
    uniform(low=0.0, high=1.0, size=None, dtype=None, ctx=None, out=None, device=None)
        Numbers evenly distributed in [low, high).

    normal(loc=0.0, scale=1.0, size=None, dtype=None, ctx=None, out=None, device=None)
        Numbers of a normal distribution with mean `loc` and deviation `scale`.

    logistic(loc=0.0, scale=1.0, size=None, ctx=None, out=None, device=None)
        Numbers of a logistic distribution around `loc`, stretched by `scale`.

    gumbel(loc=0.0, scale=1.0, size=None, ctx=None, out=None, device=None)
        Numbers distributed as the largest of many: Gumbel's, around `loc`.

    laplace(loc=0.0, scale=1.0, size=None, dtype=None, ctx=None, out=None, device=None)
        Numbers with an exponential to either side of `loc`.

    exponential(scale=1.0, size=None, ctx=None, out=None, device=None)
        Waiting times with mean `scale`.

    rayleigh(scale=1.0, size=None, ctx=None, out=None, device=None)
        Lengths of vectors with two normal parts of deviation `scale`.

    weibull(a, size=None, ctx=None, out=None, device=None)
        Life times: the a-th root of an exponential number.

    pareto(a, size=None, ctx=None, out=None, device=None)
        Pareto's distribution of exponent `a`, moved to begin at 0.

    power(a, size=None, ctx=None, out=None, device=None): powerd
        Numbers in [0, 1] with a density that grows like x^(a - 1).

    gamma(shape, scale=1.0, size=None, dtype=None, ctx=None, out=None, device=None)
        Numbers of a gamma distribution with mean shape · scale; no gradient.

    beta(a, b, size=None, dtype=None, ctx=None, device=None)
        Numbers in [0, 1] with mean a / (a + b); no gradient.

    chisquare(df, size=None, dtype=None, ctx=None, device=None)
        Sums of `df` squared normal numbers; no gradient.
"""
#: What symbols have not, or otherwise.
_OF_ARRAYS = """
    f(dfnum, dfden, size=None, ctx=None, device=None)
        Fisher's F: the ratio of two mean squares of `dfnum` and `dfden` numbers.

    poisson(lam=1.0, size=None, dtype=None, ctx=None, out=None, device=None)
        How often something happens that happens `lam` times on average.

        dtype: whole numbers are possible here.
"""
_CONTRACT = """
    Parameters are numbers, or arrays whose shapes stretch to one. size: the shape of
    the result, by default that of the parameters, () for numbers. float32, or the type
    of fractions that dtype names; DTypeError for other types.
"""
_TABLE = DISTRIBUTIONS + _OF_ARRAYS
ROWS = functions(_draw, __name__, _TABLE, 0, "ndarray", _CONTRACT)
globals().update(ROWS)
if TYPE_CHECKING:  # as `python -m minimx.np.stubs` says
    from minimx.np.random_rows import *  # noqa: F403
    from minimx.np.random_rows import normal, uniform


def lognormal(
    mean: Any = 0.0,
    sigma: Any = 1.0,
    size: Any = None,
    dtype: Any = None,
    ctx: Where = None,
    out: Any = None,
    device: Where = None,
) -> ndarray:
    """Numbers whose logarithms are normal, with mean `mean` and deviation `sigma`."""
    drawn = normal(mean, sigma, size, dtype, ctx, None, device)
    return call("exp", drawn, out=out)


def multivariate_normal(
    mean: Any,
    cov: Any,
    size: Any = None,
    check_valid: Any = None,
    tol: Any = None,
) -> ndarray:
    """Vectors of a normal distribution with mean vector and covariance matrix.

    mean (..., n), cov (..., n, n), positive definite; result (*size, ..., n). Gradients
    flow to both.
    """
    refuse_arguments("random.multivariate_normal", check_valid=check_valid, tol=tol)
    mean = as_ndarray(mean, "random.multivariate_normal", "mean")
    cov = as_ndarray(cov, "random.multivariate_normal", "cov")
    factor = cast(cholesky(cov), mean.spec.dtype)
    stack = onp.broadcast_shapes(mean.shape[:-1], factor.shape[:-2])
    shape = (*(_size(size) or ()), *stack, mean.shape[-1])
    standard = normal(0.0, 1.0, (*shape, 1), mean.spec.dtype, mean.context)
    return mean + matmul(factor, standard).reshape_view(shape)


def randint(
    low: int,
    high: int | None = None,
    size: Any = None,
    dtype: Any = None,
    ctx: Where = None,
    out: Any = None,
    device: Where = None,
) -> ndarray:
    """Whole numbers from low up to, without, high; from 0 up to low if high is None.

    dtype: int64 by default
    """
    low, high = (0, low) if high is None else (low, high)
    if low >= high:
        raise ValueError(f"random.randint: low={low} must be less than high={high}.")
    if size is None:
        size = () if out is None else out.shape
    kind = resolve("int64" if dtype in (None, int, "int") else dtype)
    if kind.kind not in "iu":
        raise DTypeError(f"random.randint: whole numbers do not have type {kind.name}.")
    settings = {"low": low, "high": high, "shape": _size(size), "dtype": kind.name}
    return created("_random_randint", ctx, device, out, **settings)


def rand(
    *size: int, dtype: Any = None, ctx: Where = None, device: Where = None
) -> ndarray:
    """Numbers evenly distributed in [0, 1); the shape is given as arguments."""
    return uniform(size=size, dtype=dtype, ctx=ctx, device=device)


def randn(
    *size: int, dtype: Any = None, ctx: Where = None, device: Where = None
) -> ndarray:
    """Numbers of the standard normal distribution; the shape is given as arguments."""
    return normal(size=size, dtype=dtype, ctx=ctx, device=device)


# -- choosing --------------------------------------------------------------------------


def choice(
    a: Any,
    size: Any = None,
    replace: bool = True,
    p: Any = None,
    ctx: Where = None,
    out: Any = None,
    device: Where = None,
) -> ndarray:
    """Elements of the vector `a`, or numbers from 0 up to, without, the number `a`.

    p: the probability of each, all alike by default; replace=False: none twice
    """
    count = a if not isinstance(a, NDArray) else a.size
    if isinstance(a, NDArray):
        ctx = a.context
        if a.ndim != 1:
            if a.ndim == 0:
                return choice(int(a.item()), size, replace, p, ctx, out, device)
            raise ArgumentError(
                f"random.choice: a {a.shape} must be a number or a vector."
            )
    settings: dict[str, Any] = {"a": count, "replace": replace, "size": _size(size)}
    if p is None:
        places = created("_npi_choice", ctx, device, **settings)
    else:
        if not isinstance(p, NDArray):
            p = array(p, dtype="float64", ctx=ctx or device)
        op = lookup("_npi_choice").of(weighted=True, **settings)
        places = as_ndarray(p, "random.choice", "p")._bind(op, (p,))
    if isinstance(a, NDArray):
        places = call("take", a, places, axis=0, mode="clip")
    return store(places, out)


def multinomial(n: int, pvals: Any, size: Any = None) -> ndarray:
    """How often each outcome comes in n trials; int64.

    pvals (k,): the probabilities; result (*size, k)
    """
    if not isinstance(pvals, NDArray):
        pvals = tuple(float(x) for x in pvals)
    return _draw("multinomial", size, pvals=pvals, n=whole(n))


def shuffle(x: Any) -> None:
    """Bring the slices along the first axis into a random order, in place."""
    x = as_ndarray(x, "random.shuffle", "x")
    store(call("shuffle", x), x)


def permutation(x: Any, ctx: Where = None, device: Where = None) -> ndarray:
    """The slices of an array, or the numbers up to x, in a random order."""
    if isinstance(x, NDArray):
        return call("shuffle", as_ndarray(x, "random.permutation", "x"))
    return call("shuffle", array(onp.arange(int(x)), dtype="int64", ctx=ctx or device))


__all__ = [
    "choice", "lognormal", "multinomial", "multivariate_normal", "permutation", "rand",
    "randint", "randn", "seed", "shuffle", *ROWS,
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
