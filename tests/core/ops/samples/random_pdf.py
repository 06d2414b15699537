"""Rows for densities, asked of SciPy, and for random numbers that are like an array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from tests.core.ops.sample import Sample, numbers

REAL = ("float32", "float64")
SAMPLE = numbers(2, 3, low=0.2, high=3)
COUNTS = np.floor(numbers(2, 3, low=0, high=6))
A, B = np.array([0.6, 1.4]), np.array([3.5, 4.5])
SHARES = np.array(
    [[[0.2, 0.3, 0.5], [0.1, 0.6, 0.3]], [[0.4, 0.4, 0.2], [0.1, 0.1, 0.8]]]
)
CONCENTRATION = numbers(2, 3, low=0.5, high=3)

Log = Callable[..., Any]


def column(*parameters: Any) -> Any:
    return [p[:, None] for p in parameters]


def spread(x: Any, mu: Any, alpha: Any) -> Any:
    return stats.nbinom.logpmf(x, 1 / alpha, 1 / (mu * alpha + 1))


DENSITIES: dict[str, tuple[Any, tuple[Any, ...], Log]] = {
    "uniform": (SAMPLE, (A, B), lambda x, a, b: -np.log(b - a) + 0 * x),
    "normal": (SAMPLE, (A, B), lambda x, a, b: stats.norm.logpdf(x, a, b)),
    "gamma": (SAMPLE, (A, B), lambda x, a, b: stats.gamma.logpdf(x, a, scale=1 / b)),
    "exponential": (SAMPLE, (A,), lambda x, a: stats.expon.logpdf(x, scale=1 / a)),
    "poisson": (COUNTS, (A,), lambda x, a: stats.poisson.logpmf(x, a)),
    "negative_binomial": (COUNTS, (B, A / 2), stats.nbinom.logpmf),
    "generalized_negative_binomial": (COUNTS, (B, A), spread),
}


def _densities() -> list[Sample]:
    rows = []
    for name, (sample, parameters, log) in DENSITIES.items():
        smooth = (sample is SAMPLE, *(True for _ in parameters))

        def density(x: Any, *p: Any, log: Log = log) -> Any:
            return np.exp(log(x, *column(*p)))

        def logarithm(x: Any, *p: Any, log: Log = log) -> Any:
            return log(x, *column(*p))

        for is_log, oracle in ((False, density), (True, logarithm)):
            rows.append(
                Sample(
                    f"_random_pdf_{name}",
                    (sample, *parameters),
                    {"is_log": is_log},
                    oracle,
                    REAL,
                    smooth,
                    tolerance=256,
                )
            )
    return rows


def dirichlet(x: Any, alpha: Any) -> Any:
    # SciPy wants shares that add up to 1 to the last digit.
    x = x / x.sum(-1, keepdims=True)
    pairs = zip(x, alpha, strict=True)
    return np.array([[stats.dirichlet.pdf(s, a) for s in r] for r, a in pairs])


LIKE: list[tuple[str, dict[str, Any]]] = [
    ("uniform", {"low": -1.0}),
    ("normal", {"scale": 2.0}),
    ("gamma", {"alpha": 2.0}),
    ("exponential", {"lam": 2.0}),
    ("poisson", {"lam": 2.0}),
    ("negative_binomial", {"k": 3, "p": 0.5}),
    ("generalized_negative_binomial", {"mu": 2.0, "alpha": 0.5}),
]
ROWS = [
    *_densities(),
    Sample("_random_pdf_dirichlet", (SHARES, CONCENTRATION), {}, dirichlet, REAL,
           tolerance=256),
    Sample("_random_pdf_dirichlet", (SHARES, CONCENTRATION), {"is_log": True},
           lambda x, a: np.log(dirichlet(x, a)), REAL, tolerance=256),
    *(Sample(f"_random_{name}_like", (SAMPLE,), settings) for name, settings in LIKE),
    Sample("_sample_negative_binomial", (B, A / 2), {"shape": (3,)}),
    Sample("_sample_generalized_negative_binomial", (B, A), {"shape": (3,)}),
    Sample("_sample_unique_zipfian", (), {"range_max": 9, "shape": (2, 5)},
           dtypes=("float32",)),
]  # fmt: skip
