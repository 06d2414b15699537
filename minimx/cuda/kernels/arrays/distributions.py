"""Random numbers of many distributions on CUDA, from Philox's words.

    launch = draw("gamma", ((2.0, None), ...), shapes, out_shape)
    launch(*arrays, out[, standard], generator)

Number i of a call belongs to counter i, and what it needs of further words to other
attempts: no number waits for another, and how many threads there are changes nothing. A
distribution is a function of (i, key, a, b): the standard number, before its parameters
had their say, and the number. Parameters that a distribution does not have give NaN: a
kernel cannot raise errors.

Gamma: Marsaglia and Tsang, "A simple method for generating gamma variables" (2000).
Poisson, of large means: Hörmann, "The transformed rejection method for generating
Poisson random variables" (1993).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np

from minimx.core.shapes import Shape
from minimx.cuda.kernels import launching, scratch
from minimx.cuda.kernels.arrays import places
from minimx.cuda.kernels.core import indexing
from minimx.cuda.kernels.core.random import key_of, words
from minimx.cuda.kernels.default_launch import builtin, runs
from minimx.cuda.kernels.launching import cuda
from minimx.cuda.kernels.mathematics import cos, exp, expm1, floor, gammaln, log, sqrt
from minimx.cuda.kernels.stretching import pair, spots

Launch = Callable[..., None]

_word = np.uint64
_LOW, _HIGH = _word(5), _word(6)
_UNIT, _TWO_PI = 1 / 4294967296, 6.283185307179586
#: Rejections are rare: so many in a row do not happen. NaN parameters end there.
_ATTEMPTS = 64
#: Which attempts a second number of the same element begins with.
_SECOND = 1 << 16


@launching.inner
def _open(word: Any) -> Any:
    """Between 0 and 1, neither of them."""
    return (float(word) + 0.5) * _UNIT


@launching.inner
def fine(i: int, attempt: int, key: Any) -> float:
    """From 0 up to 1, without: 53 bits."""
    found = words(_word(i), _word(attempt), key)
    high, low = float(found[0] >> _LOW), float(found[1] >> _HIGH)
    return (high * 67108864.0 + low) / 9007199254740992.0


@launching.inner
def _gaussian(first: Any, second: Any) -> Any:
    """Box and Muller's way: a random radius and a random angle."""
    return sqrt(-2.0 * log(_open(first))) * cos(_TWO_PI * float(second) * _UNIT)


@launching.inner
def _gamma(i: int, key: Any, shape: float, first: int) -> float:
    """Of scale 1. Shapes below 1 are those above, times a power of an even number."""
    small = shape < 1
    d = (shape + 1 if small else shape) - 1 / 3
    found = math.nan
    if shape > 0:
        c = 1 / sqrt(9 * d)
        for attempt in range(first, first + _ATTEMPTS):
            four = words(_word(i), _word(attempt), key)
            x = _gaussian(four[0], four[1])
            v = 1 + c * x
            v = v * v * v
            if v > 0 and log(_open(four[2])) < 0.5 * x * x + d - d * v + d * log(v):
                found = d * v
                if small:
                    found *= exp(log(_open(four[3])) / shape)
                break
    return found


@launching.inner
def _few(u: float, mean: float) -> float:
    """Poisson's number where the running sum of its probabilities passes u."""
    k, part = 0.0, exp(-mean)
    total = part
    while u > total and k < 100:
        k += 1.0
        part *= mean / k
        total += part
    return k


@launching.inner
def _poisson(i: int, key: Any, mean: float, first: int) -> float:
    found = math.nan
    if mean >= 0 and mean < 10:
        found = _few(fine(i, first, key), mean)
    elif mean >= 10:
        logarithm = log(mean)
        b = 0.931 + 2.53 * sqrt(mean)
        a = 0.02483 * b - 0.059
        slope, squeeze = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2)
        for attempt in range(first, first + _ATTEMPTS):
            four = words(_word(i), _word(attempt), key)
            u, v = _open(four[0]) - 0.5, _open(four[1])
            edge = 0.5 - (u if u > 0 else -u)
            k = floor((2 * a / edge + b) * u + mean + 0.43)
            if edge >= 0.07 and v <= squeeze:
                found = k
                break
            if k >= 0 and (edge >= 0.013 or v <= edge):
                bound = k * logarithm - mean - gammaln(k + 1)
                if log(v * slope / (a / (edge * edge) + b)) <= bound:
                    found = k
                    break
    return found


# -- distributions ---------------------------------------------------------------------

_distributions: dict[str, Any] = {}


def _distribution(function: Any) -> Any:
    """Enter a function `(i, key, a, b) -> (standard, number)` by its name."""
    made = launching.inner(function)
    _distributions[function.__name__.strip("_")] = made
    return made


@launching.inner
def _even(i: int, key: Any) -> Any:
    return _open(words(_word(i), _word(0), key)[0])


@_distribution
def normal(i: int, key: Any, loc: float, scale: float) -> Any:
    """Normal numbers around loc."""
    four = words(_word(i), _word(0), key)
    x = _gaussian(four[0], four[1])
    return x, loc + scale * x


@_distribution
def uniform(i: int, key: Any, low: float, high: float) -> Any:
    """24 bits, so that a float32 below 1 stays below 1."""
    x = float(words(_word(i), _word(0), key)[0] >> _word(8)) / 16777216.0
    return x, low + (high - low) * x


@launching.inner
def _waiting(u: Any) -> Any:
    return -log(u)


@launching.inner
def _located(x: Any, loc: float, scale: float) -> Any:
    return loc + scale * x


def _of_even(name: str, standard: Any, number: Any) -> None:
    """Enter a distribution that makes its number of one even number.

    standard: a function of the even number; number: of what that gives, a and b.
    """
    standard, number = launching.inner(standard), launching.inner(number)

    def draw(i, key, a, b):  # type: ignore[no-untyped-def]
        x = standard(_even(i, key))
        return x, number(x, a, b)

    draw.__name__ = name
    _distribution(draw)


_of_even("logistic", lambda u: log(u / (1 - u)), _located)
_of_even("gumbel", lambda u: -log(-log(u)), _located)
_of_even("laplace", lambda u: log(2 * u) if u < 0.5 else -log(2 - 2 * u), _located)
_of_even("exponential", _waiting, lambda x, scale, b: scale * x)
_of_even("rate", _waiting, lambda x, lam, b: x / lam)
_of_even("rayleigh", lambda u: sqrt(-2.0 * log(u)), lambda x, scale, b: scale * x)
_of_even("weibull", _waiting, lambda x, a, b: exp(log(x) / a))
_of_even("pareto", _waiting, lambda x, a, b: expm1(x / a))
_of_even("powerd", lambda u: u, lambda x, a, b: exp(log(x) / a))
_of_even("bernoulli", lambda u: u, lambda x, p, b: 1.0 if x < p else 0.0)
_of_even(
    "bernoulli_logit",
    lambda u: u,
    lambda x, p, b: 1.0 if x * (1 + exp(-p)) < 1 else 0.0,
)


@_distribution
def gamma(i: int, key: Any, shape: float, scale: float) -> Any:
    """Mean shape * scale."""
    x = _gamma(i, key, shape, 0)
    return x, x * scale


@_distribution
def beta(i: int, key: Any, a: float, b: float) -> Any:
    """One gamma number's share of two."""
    x, y = _gamma(i, key, a, 0), _gamma(i, key, b, _SECOND)
    return x, x / (x + y)


@_distribution
def chisquare(i: int, key: Any, df: float, b: float) -> Any:
    """A sum of df squares."""
    x = 2 * _gamma(i, key, df / 2, 0)
    return x, x


@_distribution
def f(i: int, key: Any, dfnum: float, dfden: float) -> Any:
    """A mean square over another."""
    x, y = _gamma(i, key, dfnum / 2, 0), _gamma(i, key, dfden / 2, _SECOND)
    return x, (x / dfnum) / (y / dfden)


@_distribution
def poisson(i: int, key: Any, lam: float, b: float) -> Any:
    """Counts of mean lam."""
    x = _poisson(i, key, lam, 0)
    return x, x


@_distribution
def negative_binomial(i: int, key: Any, k: float, p: float) -> Any:
    """Counts whose mean is a gamma number."""
    x = _gamma(i, key, k, 0)
    return x, _poisson(i, key, x * (1 - p) / p, _SECOND)


@_distribution
def generalized_negative_binomial(i: int, key: Any, mu: float, alpha: float) -> Any:
    """The same, named by mean and spread; without a spread Poisson's."""
    x = mu
    if alpha > 0 and mu > 0:
        x = mu * alpha * _gamma(i, key, 1 / alpha, 0)
    return x, _poisson(i, key, x, _SECOND)


# -- launches --------------------------------------------------------------------------


@cache
def _compiled(name: str) -> Any:
    function = _distributions[name]

    @launching.kernel
    def kernel(
        a: Any, b: Any, out: Any, standard: Any, n: int, key: Any, strides: Any,
        kept: bool,
    ) -> None:  # fmt: skip
        for i in range(cuda.grid(1), n, cuda.gridsize(1)):
            left, right = spots(i, strides)
            x, number = function(i, key, float(a[left]), float(b[right]))
            out[i] = number
            if kept:
                standard[i] = x

    return kernel


def draw(
    name: str, numbers: Sequence[float | None], shapes: Sequence[Shape],
    out_shape: Shape,
) -> Launch:  # fmt: skip
    """(*arrays, out[, standard], generator): numbers of a distribution.

    numbers: its parameters, one or two; None for one that is an array. shapes: of those
    arrays, as they stretch to the output's.
    """
    given, wide = list(numbers), iter(shapes)
    given += [0.0] * (2 - len(given))
    first, second = (next(wide) if number is None else () for number in given)
    strides = pair((first, second), out_shape)
    there: list[Any] = []

    def launch(*arrays: Any) -> None:
        *rest, generator = arrays
        if not there:
            fixed = [0.0 if number is None else number for number in given]
            there.append(cuda.to_device(np.array(fixed, np.float64)))
        inputs = iter(rest[: len(shapes)])
        a, b = (
            next(inputs).reshape(-1) if number is None else there[0][k : k + 1]
            for k, number in enumerate(given)
        )
        outs, key = rest[len(shapes) :], key_of(generator)
        arrays = a, b, outs[0], outs[-1]
        settings = key, strides, len(outs) > 1
        launching.over(_compiled(name), prod(out_shape), arrays, *settings)

    return launch


@launching.kernel
def _whole(out: Any, n: int, key: Any, low: int, width: Any) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        four = words(_word(i), _word(0), key)
        out[i] = low + np.int64(((four[0] << _word(32)) | four[1]) % width)


def randint(low: int, high: int) -> Launch:
    """(out, generator): whole numbers evenly in [low, high)."""
    width = _word(high - low)
    return lambda out, generator: launching.over(
        _whole, out.size, (out,), key_of(generator), low, width
    )


# -- choices ---------------------------------------------------------------------------


@launching.inner
def class_of(u: float, ends: Any, start: int, k: int) -> int:
    """Where the running sum of k probabilities passes u, the last if none does."""
    low, high = 0, k - 1
    while low < high:
        half = (low + high) // 2
        if ends[start + half] > u:
            high = half
        else:
            low = half + 1
    return low


@launching.kernel
def _classes(
    data: Any, ends: Any, out: Any, likely: Any, n: int, per: int, k: int, key: Any,
    asked: bool,
) -> None:  # fmt: skip
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        start = i // per * k
        u = fine(i, 0, key) * ends[start + k - 1]
        found = class_of(u, ends, start, k)
        out[i] = found
        if asked:
            likely[i] = log(float(data[start + found]))


def multinomial(rows: int, k: int) -> Launch:
    """(data, out[, logarithms], generator): classes by rows of k probabilities."""
    sums = places.cumsum((rows, k), 1, np.float64)

    def launch(data: Any, *rest: Any) -> None:
        *outs, generator = rest
        n = outs[0].size
        with scratch.allocated((rows * k, np.float64)) as (ends,):
            sums(data, ends)
            arrays = data, ends, outs[0], outs[-1]
            settings = n // rows, k, key_of(generator), len(outs) > 1
            launching.over(_classes, n, arrays, *settings)

    return launch


@launching.kernel
def _keys(weights: Any, keys: Any, n: int, key: Any, weighted: bool) -> None:
    """Waiting times: who is likelier is earlier."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        time = -log(fine(i, 0, key) + 2.0**-54)
        keys[i] = time / float(weights[i]) if weighted else time


def _permuted(n: int, weights: Any, order: Any, generator: Any) -> None:
    """Fill order (int64, n) with all numbers below n, likely ones rather earlier."""
    with scratch.allocated((n, np.float64)) as (keys,):
        weighted = weights is not None
        arrays = weights if weighted else keys, keys
        launching.over(_keys, n, arrays, key_of(generator), weighted)
        indexing.ordered(keys, (n,), 0, True, order)


@runs("shuffle", types=builtin)
def shuffle(data: Any, out: Any, generator: Any) -> None:
    """The rows in a random order."""
    shape = tuple(map(int, data.shape))
    with scratch.allocated((shape[0], np.int64)) as (order,):
        _permuted(shape[0], None, order, generator)
        indexing.take(shape, 0, "clip")(data, order, out)


def choice(count: int, replace: bool, weighted: bool) -> Launch:
    """([p, ]out, generator): places from 0 to count - 1."""
    if replace:
        return multinomial(1, count) if weighted else randint(0, count)

    def launch(*arrays: Any) -> None:
        *p, out, generator = arrays
        with scratch.allocated((count, np.int64)) as (order,):
            _permuted(count, p[0] if p else None, order, generator)
            launching.duplicate(order[: out.size], out)

    return launch
