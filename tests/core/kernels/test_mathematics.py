"""Our own exp, log and relatives against long double precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

from minimx.core.kernels import pointwise
from minimx.core.kernels.formula import Formula

RNG = np.random.default_rng(7)
WIDE = np.concatenate([RNG.uniform(-80, 80, 20_000), RNG.normal(0, 1, 20_000)])
TINY = 10.0 ** RNG.uniform(-30, 30, 20_000)


def apply(text: str, x: Any) -> Any:
    out = np.empty_like(x)
    pointwise.kernel(Formula(text, ("x",)), [x.shape], [x.dtype], x.shape, x.dtype)(
        x, out
    )
    return out


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("name", "oracle", "x"),
    [
        ("exp", np.exp, WIDE),
        ("expm1", np.expm1, np.concatenate([WIDE, TINY[TINY < 10]])),
        ("tanh", np.tanh, np.concatenate([WIDE, TINY[TINY < 10]])),
        (
            "erf",
            lambda x: special.erf(x.astype(float)),
            np.concatenate([WIDE, TINY[TINY < 10]]),
        ),
        ("log", np.log, TINY),
        ("log1p", np.log1p, np.concatenate([TINY, RNG.uniform(-0.99, 1, 20_000)])),
    ],
)
def test_right_to_the_last_places(
    name: str, oracle: Callable[..., Any], x: Any, dtype: str
) -> None:
    x = x.astype(dtype)
    exact = oracle(x.astype(np.longdouble))
    found = apply(f"{name}(x)", x)
    unit = np.spacing(np.abs(exact).astype(dtype)).astype(np.longdouble)
    assert float(np.max(np.abs(found - exact) / unit)) < 2.5


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("name", "oracle", "x"),
    [
        ("digamma", special.digamma, RNG.uniform(-4.9, 30, 2000)),
        ("trigamma", lambda x: special.polygamma(1, x), RNG.uniform(0.1, 30, 2000)),
        ("erfinv", special.erfinv, RNG.uniform(-1, 1, 2000)),
        ("gamma", special.gamma, RNG.uniform(0.1, 20, 2000)),
    ],
)
def test_rarer_functions(
    name: str, oracle: Callable[..., Any], x: Any, dtype: str
) -> None:
    x = x.astype(dtype)
    exact = oracle(x.astype(np.float64))
    slack = 1e-11 if dtype == "float64" else 1e-6
    np.testing.assert_allclose(apply(f"{name}(x)", x), exact, rtol=slack, atol=slack)


def test_ends_and_tiny_numbers() -> None:
    x = np.array([0, 1, -1, np.inf, -np.inf, np.nan], np.float64)
    with np.errstate(all="ignore"):
        for name in ("exp", "expm1", "tanh", "log", "log1p"):
            np.testing.assert_allclose(
                apply(f"{name}(x)", x), getattr(np, name)(x), rtol=1e-15
            )
    for dtype in (np.float32, np.float64):
        ends = np.array([0.0, -0.0, np.inf, -np.inf, 1e-40, np.nan], dtype)
        found = apply("erf(x)", ends)
        slack = float(np.finfo(dtype).eps)
        np.testing.assert_allclose(found, special.erf(ends), rtol=slack)
        assert np.signbit(found[1])
    denormal = np.array([1e-40, 3e-42], np.float32)
    np.testing.assert_allclose(
        apply("log(x)", denormal), np.log(denormal.astype(np.float64)), rtol=1e-6
    )
    low = np.array([-87.5, -100.0, -103.5], np.float32)
    np.testing.assert_allclose(
        apply("exp(x)", low), np.exp(low.astype(np.float64)), rtol=1e-5, atol=2e-45
    )
    assert apply("erfinv(x)", np.array([1.0, -1.0])).tolist() == [np.inf, -np.inf]


def test_integers_divide_as_in_c() -> None:
    x = np.array([-7, 7, -6, 0], np.int32)
    assert apply("div(x, 2)", x).tolist() == [-3, 3, -3, 0]
    assert apply("mod(x, 2)", x).tolist() == [1, 1, 0, 0]
    assert apply("div(x, 0)", x).tolist() == [0, 0, 0, 0]
