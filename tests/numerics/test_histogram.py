"""Numbers counted by power of two, and what a type would make of them."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minimx as mx
from minimx.core.dtypes import LAYOUTS, POWERS
from minimx.core.errors import DTypeError
from minimx.numerics import ZONES, Histogram, merged

finfo: Any = ml_dtypes.finfo
TYPES: dict[str, Any] = {
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float32": np.float32,
    "float64": np.float64,
}
reals = st.lists(
    st.one_of(
        st.floats(allow_nan=True, allow_infinity=True, width=32),
        st.integers(-60, 40).map(lambda k: 1.5 * 2.0**k),
        st.just(0.0),
    ),
    max_size=40,
)


def powers_of(x: npt.NDArray[Any]) -> list[int]:
    """The power of each number that has one, by Python's own arithmetic."""
    wide = [float(v) for v in x]
    return [math.frexp(v)[1] - 1 for v in wide if v and math.isfinite(v)]


@pytest.mark.parametrize("name", TYPES)
@given(values=reals)
def test_every_number_is_counted_once(name: str, values: list[float]) -> None:
    with np.errstate(over="ignore"):
        x = np.array(values, np.float64).astype(TYPES[name])
    found = Histogram.of(mx.nd.array(x, dtype=name)) if len(x) else merged([])
    wide = x.astype(np.float64)
    powers = np.array(powers_of(x), int)
    expected = np.bincount(powers - POWERS[0], minlength=len(POWERS))
    assert found.counts.tolist() == expected.tolist()
    assert found.zeros == (wide == 0).sum()
    assert found.infinite == np.isinf(wide).sum()
    assert found.nan == np.isnan(wide).sum()
    assert found.size == len(x)
    finite = wide[np.isfinite(wide)]
    assert found.norm == pytest.approx(np.sqrt((finite**2).sum()), rel=1e-12)
    if len(powers):
        assert found.span == (powers.min(), powers.max())


@given(st.lists(st.integers(-40, 40), min_size=1, max_size=20), st.integers(-30, 30))
def test_a_scale_moves_the_histogram(exponents: list[int], by: int) -> None:
    x = np.array([1.25 * 2.0**k for k in exponents])
    moved, computed = Histogram.of(x).shifted(by), Histogram.of(x * 2.0**by)
    assert moved.counts.tolist() == computed.counts.tolist()
    assert moved.squares == pytest.approx(computed.squares)
    assert Histogram.of(x).shifted(by).shifted(-by).counts.tolist() == (
        Histogram.of(x).counts.tolist()
    )


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_zones_are_what_rounding_does(name: str) -> None:
    """Numbers in the middle of each power, rounded by the type itself."""
    layout, kind = LAYOUTS[name], TYPES[name]
    tiny = finfo(kind).smallest_normal
    for power in range(-160, 130):
        with np.errstate(all="ignore"):
            rounded = float(np.float64(1.5 * 2.0**power).astype(kind))
        zone = layout.zone(power)
        if rounded == 0:
            assert zone == "zero", power
        elif math.isinf(rounded):
            assert zone == "overflow", power
        else:
            assert zone == ("normal" if rounded >= float(tiny) else "subnormal"), power
    assert float(finfo(kind).smallest_subnormal) == 2.0**layout.lowest
    assert float(tiny) == 2.0**layout.normal


def test_shares_of_what_is_not_zero() -> None:
    x = np.array([0, 0, 2.0**-30, 2.0**-20, 1, 1e6, np.inf, np.nan])
    shares = Histogram.of(x).shares("float16")
    assert tuple(shares) == ZONES
    assert shares == pytest.approx(
        {"zero": 1 / 6, "subnormal": 1 / 6, "normal": 1 / 6, "overflow": 1 / 2}
    )
    saved = Histogram.of(x).shifted(10).shares("float16")
    assert saved["zero"] == 0
    assert Histogram.of(np.zeros(3)).shares("float16") == dict.fromkeys(ZONES, 0.0)


def test_room_is_how_far_the_scale_may_grow() -> None:
    x = np.array([2.0**-30, 2.0**-9])
    histogram = Histogram.of(x)
    room = histogram.room("float16")
    assert room == 24
    assert histogram.shifted(room).shares("float16")["overflow"] == 0
    assert histogram.shifted(room + 1).shares("float16")["overflow"] == 0.5
    assert Histogram.of(np.zeros(2)).room("float16") is None


def test_histograms_add_up() -> None:
    parts = [np.array([1.0, 0.0]), np.array([3.0, np.nan]), np.array([-np.inf])]
    whole = merged(map(Histogram.of, parts))
    assert repr(whole) == (
        "Histogram(5 numbers, 2**0 to 2**1, 1 zero, 1 infinite, 1 NaN)"
    )
    assert whole.norm == pytest.approx(math.sqrt(10))


def test_what_has_no_exponent_is_refused() -> None:
    with pytest.raises(DTypeError, match="int32 has no exponent"):
        Histogram.of(mx.nd.array([1, 2], dtype="int32"))
    with pytest.raises(DTypeError, match="no floating-point type.*float16"):
        Histogram.of(np.ones(1)).shares("flaot16")
