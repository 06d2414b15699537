"""`mx.np.random`: arrays of random numbers, drawn from the device's own stream.

The parameters of a distribution are numbers or arrays, which stretch to one shape;
`size` is the shape of the result, by default that of the parameters. Numbers are
float32 unless dtype says other. Gradients flow to the parameters of normal, lognormal,
uniform, logistic, gumbel, laplace, exponential, rayleigh, weibull, pareto and power:
such a number is a smooth function of its parameters and of a standard number.
"""

from __future__ import annotations

from typing import Any

import numpy as onp

from minimx.core.arrays.array import NDArray
from minimx.core.device import DeviceLike
from minimx.core.dtypes import resolve
from minimx.core.errors import ArgumentError, DTypeError
from minimx.core.ops.registry import lookup
from minimx.nd import seeding
from minimx.np.arithmetic import store
from minimx.np.calling.calls import as_tuple, call, refuse_words, whole
from minimx.np.calling.promotion import cast
from minimx.np.creation import array, made
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
    parameters: dict[str, Any],
    size: Any,
    dtype: Any = None,
    ctx: Where = None,
    out: Any = None,
    device: Where = None,
    **settings: Any,
) -> ndarray:
    """Numbers of the distribution whose operator is `name`."""
    if size is None and out is not None:
        size = out.shape
    arrays: list[Any] = []
    for word, value in parameters.items():
        if isinstance(value, onp.ndarray) and value.ndim:
            value = array(value, ctx=ctx or device)
        if isinstance(value, NDArray):
            arrays.append(as_ndarray(value, name, word))
            value = None
        settings[word] = value
    settings["size"] = _size(size)
    if name not in ("choice", "multinomial"):
        kind = resolve("float32" if dtype is None else dtype)
        if kind.kind != "f" and name != "poisson":
            raise DTypeError(
                f"random.{name}: dtype={kind.name}: these numbers are not whole. Draw "
                "in float32 and convert them, or use random.randint."
            )
        settings["dtype"] = kind.name
    if not arrays:
        return made(f"_npi_{name}", ctx, device, out, **settings)
    return store(arrays[0]._bind(lookup(f"_npi_{name}").of(**settings), arrays), out)


# -- with gradients --------------------------------------------------------------------


def uniform(
    low: Any = 0.0,
    high: Any = 1.0,
    size: Any = None,
    dtype: Any = None,
    ctx: Where = None,
    out: Any = None,
    device: Where = None,
) -> ndarray:
    """Numbers evenly distributed in [low, high)."""
    return _draw("uniform", {"low": low, "high": high}, size, dtype, ctx, out, device)


def normal(
    loc: Any = 0.0,
    scale: Any = 1.0,
    size: Any = None,
    dtype: Any = None,
    ctx: Where = None,
    out: Any = None,
    device: Where = None,
) -> ndarray:
    """Numbers of a normal distribution with mean `loc` and deviation `scale`."""
    return _draw("normal", {"loc": loc, "scale": scale}, size, dtype, ctx, out, device)


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


def logistic(
    loc: Any = 0.0,
    scale: Any = 1.0,
    size: Any = None,
    ctx: Where = None,
    out: Any = None,
    device: Where = None,
) -> ndarray:
    """Numbers of a logistic distribution around `loc`, stretched by `scale`."""
    parameters = {"loc": loc, "scale": scale}
    return _draw("logistic", parameters, size, None, ctx, out, device)


def gumbel(
    loc: Any = 0.0,
    scale: Any = 1.0,
    size: Any = None,
    ctx: Where = None,
    out: Any = None,
    device: Where = None,
) -> ndarray:
    """Numbers distributed as the largest of many: Gumbel's, around `loc`."""
    return _draw("gumbel", {"loc": loc, "scale": scale}, size, None, ctx, out, device)


def laplace(
    loc: Any = 0.0,
    scale: Any = 1.0,
    size: Any = None,
    dtype: Any = None,
    ctx: Where = None,
    out: Any = None,
    device: Where = None,
) -> ndarray:
    """Numbers with an exponential to either side of `loc`."""
    return _draw("laplace", {"loc": loc, "scale": scale}, size, dtype, ctx, out, device)


def exponential(
    scale: Any = 1.0,
    size: Any = None,
    ctx: Where = None,
    out: Any = None,
    device: Where = None,
) -> ndarray:
    """Waiting times with mean `scale`."""
    return _draw("exponential", {"scale": scale}, size, None, ctx, out, device)


def rayleigh(
    scale: Any = 1.0,
    size: Any = None,
    ctx: Where = None,
    out: Any = None,
    device: Where = None,
) -> ndarray:
    """Lengths of vectors with two normal parts of deviation `scale`."""
    return _draw("rayleigh", {"scale": scale}, size, None, ctx, out, device)


def weibull(
    a: Any, size: Any = None, ctx: Where = None, out: Any = None, device: Where = None
) -> ndarray:
    """Life times: the a-th root of an exponential number."""
    return _draw("weibull", {"a": a}, size, None, ctx, out, device)


def pareto(
    a: Any, size: Any = None, ctx: Where = None, out: Any = None, device: Where = None
) -> ndarray:
    """Pareto's distribution of exponent `a`, moved to begin at 0."""
    return _draw("pareto", {"a": a}, size, None, ctx, out, device)


def power(
    a: Any, size: Any = None, ctx: Where = None, out: Any = None, device: Where = None
) -> ndarray:
    """Numbers in [0, 1] with a density that grows like x^(a - 1)."""
    return _draw("powerd", {"a": a}, size, None, ctx, out, device)


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
    refuse_words("random.multivariate_normal", check_valid=check_valid, tol=tol)
    mean = as_ndarray(mean, "random.multivariate_normal", "mean")
    cov = as_ndarray(cov, "random.multivariate_normal", "cov")
    factor = cast(cholesky(cov), mean.spec.dtype)
    stack = onp.broadcast_shapes(mean.shape[:-1], factor.shape[:-2])
    shape = (*(_size(size) or ()), *stack, mean.shape[-1])
    standard = normal(0.0, 1.0, (*shape, 1), mean.spec.dtype, mean.context)
    return mean + matmul(factor, standard).reshape_view(shape)


# -- without -----------------------------------------------------------------------


def gamma(
    shape: Any,
    scale: Any = 1.0,
    size: Any = None,
    dtype: Any = None,
    ctx: Where = None,
    out: Any = None,
    device: Where = None,
) -> ndarray:
    """Numbers of a gamma distribution with mean shape · scale."""
    parameters = {"shape": shape, "scale": scale}
    return _draw("gamma", parameters, size, dtype, ctx, out, device)


def beta(
    a: Any,
    b: Any,
    size: Any = None,
    dtype: Any = None,
    ctx: Where = None,
    device: Where = None,
) -> ndarray:
    """Numbers in [0, 1] with mean a / (a + b)."""
    return _draw("beta", {"a": a, "b": b}, size, dtype, ctx, None, device)


def chisquare(
    df: Any,
    size: Any = None,
    dtype: Any = None,
    ctx: Where = None,
    device: Where = None,
) -> ndarray:
    """Sums of `df` squared normal numbers."""
    return _draw("chisquare", {"df": df}, size, dtype, ctx, None, device)


def f(
    dfnum: Any,
    dfden: Any,
    size: Any = None,
    ctx: Where = None,
    device: Where = None,
) -> ndarray:
    """Fisher's F: the ratio of two mean squares of `dfnum` and `dfden` numbers."""
    parameters = {"dfnum": dfnum, "dfden": dfden}
    return _draw("f", parameters, size, None, ctx, None, device)


def poisson(
    lam: Any = 1.0,
    size: Any = None,
    dtype: Any = None,
    ctx: Where = None,
    out: Any = None,
    device: Where = None,
) -> ndarray:
    """How often something happens that happens `lam` times on average."""
    return _draw("poisson", {"lam": lam}, size, dtype, ctx, out, device)


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
    return made("_random_randint", ctx, device, out, **settings)


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
        places = made("_npi_choice", ctx, device, **settings)
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
    return _draw("multinomial", {"pvals": pvals}, size, n=whole(n))


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
    "beta", "chisquare", "choice", "exponential", "f", "gamma", "gumbel", "laplace",
    "logistic", "lognormal", "multinomial", "multivariate_normal", "normal", "pareto",
    "permutation", "poisson", "power", "rand", "randint", "randn", "rayleigh", "seed",
    "shuffle", "uniform", "weibull",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
