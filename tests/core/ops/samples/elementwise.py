"""Rows for pointwise operators: two arrays, an array and a number, one array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from tests.core.ops.sample import FLOATS, Sample, numbers

INTS = ("int32", "int64")
WHOLE = ("int8", "uint8", *INTS)


def two(low: float = -2, high: float = 2) -> tuple[Any, Any]:
    b = numbers(3, 4, low=low + 0.05, high=high, seed=5)
    return numbers(3, 4, low=low, high=high), b


def stretched(low: float = -2, high: float = 2) -> tuple[Any, Any]:
    a = numbers(3, 1, 4, low=low, high=high)
    return a, numbers(2, 1, low=low, high=high, seed=5)


def with_second(f: Callable[..., Any], scalar: float) -> Callable[..., Any]:
    return lambda x: f(x, scalar)


def truncated(a: Any, b: Any) -> Any:
    return np.where(b == 0, 0, np.trunc(a / np.where(b == 0, 1, b)))


def _nearest(x: Any) -> Any:
    """Halves go down, as MXNet's `rint` has it."""
    return np.where(x - np.floor(x) > 0.5, np.ceil(x), np.floor(x))


def _binary() -> list[Sample]:
    oracles: dict[str, tuple[Callable[..., Any], tuple[float, float]]] = {
        "add": (np.add, (-2, 2)),
        "sub": (np.subtract, (-2, 2)),
        "mul": (np.multiply, (-2, 2)),
        "div": (np.divide, (0.5, 2)),
        "mod": (np.mod, (0.3, 2)),
        "power": (np.power, (0.3, 2)),
        "maximum": (np.maximum, (-2, 2)),
        "minimum": (np.minimum, (-2, 2)),
        "hypot": (np.hypot, (0.3, 2)),
    }
    rows = []
    for word, (oracle, bounds) in oracles.items():
        rows.append(Sample(f"broadcast_{word}", two(*bounds), oracle=oracle))
        rows.append(
            Sample(
                f"broadcast_{word}", stretched(*bounds), oracle=oracle, note="stretched"
            )
        )
        if word in ("add", "sub", "mul", "div"):
            rows.append(Sample(f"elemwise_{word}", two(*bounds), oracle=oracle))
    a = np.array([-7, 7, -7, 7, 5, 0, 6], np.float64)
    b = np.array([2, 2, -2, -2, 0, 3, 3], np.float64)
    rows += [
        Sample("broadcast_div", (a, b), oracle=truncated, dtypes=INTS, smooth=False),
        Sample(
            "broadcast_mod",
            (a, b),
            oracle=lambda a, b: np.where(b == 0, 0, np.mod(a, np.where(b == 0, 1, b))),
            dtypes=(*INTS, *FLOATS),
            smooth=False,
            note="zeros",
        ),
        Sample(
            "broadcast_add",
            (np.array([100.0, 3.0]), np.array([27.0, 4.0])),
            oracle=np.add,
            dtypes=WHOLE,
            smooth=False,
        ),
        Sample(
            "broadcast_maximum",
            (np.array([np.nan, 1.0, np.inf]), np.array([0.0, np.nan, 3.0])),
            oracle=np.maximum,
            smooth=False,
            note="nan",
        ),
    ]
    return rows


def _comparisons() -> list[Sample]:
    oracles: dict[str, Callable[..., Any]] = {
        "equal": np.equal,
        "not_equal": np.not_equal,
        "greater": np.greater,
        "greater_equal": np.greater_equal,
        "lesser": np.less,
        "lesser_equal": np.less_equal,
        "logical_and": np.logical_and,
        "logical_or": np.logical_or,
        "logical_xor": np.logical_xor,
    }
    a = np.array([[0.0, 1.0, 2.0, np.nan], [0.0, 0.0, -1.0, 3.0]])
    b = np.array([0.0, 2.0, 0.0, 3.0])
    c = np.array([0.0, 1.0, 0.0, 4.0])
    rows = []
    for word, oracle in oracles.items():
        rows.append(Sample(f"broadcast_{word}", (a, b), oracle=oracle))
        rows.append(Sample(f"broadcast_{word}", (c, b), oracle=oracle, dtypes=INTS))
        scalar = with_second(oracle, 2.0)
        name = f"_{word}_scalar"
        rows.append(Sample(name, (a,), {"scalar": 2.0}, scalar))
        rows.append(Sample(name, (c,), {"scalar": 2.0}, scalar, INTS))
    return rows


def _scalars() -> list[Sample]:
    x = numbers(3, 4, low=0.3, high=2.0)
    # 1.7 is no number of the table: comparisons with it have a slope
    oracles: dict[str, Callable[[Any, float], Any]] = {
        "_plus_scalar": lambda x, s: x + s,
        "_minus_scalar": lambda x, s: x - s,
        "_rminus_scalar": lambda x, s: s - x,
        "_mul_scalar": lambda x, s: x * s,
        "_div_scalar": lambda x, s: x / s,
        "_rdiv_scalar": lambda x, s: s / x,
        "_mod_scalar": np.mod,
        "_rmod_scalar": lambda x, s: np.mod(s, x),
        "_power_scalar": lambda x, s: x**s,
        "_rpower_scalar": lambda x, s: s**x,
        "_maximum_scalar": np.maximum,
        "_minimum_scalar": np.minimum,
        "_hypot_scalar": np.hypot,
    }
    rows = [
        # the number takes the array's type, so float16 would see another number
        Sample(name, (x,), {"scalar": 0.75}, with_second(oracle, 0.75))
        for name, oracle in oracles.items()
    ]

    def smooth_l1(x: Any) -> Any:
        return np.where(np.abs(x) < 0.25, 2 * x * x, np.abs(x) - 0.125)

    x = numbers(3, 4, low=-1.0, high=1.0)
    rows.append(Sample("smooth_l1", (x,), {"scalar": 2.0}, smooth_l1))
    return rows


def _unary() -> list[Sample]:
    everywhere, positive, inside, above = (-2.0, 2.0), (0.2, 3), (-0.9, 0.9), (1.1, 3)
    oracles: dict[str, tuple[Callable[..., Any], tuple[float, float]]] = {
        "negative": (np.negative, everywhere),
        "reciprocal": (np.reciprocal, positive),
        "square": (np.square, everywhere),
        "sqrt": (np.sqrt, positive),
        "rsqrt": (lambda x: 1 / np.sqrt(x), positive),
        "cbrt": (np.cbrt, positive),
        "rcbrt": (lambda x: 1 / np.cbrt(x), positive),
        "exp": (np.exp, everywhere),
        "expm1": (np.expm1, everywhere),
        "log": (np.log, positive),
        "log1p": (np.log1p, inside),
        "log2": (np.log2, positive),
        "log10": (np.log10, positive),
        "sin": (np.sin, everywhere),
        "cos": (np.cos, everywhere),
        "tan": (np.tan, inside),
        "arcsin": (np.arcsin, inside),
        "arccos": (np.arccos, inside),
        "arctan": (np.arctan, everywhere),
        "sinh": (np.sinh, everywhere),
        "cosh": (np.cosh, everywhere),
        "tanh": (np.tanh, everywhere),
        "arcsinh": (np.arcsinh, everywhere),
        "arccosh": (np.arccosh, above),
        "arctanh": (np.arctanh, inside),
        "degrees": (np.degrees, everywhere),
        "radians": (np.radians, everywhere),
        "gamma": (special.gamma, positive),
        "gammaln": (special.gammaln, positive),
        "digamma": (special.digamma, positive),
        "trigamma": (lambda x: special.polygamma(1, x), positive),
        "erf": (special.erf, everywhere),
        "erfinv": (special.erfinv, inside),
        "sigmoid": (special.expit, everywhere),
        "relu": (lambda x: np.maximum(x, 0), everywhere),
        "softsign": (lambda x: x / (1 + np.abs(x)), everywhere),
        "softrelu": (lambda x: np.logaddexp(x, 0), everywhere),
        "abs": (np.abs, everywhere),
        "sign": (np.sign, everywhere),
        "rint": (_nearest, everywhere),
        "floor": (np.floor, everywhere),
        "ceil": (np.ceil, everywhere),
        "trunc": (np.trunc, everywhere),
        "fix": (np.trunc, everywhere),
        "round": (lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), everywhere),
        "logical_not": (np.logical_not, everywhere),
        "isnan": (np.isnan, everywhere),
        "isinf": (np.isinf, everywhere),
        "isfinite": (np.isfinite, everywhere),
        "_copy": (np.copy, everywhere),
        "BlockGrad": (np.copy, everywhere),
    }
    return [
        Sample(name, (numbers(3, 5, low=low, high=high),), {}, oracle)
        for name, (oracle, (low, high)) in oracles.items()
    ]


def _special_numbers() -> list[Sample]:
    odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0])
    halves = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5])
    oracles: dict[str, Callable[..., Any]] = {
        "exp": np.exp,
        "expm1": np.expm1,
        "log": np.log,
        "log1p": np.log1p,
        "tanh": np.tanh,
        "sign": lambda x: np.nan_to_num(np.sign(x)),
        "isnan": np.isnan,
        "isinf": np.isinf,
        "isfinite": np.isfinite,
        "sigmoid": special.expit,
        "softrelu": lambda x: np.logaddexp(x, 0),
    }
    rows = [
        Sample(name, (odd,), {}, oracle, smooth=False, note="odd")
        for name, oracle in oracles.items()
    ]
    away = np.copysign(np.floor(np.abs(halves) + 0.5), halves)
    rows += [
        Sample("rint", (halves,), {}, _nearest, smooth=False, note="halves"),
        Sample("round", (halves,), {}, lambda x: away, smooth=False, note="halves"),
        Sample("abs", (halves * 2,), {}, np.abs, INTS, smooth=False),
        Sample("square", (halves * 2,), {}, np.square, INTS, smooth=False),
        Sample("negative", (halves * 2,), {}, np.negative, INTS, smooth=False),
    ]
    return rows


def _with_settings() -> list[Sample]:
    x = numbers(3, 4)
    return [
        Sample(
            "clip", (x,), {"a_min": -1, "a_max": 0.5}, lambda x: np.clip(x, -1, 0.5)
        ),
        Sample("hard_sigmoid", (x * 2,), {}, lambda x: np.clip(0.2 * x + 0.5, 0, 1)),
    ]


ROWS = [
    *_binary(),
    *_comparisons(),
    *_scalars(),
    *_unary(),
    *_special_numbers(),
    *_with_settings(),
]
