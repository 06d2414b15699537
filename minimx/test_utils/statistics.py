"""Do random numbers follow their distribution? The chi-square test needs SciPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minimx.core.errors import ArgumentError
from minimx.test_utils.compare import as_numpy

Generator = Callable[[int], Any]
Bucket = Any  # a number, or the (low, high) of an interval


def gen_buckets_probs_with_ppf(
    ppf: Callable[[float], float], nbuckets: int
) -> tuple[list[tuple[float, float]], list[float]]:
    """Intervals of equal probability, for `chi_square_check`.

    ppf: the inverse of the distribution function. Returns [(low, high), …] and the
    probabilities 1 / nbuckets. Raises `ArgumentError` for no bucket.
    """
    if nbuckets < 1:
        raise ArgumentError(f"nbuckets={nbuckets}: give one at least.")
    edges = [ppf(i / nbuckets) for i in range(nbuckets + 1)]
    buckets = list(zip(edges[:-1], edges[1:], strict=True))
    return buckets, [1.0 / nbuckets] * nbuckets


def mean_check(
    generator: Generator, mu: float, sigma: float, nsamples: int = 1000000
) -> bool:
    """Whether the mean of many samples is within three standard errors of `mu`.

    generator: from a count to so many samples. sigma: their standard deviation. A right
    generator fails in 0.3 % of the runs.
    """
    mean = float(as_numpy(generator(nsamples)).mean())
    return abs(mean - mu) < 3 * sigma / float(np.sqrt(nsamples))


def var_check(generator: Generator, sigma: float, nsamples: int = 1000000) -> bool:
    """Whether the variance of many normal samples is within three standard errors.

    generator, sigma: as for `mean_check`.
    """
    variance = float(as_numpy(generator(nsamples)).var(ddof=1))
    error = float(np.sqrt(2 * sigma**4 / (nsamples - 1)))
    return abs(variance - sigma**2) < 3 * error


def chi_square_check(
    generator: Generator,
    buckets: Sequence[Bucket],
    probs: Sequence[float],
    nsamples: int = 1000000,
) -> tuple[float, Any, Any]:
    """The chi-square test of many samples against the probability of each bucket.

    buckets: (low, high) intervals in ascending order, or the values themselves.
    Returns the p value, how often each bucket was hit, and how often it should be.
    """
    chisquare = _scipy_stats().chisquare
    if len(buckets) != len(probs):
        raise ArgumentError(f"{len(buckets)} buckets, but {len(probs)} probabilities.")
    samples = as_numpy(generator(nsamples)).ravel()
    expected = np.floor(nsamples * np.asarray(probs, float))
    if isinstance(buckets[0], (list, tuple)):
        edges = np.asarray(buckets, float)
        samples = np.sort(samples)
        low = np.searchsorted(samples, edges[:, 0], side="left")
        high = np.searchsorted(samples, edges[:, 1], side="left")
        observed = high - low
    else:
        observed = np.array([(samples == value).sum() for value in buckets])
    # SciPy wants equal sums; rounding and values outside all buckets make them differ.
    scaled = expected * (observed.sum() / expected.sum())
    p = chisquare(f_obs=observed, f_exp=scaled).pvalue
    return float(p), observed, expected


def verify_generator(
    generator: Generator,
    buckets: Sequence[Bucket],
    probs: Sequence[float],
    nsamples: int = 1000000,
    nrepeat: int = 5,
    success_rate: float = 0.2,
    alpha: float = 0.05,
) -> list[float]:
    """Repeat `chi_square_check`; raise AssertionError if too few runs look right.

    success_rate: the share of runs whose p value must exceed `alpha`.
    """
    runs = [
        chi_square_check(generator, buckets, probs, nsamples) for _ in range(nrepeat)
    ]
    values = [run[0] for run in runs]
    if sum(p > alpha for p in values) < nrepeat * success_rate:
        raise AssertionError(
            f"these numbers do not follow the distribution: p values {values} in "
            f"{nrepeat} runs. Hits {[run[1].tolist() for run in runs]}, "
            f"expected {runs[0][2].tolist()} in {list(buckets)}."
        )
    return values


def _scipy_stats() -> Any:
    try:
        import scipy.stats
    except ImportError:
        raise ImportError(
            "the chi-square test needs SciPy, which minimx itself does not. "
            "Install it: pip install scipy."
        ) from None
    return scipy.stats
